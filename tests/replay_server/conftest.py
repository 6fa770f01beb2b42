"""A throw-away store and authority for each test of the replay server."""

from pathlib import Path

import pytest

from tests.replay_server.recording import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Where a test records and replays."""
    return Place(tmp_path)

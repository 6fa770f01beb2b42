"""What the tests of the store share: a store that is being filled."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.tape import Tape, tape


@pytest.fixture
def open_tape(tmp_path: Path) -> Iterator[Tape]:
    """A store in use; it is closed after the test."""
    with tape(tmp_path) as made:
        yield made

"""Packing closed runs tighter from the command line."""

import json
from pathlib import Path

import pytest

from proxy.cli import run
from tests.proxy.tape import folders, record_tape


def test_a_store_that_is_tight_already_is_said_to_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = folders(tmp_path)
    recorded = record_tape(place)
    assert run([*place.options, "compact"]) == 0
    assert "as tight as they get" in capsys.readouterr().err
    assert run([*place.options, "compact", recorded, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"runs": [], "space_given_back": True}
    assert run([*place.options, "verify"]) == 0

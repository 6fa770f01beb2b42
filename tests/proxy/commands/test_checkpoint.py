"""Checkpoints on the command line: made on demand, and once."""

import json
from pathlib import Path

import pytest

from proxy.cli import run
from store.core import checkpoint
from tests.proxy.tape import Folders, folders, record_tape


@pytest.fixture
def place(tmp_path: Path) -> Folders:
    place = folders(tmp_path)
    record_tape(place, close=False)
    return place


def test_it_prints_the_signed_note(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*place.options, "checkpoint"]) == 0
    note = capsys.readouterr().out
    signed = checkpoint.parse(note.encode())
    assert run([*place.options, "checkpoint", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record == {
        "origin": signed.checkpoint.origin,
        "size": signed.checkpoint.size,
        "root": signed.checkpoint.root.hex(),
        "made": False,
        "note": note,
    }


def test_without_a_store_or_a_key_it_says_so(
    place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*folders(tmp_path / "other").options, "checkpoint"]) == 3
    assert "there is no store" in capsys.readouterr().err
    assert run([*place.options, "checkpoint", f"--keys={tmp_path / 'empty'}"]) == 3
    assert "is missing" in capsys.readouterr().err

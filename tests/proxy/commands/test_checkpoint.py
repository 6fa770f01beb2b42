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


def test_a_note_is_kept_and_the_proof_is_held_against_it(
    place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    assert run([*place.options, "checkpoint", "export", "--to", str(kept)]) == 0
    first = capsys.readouterr().out.strip()
    assert run([*place.options, "verify", "--held", first]) == 0
    assert "UNWITNESSED" not in capsys.readouterr().out
    record_tape(place)
    assert run([*place.options, "checkpoint", "export"]) == 0
    note = capsys.readouterr().out
    second = tmp_path / "second"
    second.write_text(note)
    assert run([*place.options, "checkpoint", "compare", first, str(second)]) == 0
    assert capsys.readouterr().out.startswith("extends: ")
    assert run([*place.options, "checkpoint", "compare", str(second), first, "--json"]) == 21
    record = json.loads(capsys.readouterr().out)
    assert (record["relation"], record["code"]) == ("rolled back", "V501")
    assert record["a"]["size"] > record["b"]["size"]
    assert record["proof"]
    assert run([*place.options, "checkpoint", "export", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["note"] == note


def test_a_note_of_another_store_is_no_note_of_this_one(
    place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = folders(tmp_path / "other")
    record_tape(other)
    kept = tmp_path / "note"
    assert run([*other.options, "checkpoint"]) == 0
    kept.write_text(capsys.readouterr().out)
    assert run([*place.options, "checkpoint", "compare", str(kept), str(kept)]) == 20
    assert run([*place.options, "verify", "--held", str(kept)]) == 20
    assert "V404" in capsys.readouterr().out
    kept.write_text("nonsense")
    assert run([*place.options, "checkpoint", "compare", str(kept), str(kept)]) == 2
    assert run([*place.options, "verify", "--held", str(kept)]) == 2

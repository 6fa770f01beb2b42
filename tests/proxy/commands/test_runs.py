"""The list of runs."""

import json
from pathlib import Path

import pytest

from proxy.cli import run
from tests.proxy.tape import folders, record_tape


def test_runs_are_listed_newest_first_with_ids_that_tell_them_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = folders(tmp_path)
    older, newer = record_tape(place, "older"), record_tape(place, "newer", close=False)
    assert run([*place.options, "runs"]) == 0
    _, first, second = capsys.readouterr().out.splitlines()
    assert first.split()[1] == "newer"
    assert first.endswith("still open")
    assert second.split()[1] == "older"
    assert second.endswith("agent ended, exit 0")
    short = first.split()[0]
    assert newer.startswith(short)
    assert not older.startswith(short)


def test_json_has_the_documented_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = folders(tmp_path)
    recorded = record_tape(place)
    assert run([*place.options, "runs", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert entry == {
        "id": recorded,
        "name": "contract",
        "mode": "record",
        "workflow": "review",
        "parent": None,
        "opened": entry["opened"],
        "closed": entry["closed"],
        "reason": "agent_exit",
        "exit_code": 0,
        "events": 10,
        "steps": 3,
        "origin": entry["origin"],
        "hold": None,
        "erased": None,
        "tags": {},
    }
    assert entry["origin"].startswith("edgetape.local/")


def test_modes_and_a_limit_narrow_the_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = folders(tmp_path)
    record_tape(place, "one")
    record_tape(place, "two")
    assert run([*place.options, "runs", "-n", "1", "--json"]) == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)] == ["two"]
    assert run([*place.options, "runs", "--mode", "replay", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_name_cannot_drive_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = folders(tmp_path)
    record_tape(place, "\x1b[31mred\n")
    assert run([*place.options, "runs"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\\x1b[31mred\\n" in out

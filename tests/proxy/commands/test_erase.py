"""Erasing and holding from the command line."""

import json
from pathlib import Path

import pytest

from proxy.cli import run
from tests.proxy.tape import Folders, folders, record_tape


@pytest.fixture
def place(tmp_path: Path) -> Folders:
    made = folders(tmp_path)
    record_tape(made)
    return made


def test_a_step_is_erased_and_shown_as_such(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*place.options, "erase", "last", "--step", "1", "--reason", "a person asked for it"]
    assert run([*words, "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert not told["erased"]
    assert {body["seq"] for body in told["bodies"]} == {1, 2}
    assert run([*place.options, "verify", "last", "--json"]) == 0
    assert "PAYLOADS_ERASED" not in json.loads(capsys.readouterr().out)["flags"]
    assert run(words) == 0
    assert "erased" in capsys.readouterr().err
    assert run([*place.options, "verify", "last", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["flags"]["PAYLOADS_ERASED"] == len(told["bodies"])
    assert run([*place.options, "show", "last"]) == 0
    capsys.readouterr()
    assert run([*place.options, "show", "last", "1"]) == 0
    assert "a person asked for it" in capsys.readouterr().out


def test_a_reason_is_asked_for(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("erase", "hold"):
        assert run([*place.options, verb, "last"]) == 2
        assert "--reason" in capsys.readouterr().err
    assert run([*place.options, "erase", "last", "--step", "99", "--reason", "x"]) == 2
    assert "no step 99" in capsys.readouterr().err


def test_a_hold_blocks_until_it_is_released(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*place.options, "hold", "last", "--reason", "a dispute"]) == 0
    assert run([*place.options, "erase", "last", "--reason", "x", "--dry-run"]) == 3
    assert "a dispute" in capsys.readouterr().err
    assert run([*place.options, "hold", "last", "--release", "--reason", "settled"]) == 0
    assert run([*place.options, "erase", "last", "--reason", "x"]) == 0
    assert run([*place.options, "verify"]) == 0

"""An agent that asks edgetape for time, chance and ids gets in a replay what it got when it was recorded."""

import sys
from pathlib import Path

from tests.scenarios.kept import proven
from tests.support.command import Command

AGENT = (sys.executable, str(Path(__file__).with_name("noting_agent.py")))


def test_a_replay_shares_every_value_and_two_recordings_share_none(tmp_path: Path) -> None:
    command = Command(tmp_path)
    first = command.run("record", "--name", "one", "--", *AGENT)
    second = command.run("record", "--name", "two", "--", *AGENT)
    assert (first.code, second.code) == (0, 0), first.err + second.err
    told, other = first.out.splitlines(), second.out.splitlines()
    alike = [line for line in told if line in other]
    assert alike == ['{"noted": "policy"}']
    replayed = command.run("replay", "one")
    assert (replayed.code, replayed.out) == (0, first.out), replayed.err
    shown = command.run("show", "one").out
    assert "the agent notes: policy: verdict approved, version 7" in shown
    proven(tmp_path / "store")


def test_another_note_is_drift_at_its_step(tmp_path: Path) -> None:
    command = Command(tmp_path)
    command.run("record", "--", *AGENT)
    changed = Command(tmp_path, {"AGENT_VERDICT": "refused"}).run("replay", "last")
    assert changed.code == 40
    assert "step 4" in changed.err
    assert "/verdict" in changed.err
    assert '"approved"' in changed.err
    assert '"refused"' in changed.err


def test_what_was_not_recorded_is_not_made_up(tmp_path: Path) -> None:
    command = Command(tmp_path)
    once = "import urllib.request as u; print(u.urlopen('http://edgetape.internal/v1/uuid').read())"
    assert command.run("record", "--", sys.executable, "-c", once).code == 0
    twice = command.run("replay", "last", "--", sys.executable, "-c", f"{once}; {once}")
    assert twice.code == 41
    assert "GET http://edgetape.internal/v1/uuid" in twice.err
    never = command.run("replay", "last", "--", sys.executable, "-c", "print(1)")
    assert never.code == 42
    assert "GET http://edgetape.internal/v1/uuid" in never.err

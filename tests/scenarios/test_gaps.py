"""A store that fails while an agent is recorded, as a user sees it: what became of the traffic, and what is said."""

import sys
from pathlib import Path

import pytest

from tests.scenarios.kept import kept
from tests.support.command import Command
from tests.support.provider import Provider

# Holds the store's lock for as long as it asks for /locked, which no writer waits for longer than ten seconds.
AGENT = """
import sqlite3, sys, time, urllib.error, urllib.request
def ask(path):
    try:
        with urllib.request.urlopen(sys.argv[2] + path, timeout=60) as answer:
            print(path, answer.status)
    except urllib.error.HTTPError as error:
        print(path, error.code)
def events():
    return held.execute("SELECT COUNT(*) FROM events").fetchone()[0]
ask("/before")
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN IMMEDIATE")
ask("/locked")
held.execute("ROLLBACK")
before = events()
until = time.monotonic() + 60
while events() < before + 6 and time.monotonic() < until:  # one that lets traffic pass tries its store every second
    ask("/after")
    time.sleep(0.1)
held.close()
ask("/last")
"""


@pytest.mark.parametrize("choice, status", [("block", 503), ("pass", 200)])
def test_the_agent_goes_on_or_not_and_the_recording_says_what_it_lacks(
    choice: str, status: int, tmp_path: Path, provider: Provider
) -> None:
    command = Command(tmp_path)
    agent = [sys.executable, "-c", AGENT, str(command.store / "edgetape.db"), provider.url]
    said = command.run("record", "--on-store-failure", choice, "--", *agent)
    answers = dict(line.split() for line in said.out.splitlines())
    assert (answers["/before"], answers["/locked"]) == ("200", str(status))
    assert said.code == 125
    assert "the recording is incomplete" in said.err
    recorded = [one.place.rpartition("/")[2] for one in kept(command.store, "last")]
    assert recorded[0] == "before"
    assert "locked" not in recorded
    assert recorded[-1] == "last"
    assert ("/locked" in [request.path for request in provider.seen()]) is (choice == "pass")
    verdict = command.run("verify", "last")
    assert verdict.code == 30
    assert verdict.out.startswith("INCOMPLETE")
    assert "GAPS " in verdict.out  # one, or two where it grew while it was written
    assert "gap" in command.run("show", "last").out
    assert "warning: the recording lacks what was from" in command.run("replay", "last", "--", "true").err

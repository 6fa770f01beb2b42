"""Several recorders and a replay use one store at once: each run is whole, and the store verifies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.scenarios.kept import kept, proven
from tests.support.command import SECONDS_MAX, Command
from tests.support.provider import Provider

ASKED = 40
AGENT = """
import sys, urllib.request
for number in range(int(sys.argv[2])):
    asked = urllib.request.Request(f"{sys.argv[1]}/{number}?fault=chunks/50", str(number).encode() * 1000)
    print(number, len(urllib.request.urlopen(asked, timeout=60).read()))
"""


def test_two_records_of_one_name_and_a_replay_at_once(tmp_path: Path, provider: Provider) -> None:
    command = Command(tmp_path)
    agents = {
        who: [sys.executable, "-c", AGENT, f"{provider.url}/of-{who}", str(ASKED)] for who in ("old", "one", "two")
    }
    first = command.run("record", "--name", "old", "--", *agents["old"])
    assert first.code == 0, first.err
    lines = {
        "one": command.line("record", "--name", "same", "--", *agents["one"]),
        "two": command.line("record", "--name", "same", "--", *agents["two"]),
        "old": command.line("replay", "old"),
    }
    running = {
        who: subprocess.Popen(
            line, cwd=tmp_path, env=command.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for who, line in lines.items()
    }
    ended = {who: process.communicate(timeout=SECONDS_MAX) for who, process in running.items()}
    for who, (out, err) in ended.items():
        assert (running[who].returncode, out) == (0, first.out), f"{who}: {err}"
    runs = command.json("runs")
    assert isinstance(runs, list)
    assert sorted((run["name"] or "", run["mode"], run["steps"]) for run in runs) == [
        ("", "replay", ASKED),
        ("old", "record", ASKED),
        ("same", "record", ASKED),
        ("same", "record", ASKED),
    ]
    for run in runs:
        places = {one.place.split("/")[3] for one in kept(command.store, run["id"])}
        assert len(places) == 1, "an exchange went into another run"
    proven(command.store)

"""A pinned run is replayed from its file alone, on a machine that has no store of ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.support.command import Command
from tests.support.processes import running_module

AGENT = """
import sys, urllib.request
for number in range(int(sys.argv[2])):
    print(len(urllib.request.urlopen(f"{sys.argv[1]}/{number}", timeout=30).read()))
"""


def test_a_tape_is_a_test_that_runs_anywhere(tmp_path: Path) -> None:
    here, there = Command(tmp_path / "here"), Command(tmp_path / "there")
    for command in (here, there):
        command.folder.mkdir()
    with running_module("tests.support.provider") as provider:
        url = provider.url
        recorded = here.run("record", "--name", "my agent", "--", sys.executable, "-c", AGENT, url, "2")
        assert recorded.code == 0, recorded.err
    pinned = here.json("pin", "my agent")
    assert isinstance(pinned, dict)
    assert pinned["file"] == "tests/tapes/my-agent.tape"
    tape = there.folder / "copied.tape"
    tape.write_bytes((here.folder / pinned["file"]).read_bytes())
    assert there.run("verify", str(tape)).code == 0
    replayed = there.run("replay", str(tape))
    assert (replayed.code, replayed.out) == (0, recorded.out), replayed.err
    changed = there.run("replay", "copied.tape", "--json", "--", sys.executable, "-c", AGENT, url, "3")
    assert changed.code == 41
    report = json.loads(changed.out[changed.out.index('{\n  "schema"') :])
    assert (report["counts"]["matched"], report["counts"]["unexpected"]) == (2, 1)
    assert not there.store.exists()


def test_a_damaged_tape_is_refused_and_an_open_run_is_not_pinned(tmp_path: Path) -> None:
    command = Command(tmp_path)
    with running_module("tests.support.provider") as provider:
        command.run("record", "--name", "one", "--", sys.executable, "-c", AGENT, provider.url, "1")
    command.run("pin", "one", "-o", "one.tape")
    tape = tmp_path / "one.tape"
    raw = bytearray(tape.read_bytes())
    raw[len(raw) // 2] ^= 1
    tape.write_bytes(raw)
    refused = command.run("replay", "./one.tape")
    assert refused.code != 0
    assert "edgetape: " in refused.err
    assert "Traceback" not in refused.err
    assert command.run("replay", "nowhere.tape").code == 2

"""An unmodified agent sees the recorded time and chance on replay; two recordings share none of it."""

import shutil
from pathlib import Path

import pytest

from proxy.agent.freezing import library
from tests.support.command import Command

AGENT = """
import datetime, json, random, subprocess, time, urllib.request, uuid
print(time.time_ns(), datetime.datetime.now().isoformat(), uuid.uuid4(), uuid.uuid1(), random.random())
time.sleep(0.001)
print(json.load(urllib.request.urlopen("http://edgetape.internal/v1/uuid"))["uuid"])
if NODE:
    program = "console.log(Date.now(), Math.random(), require('crypto').randomUUID())"
    print(subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True).stdout)
"""


def test_a_replay_gives_the_recorded_time_and_chance(tmp_path: Path) -> None:
    if library() is None:
        pytest.skip("libfaketime is not installed")
    command = Command(tmp_path)
    (tmp_path / "agent.py").write_text(f"NODE = {shutil.which('node') is not None}\n{AGENT}")
    recorded = [
        command.run("record", "--freeze-time", "--freeze-random", "--", "python3", "agent.py") for _ in range(2)
    ]
    assert [said.code for said in recorded] == [0, 0], recorded
    first, second = (said.out.split() for said in recorded)
    assert not set(first) & set(second), (first, second)
    replayed = command.run("replay", "last")
    assert replayed.code == 0, replayed.err
    assert replayed.out.split() == second
    assert "read the clock" not in replayed.err
    told = command.run("show", "last")
    assert "the seed of the agent's chance is kept" in told.out
    assert "the clock that the agent read is kept" in told.out

"""A replay server without a command: it prints what to export, answers, and tells the verdict when it is ended."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.proxy.tape import folders, record_tape
from tests.support.command import Command
from tests.support.processes import running

CLIENT = "import urllib.request; print(len(urllib.request.urlopen('https://tools.example/rules.json?jurisdiction=GB-SCT&key=abc').read()))"


def test_whoever_is_pointed_at_it_is_answered_from_the_recording(tmp_path: Path) -> None:
    record_tape(folders(tmp_path))
    command = Command(tmp_path)
    report = tmp_path / "report.json"
    line = command.line("replay", "last", "--serve", "--json", "--report", str(report))
    with running(line, command.environment) as server:
        told = server.ready["environment"]
        assert isinstance(told, dict)
        environment = {**os.environ, **{name: value for name, value in told.items() if value is not None}}
        line = [sys.executable, "-c", CLIENT]
        said = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
        assert said.stdout.strip().isdigit(), said.stderr
        assert server.stop() == 42
        assert "NEVER REQUESTED" in server.stderr().splitlines()[-1]
    counts = json.loads(report.read_text())["counts"]
    assert (counts["matched"], counts["never_requested"]) == (1, 2)


def test_it_runs_no_command_and_does_not_pause(tmp_path: Path) -> None:
    command = Command(tmp_path)
    for words in (("--", "true"), ("--step",)):
        said = command.run("replay", "last", "--serve", *words)
        assert said.code == 2, said.err
        assert "--serve" in said.err

"""A replay server without a command: it prints what to export, answers, and tells the verdict when it is ended."""

import json
import ssl
import urllib.request
from pathlib import Path

import pytest

from proxy.cli import run
from tests.proxy.tape import folders, record_tape
from tests.support.command import Command
from tests.support.processes import running

URL = "https://tools.example/rules.json?jurisdiction=GB-SCT&key=abc"


def test_whoever_is_pointed_at_it_is_answered_from_the_recording(tmp_path: Path) -> None:
    record_tape(folders(tmp_path))
    command = Command(tmp_path)
    report = tmp_path / "report.json"
    line = command.line("replay", "last", "--serve", "--json", "--report", str(report))
    with running(line, command.environment) as server:
        told = server.ready["environment"]
        assert isinstance(told, dict)
        assert told["API_TOKEN"] == "edgetape-stand-in-for-api-token"
        trusting = urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=told["SSL_CERT_FILE"]))
        through = urllib.request.ProxyHandler({"https": told["HTTPS_PROXY"]})
        with urllib.request.build_opener(through, trusting).open(URL, timeout=30) as answer:
            assert answer.status == 200
        assert server.stop() == 42
        assert "NEVER REQUESTED" in server.stderr().splitlines()[-1]
    counts = json.loads(report.read_text())["counts"]
    assert (counts["matched"], counts["never_requested"]) == (1, 2)


@pytest.mark.parametrize("words", [("--", "true"), ("--step",), ("--control", "0")])
def test_it_runs_no_command_and_does_not_pause(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*folders(tmp_path).options, "replay", "last", "--serve", *words]) == 2
    assert "--serve" in capsys.readouterr().err

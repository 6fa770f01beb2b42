"""Many recordings replayed with today's agent: which pass, which differ, and one report of all."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.processes import running_module

AGENT = """
import sys, urllib.request
for name in sys.argv[2:]:
    print(len(urllib.request.urlopen(f"{sys.argv[1]}/{name}", timeout=30).read()))
sys.exit(3 if "odd" in sys.argv else 0)
"""


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Recordings of one workflow that ask for other things, and one of another workflow."""
    command = Command(tmp_path_factory.mktemp("regress"))
    with running_module("tests.support.provider") as provider:
        agent = (sys.executable, "-c", AGENT, provider.url)
        for name, workflow, words in (("one", "w", "a b"), ("two", "w", "a c"), ("odd", "w", "odd"), ("x", "v", "a")):
            command.run("record", "--name", name, "--workflow", workflow, "--", *agent, *words.split())
        (command.folder / "url").write_text(provider.url)
    return command


def agent(command: Command, *words: str) -> tuple[str, ...]:
    return ("--", sys.executable, "-c", AGENT, (command.folder / "url").read_text(), *words)


def test_each_with_its_own_command_passes_with_the_recorded_exit_code(command: Command) -> None:
    done = command.run("regress", "workflow=w", "-j", "2", "--json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["schema"] == "edgetape/regress-report/1"
    assert document["counts"] == {"passed": 3, "failed": 0}
    assert {(run["name"], run["agent_exit_code"]) for run in document["runs"]} == {("one", 0), ("two", 0), ("odd", 3)}
    assert done.verdict == "edgetape: 3 of 3 recordings passed"


def test_a_changed_agent_fails_where_it_differs_and_the_gravest_decides(command: Command, tmp_path: Path) -> None:
    xml, report = tmp_path / "junit.xml", tmp_path / "report.json"
    files = ("--junit", str(xml), "--report", str(report))
    done = command.run("regress", "one", "two", *files, *agent(command, "a", "b"))
    assert done.code == 41
    assert "2 of 2 recordings" not in done.err
    assert done.verdict == "edgetape: 1 of 2 recordings passed, 1 FAILED"
    assert "UNEXPECTED: GET " in done.out
    failed = {case.get("name"): case.find("failure") is not None for case in ET.parse(xml).iter("testcase")}
    assert failed == {"one": False, "two": True}
    told = {run["name"]: run for run in json.loads(report.read_text())["runs"]}
    assert told["two"]["report"]["counts"]["unexpected"] == 1


def test_recordings_are_chosen_by_their_tags(command: Command) -> None:
    for run, *tags in (("one", "golden=yes", "team=risk"), ("x", "golden=no")):
        assert command.run("tag", run, *tags).code == 0
    done = command.run("regress", "tag=golden", "tag=team=risk", "--json")
    assert [run["name"] for run in json.loads(done.out)["runs"]] == ["one"]
    assert command.run("regress", "workflow=w", "tag=golden=no").code == 2


def test_tapes_are_recordings_too(command: Command) -> None:
    command.run("pin", "one", "-o", "one.tape")
    done = command.run("regress", "one.tape", *agent(command, "a"))
    assert (done.code, done.verdict) == (42, "edgetape: 0 of 1 recording passed, 1 FAILED")


def test_a_regression_over_nothing_is_no_success(command: Command) -> None:
    for words in (("workflow=none",), ("workflow=w", "since=2999-01-01"), ("nobody",), ("since=soon",)):
        assert command.run("regress", *words).code == 2
    assert command.run("regress").code == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_that_is_stopped_says_how_far_it_came_and_leaves_nothing(
    number: signal.Signals, command: Command, tmp_path: Path
) -> None:
    once = 'test -e "$0" && exec sleep 60; touch "$0"; exec "$@"'
    words = ("regress", "one", "two", "--", "sh", "-c", once, str(tmp_path / "once"), *agent(command, "a", "b")[1:])
    environment = {**command.environment, "TMPDIR": str(tmp_path)}
    line = command.line(*words)
    with subprocess.Popen(line, env=environment, stderr=subprocess.PIPE, text=True, cwd=command.folder) as going:
        assert going.stderr is not None
        assert going.stderr.readline().startswith("1 of 2 passed: one: ")
        going.send_signal(number)
        assert "edgetape: stopped: 1 of the 1 that ended passed; 2 were to be replayed\n" in going.stderr.read()
    assert going.returncode == 128 + number
    assert not list(tmp_path.glob("edgetape-regress-*"))

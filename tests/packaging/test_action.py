"""The GitHub Action: what it calls exists, what the page says of it is true, and its shell does what it should."""

import json
import re
import subprocess
import sys
from operator import methodcaller
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from proxy.cli import group, run
from tests.docs.test_commands import why_wrong
from tests.layout.tree import ROOT
from tests.replay_server.recording import Place
from tests.support.command import Command

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
PAGE = (ROOT / "docs" / "ci.md").read_text()
AGENT = "import sys, urllib.request; urllib.request.urlopen('http://tools.example/' + sys.argv[1], timeout=30)"


def shell(name: str) -> str:
    found: str = next(step["run"] for step in STEPS if step.get("name") == name)
    return found


def test_the_command_and_its_options_are_those_of_the_program() -> None:
    words = re.sub(r"\\\n", " ", shell("Replay the tapes"))
    line = re.search(r'"\$EDGETAPE" (regress .*?) 2>', words)
    assert line
    spelled = line[1].replace('"${found[@]}"', "x.tape").replace('"${options[@]}" "${command[@]}"', "-- true")
    given = [word.strip('"').replace("$JOBS", "2") for word in spelled.split()]
    assert why_wrong(group, given) is None
    assert why_wrong(group, ["regress", "x.tape", "--no-such-option"]) is not None


def test_it_installs_what_is_there() -> None:
    install = shell("Install edgetape")
    for path in re.findall(r'"\$SOURCE/([^"]+)"', install):
        assert (ROOT / path).is_file()
    assert (ROOT / "pyproject.toml").is_file()


def test_every_value_that_it_reads_is_an_input_or_an_output_of_a_step() -> None:
    text = (ROOT / "action.yml").read_text()
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(ACTION["inputs"])
    assert set(re.findall(r"steps\.(\w+)\.", text)) == {step["id"] for step in STEPS if "id" in step}
    for step in STEPS:
        used = set(re.findall(r"\$\{?([A-Z_]+)", step.get("run", "")))
        assert used - {"GITHUB_OUTPUT"} <= set(step.get("env", {}))
        assert "${{" not in step.get("run", ""), "a value in a script is code: give it by the environment"


def test_the_page_tells_every_input_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `([\w-]+)` \| (?:`([^`]*)`)? ?\|", PAGE, re.MULTILINE))
    assert rows == {name: said["default"] for name, said in ACTION["inputs"].items()}
    for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL):
        workflow = yaml.safe_load(block)
        steps = workflow if isinstance(workflow, list) else workflow["jobs"]["replay"]["steps"]
        used = [step["with"] for step in steps if "OWNER/edgetape" in step.get("uses", "")]
        assert all(set(given) <= set(ACTION["inputs"]) for given in used)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with two tapes of one request each."""
    place = Place(tmp_path / "recorded")
    options = [f"--store={place.store}", f"--keys={place.keys}"]
    for name in ("one", "two"):
        recorded = place.record(methodcaller("get", f"http://tools.example/{name}"))
        assert run([*options, "pin", recorded, "-o", str(tmp_path / "tests" / "tapes" / f"{name}.tape")]) == 0
    return tmp_path


def replay(project: Path, tapes: str, command: str) -> subprocess.CompletedProcess[str]:
    """The step that replays, with what GitHub would set."""
    home = Command(project / "home")
    home.folder.mkdir(exist_ok=True)
    starter = project / "edgetape"
    starter.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m proxy "$@"\n')
    starter.chmod(0o755)
    variables = {
        "EDGETAPE": str(starter),
        "RESULTS": str(project / "results"),
        "TAPES": tapes,
        "COMMAND": command,
        "JOBS": "2",
        "OPTIONS": "--grace\n5",
        "GITHUB_OUTPUT": str(project / "output"),
        "GITHUB_STEP_SUMMARY": str(project / "summary.md"),
    }
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", shell("Replay the tapes")],
        cwd=project,
        env={**home.environment, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_its_shell_replays_every_tape_and_fails_for_the_gravest(project: Path) -> None:
    said = replay(project, "tests/tapes/*.tape\nnowhere/*.tape", f'"{sys.executable}" -c "{AGENT}" one')
    assert said.returncode == 41, said.stderr
    assert "::error::the replay of 2 tapes ended with 41" in said.stdout
    suite = ElementTree.parse(project / "results" / "junit.xml").getroot()
    assert [case.get("name") for case in suite.iter("testcase")] == ["one", "two"]
    report = json.loads((project / "results" / "report.json").read_text())
    assert report["counts"] == {"passed": 1, "failed": 1}
    assert f"junit={project}/results/junit.xml" in (project / "output").read_text()
    summary = (project / "summary.md").read_text()
    assert "✅" in summary
    assert "❌" in summary
    assert not (project / "home" / "store").exists()


def test_its_shell_refuses_to_replay_nothing(tmp_path: Path) -> None:
    said = replay(tmp_path, "tapes/*.tape", "true")
    assert said.returncode == 2
    assert "::error::no tape fits tapes/*.tape" in said.stdout

"""The live modes from the command line: another model, fakes, live misses, and tapes; each says what may leave."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from proxy.cli import run
from store.reader import Reader
from tests.scenarios.kept import proven
from tests.scenarios.test_story import CONFINES
from tests.support.command import Command
from tests.support.provider import Provider, serving

pytestmark = pytest.mark.skipif(not CONFINES, reason="this system refuses network namespaces")

# Asks the model, then each tool that its arguments name; the model's name comes from the environment.
AGENT = """
import json, os, sys, urllib.request
def ask(url, body=None):
    asked = urllib.request.Request(url, json.dumps(body).encode() if body else None)
    if body:
        asked.add_header("Content-Type", "application/json")
    return urllib.request.urlopen(asked, timeout=30).read()
model = os.environ.get("MODEL", "scripted-1")
ask(sys.argv[1] + "/v1/chat/completions", {"model": model, "messages": [{"role": "user", "content": "q"}]})
for tool in sys.argv[2:]:
    print(tool, len(ask(tool)))
"""


@dataclass(frozen=True, slots=True)
class Stage:
    """A recorded run, the servers that it was made with, and the agent without its tools."""

    command: Command
    provider: Provider
    fakes: Provider
    agent: tuple[str, ...]

    def asked(self, of: Provider) -> list[str]:
        """What a server was asked since the last time."""
        seen = of.seen()
        of.forget()
        return [f"{one.method} {one.path}" for one in seen]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """One recording for all tests of this file; none of them changes what it is."""
    command = Command(tmp_path_factory.mktemp("modes"))
    with serving() as provider, serving() as fakes:
        agent = (sys.executable, "-c", AGENT, provider.url)
        said = command.run("record", "--name", "work", "--", *agent, f"{provider.url}/rows")
        assert said.code == 0, said.err
        made = Stage(command, provider, fakes, agent)
        made.asked(provider)
        yield made


def test_another_model_is_asked_live_once_for_each_variant_and_time(stage: Stage, tmp_path: Path) -> None:
    report = tmp_path / "compare.json"
    asked = ("compare", "work", "--model", "scripted-2", "--with", "MODEL=scripted-3", "--yes", "--report", str(report))
    said = stage.command.run(*asked)
    assert said.code == 0, said.err
    assert stage.asked(stage.provider) == ["POST /v1/chat/completions"] * 2
    document = json.loads(report.read_text())
    first, *branches = document["runs"]
    assert [branch["variant"] for branch in branches] == ["model scripted-2", "MODEL=scripted-3"]
    assert {branch["first_divergence"] for branch in branches} == {None}
    assert all(branch["tokens_out"] > 0 and branch["steps"] == 2 for branch in (first, *branches))
    assert set(document["reports"]) == {branch["id"] for branch in branches}
    with Reader.open(stage.command.store, stage.command.store.parent / "keys") as reader:
        infos = [reader.run(branch["id"]) for branch in branches]
    assert [(info.mode, info.parent and info.parent.run) for info in infos] == [("compare", first["id"])] * 2
    proven(stage.command.store)


def test_a_sandbox_reaches_the_fakes_alone(stage: Stage, tmp_path: Path) -> None:
    (stage.command.folder / "edgetape.toml").write_text(f'[live]\nmap = ["127.0.0.1={stage.fakes.url}/fake"]\n')
    try:
        said = stage.command.run("sandbox", "work", "--yes", "--", *stage.agent, f"{stage.provider.url}/other")
    finally:
        (stage.command.folder / "edgetape.toml").unlink()
    assert "SANDBOXED: the agent ended with " in said.verdict, said.err
    assert stage.asked(stage.provider) == []
    assert stage.asked(stage.fakes)[0] == "POST /fake/v1/chat/completions"


def test_a_miss_is_recorded_under_the_name_and_then_replays(stage: Stage, tmp_path: Path) -> None:
    tape = tmp_path / "work.tape"
    folders = [f"--{name}={stage.command.store.parent / name}" for name in ("store", "keys", "authority")]
    assert run([*folders, "export", "work", "-o", str(tape)]) == 0
    other = Command(tmp_path, {"CI": ""})
    agent = (*stage.agent, f"{stage.provider.url}/rows", f"{stage.provider.url}/new")
    where = stage.provider.url.removeprefix("http://")
    allowed = ("--on-miss", "record", "--allow", f"host={where} path=/new", "--yes")
    said = other.run("replay", str(tape), *allowed, "--", *agent)
    assert said.code == 0, said.err
    assert said.verdict.startswith("FORKED at its misses; 1 live, ")
    assert stage.asked(stage.provider) == ["GET /new"]
    again = other.run("replay", "work", "--", *agent)
    assert (again.code, again.verdict.partition(":")[0]) == (0, "REPLAYED"), again.err
    assert stage.asked(stage.provider) == []

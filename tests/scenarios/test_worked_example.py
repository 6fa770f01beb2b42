"""The worked example: a contract that was called a low risk three weeks ago, from its document id to "high risk"."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from examples.demo.tables import compliance_tables
from tests.scenarios.test_story import CONFINES
from tests.support.command import Command, Said
from tests.support.processes import ROOT, Running, running_module
from tests.support.screen import on_a_terminal
from tests.support.seen import ask_seen, forget_seen

UNCONFINED = () if CONFINES else ("--no-confine",)
ROWS = json.dumps([{"jurisdiction": "GB-SCT", "topic": "Governing law", "rule": "keep records", "severity": "high"}])
needs_confinement = pytest.mark.skipif(not CONFINES, reason="this system refuses network namespaces")


@dataclass(frozen=True, slots=True)
class Story:
    """A recording of the bug, and the servers that it was made with, which still run."""

    command: Command
    provider: Running
    recorded: Said

    def seen(self) -> list[str]:
        """What the servers were asked since the last time."""
        seen = ask_seen(self.provider.url)
        forget_seen(self.provider.url)
        return [f"{one.request.method} {one.request.path}" for one in seen]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """One recording of the contract agent."""
    folder = tmp_path_factory.mktemp("worked")
    tables = folder / "tables.json"
    tables.write_text(json.dumps(compliance_tables()))
    command = Command(folder, {"OPENAI_API_KEY": "sk-live-8f4b2c1d9e7a6053", "PYTHONDONTWRITEBYTECODE": "1"})
    with running_module("tests.support.provider", "--tables", str(tables)) as provider:
        agent = [sys.executable, "-m", "examples.contract_agent"]
        where = ["--model-url", f"{provider.url}/v1", "--tools-url", provider.url]
        recorded = command.run("record", "--name", "contract", "--workflow", "contracts", "--", *agent, *where)
        made = Story(command, provider, recorded)
        made.seen()
        yield made


def test_the_bug_is_recorded(story: Story) -> None:
    assert story.recorded.code == 0, story.recorded.err
    assert story.recorded.out.endswith("verdict: low risk\n")


def test_step_eight_shows_the_empty_answer(story: Story) -> None:
    shown = story.command.json("show", "contract", "8")
    assert isinstance(shown, dict)
    assert (shown["request"]["tool"], shown["response"]["body"]["text"]) == ("requirements.json", "[]")


def test_the_run_is_found_by_its_document(story: Story) -> None:
    hits = story.command.json("find", "MSA-2041")
    assert isinstance(hits, list)
    assert {hit["name"] for hit in hits} == {"contract"}


@needs_confinement
def test_with_the_right_answer_at_step_eight_the_agent_says_high_risk(story: Story) -> None:
    forked = story.command.run("fork", "contract", "--at", "8", "--set", f"={ROWS}", "--yes", "--json")
    assert forked.code == 0, forked.err
    assert "verdict: high risk\n" in forked.out
    assert f"model requests to {story.provider.url} (3 requests in the recording from there on)" in forked.err
    assert forked.verdict == (
        "FORKED at step 8 (the whole body set); 3 live, 1 from the recording after it; nothing else could get out"
    )
    assert story.seen() == ["POST /v1/chat/completions"] * 3
    report = json.loads(forked.out[forked.out.index('{\n  "schema"') :])
    assert (report["fork"]["reached"], [gone["step"] for gone in report["fork"]["live"]]) == (True, [9, 11, 12])


@needs_confinement
def test_the_fork_is_a_run_that_is_proved_shown_and_replayed(story: Story) -> None:
    story.command.run("fork", "contract", "--at", "8", "--set", f"={ROWS}", "--yes")
    shown = story.command.json("show", "last:fork")
    assert isinstance(shown, dict)
    contract = story.command.json("show", "contract")
    assert isinstance(contract, dict)
    assert shown["run"]["parent"]["run"] == contract["run"]["id"]
    assert story.command.run("verify", "last:fork").code == 0
    assert shown["verdict"]["words"].startswith("FORKED at step 8 (the whole body set)")
    assert "verdict: FORKED at step 8" in story.command.run("show", "last:fork").out
    story.seen()
    replayed = story.command.run("replay", "last:fork")
    assert (replayed.code, replayed.out.endswith("verdict: high risk\n")) == (0, True), replayed.err
    assert story.seen() == []


@needs_confinement
def test_a_tool_goes_live_where_it_is_named_and_is_refused_where_it_is_not(story: Story) -> None:
    story.seen()
    agent = [sys.executable, "-m", "examples.contract_agent", "--model-url", f"{story.provider.url}/v1"]
    agent += ["--tools-url", story.provider.url]
    env = {**story.command.environment, "PYTHONPATH": str(ROOT)}
    live = story.command.run("fork", "contract", "--at", "8", "--live-step", "--yes", "--", *agent, env=env)
    assert live.code == 43
    assert "REFUSED at step 8: GET " in live.verdict
    assert "to allow: --allow 'host=" in live.err
    assert not any("requirements" in one for one in story.seen())
    rule = "tool=requirements.json"
    allowed = story.command.run("fork", "contract", "--at", "8", "--live-step", "--allow", rule, "--yes", "--", *agent)
    assert allowed.code == 0, allowed.err
    assert "GET /compliance/requirements.json" in story.seen()


def test_every_run_with_the_same_empty_answer_is_found_and_reported(story: Story) -> None:
    again = [sys.executable, "-m", "examples.contract_agent", "--model-url", f"{story.provider.url}/v1"]
    again += ["--tools-url", story.provider.url]
    for number in range(2):
        story.command.run("record", "--name", f"contract-{number}", "--", *again)
    reports = story.command.folder / "reports"
    asked = ("GB-", "--tool", "requirements.json", "--empty", "", "--since", "30d", "--mode", "record")
    hits = story.command.json("find", *asked, "--reports", str(reports))
    assert isinstance(hits, list)
    assert [(hit["name"], hit["step"]) for hit in hits] == [("contract-1", 8), ("contract-0", 8), ("contract", 8)]
    assert sorted(path.stem for path in reports.iterdir()) == sorted(hit["run"] for hit in hits)
    assert "verdict: low risk" not in (reports / f"{hits[0]['run']}.html").read_text()
    assert "to be a low risk" in (reports / f"{hits[0]['run']}.html").read_text()
    assert story.command.run("find", "no contract says this").code == 1


def test_without_a_terminal_nothing_starts_unless_it_is_meant(story: Story) -> None:
    story.seen()
    before = len(story.command.runs())
    asked = story.command.run("fork", "contract", "--at", "8", "--status", "500", *UNCONFINED)
    assert asked.code == 2
    assert "no terminal to ask" in asked.err
    assert "from step 8 on this may leave this machine:" in asked.err
    assert (len(story.command.runs()), story.seen()) == (before, [])


def test_a_person_at_the_terminal_can_say_no(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in story.command.environment.items():
        monkeypatch.setenv(name, value)
    story.seen()
    before = len(story.command.runs())
    with on_a_terminal(story.command.line("fork", "contract", "--at", "8", "--status", "500", *UNCONFINED)) as screen:
        screen.wait_for(b"go on? [y/N]")
        screen.type(b"n\n")
        assert screen.exit_code() == 1, screen.shown
    assert b"nothing was started" in screen.shown
    assert (len(story.command.runs()), story.seen()) == (before, [])


def test_a_fork_that_makes_no_sense_is_refused_in_one_sentence(story: Story) -> None:
    mistakes = {
        (): "say at which step",
        ("--at", "8"): "has no other answer than the recorded one",
        ("--at", "8", "--status", "500", "--live-step"): "has two answers",
        ("--at", "99", "--status", "500"): "step 99 is no exchange",
        ("--at", "8", "--set", "/rows/0=1"): "has no place /rows/0",
        ("--at", "8", "--set", "rows"): "no place and value",
        ("--at", "8", "--status", "500", "--allow", "everything"): "this rule cannot be read",
    }
    before = len(story.command.runs())
    for arguments, sentence in mistakes.items():
        refused = story.command.run("fork", "contract", "--yes", *UNCONFINED, *arguments)
        assert (refused.code, sentence in refused.err) == (2, True), refused.err
    assert len(story.command.runs()) == before


def test_a_missing_key_never_leaves_as_its_stand_in(story: Story) -> None:
    story.seen()
    bare = {name: value for name, value in story.command.environment.items() if name != "OPENAI_API_KEY"}
    forked = story.command.run("fork", "contract", "--at", "8", "--set", f"={ROWS}", "--yes", *UNCONFINED, env=bare)
    assert forked.code == 43, forked.err
    assert "it holds a stand-in for a secret that is not here" in forked.err
    assert story.seen() == []

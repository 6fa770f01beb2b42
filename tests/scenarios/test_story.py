"""The main story with real processes: an agent is recorded, shown, proved, and replayed with the servers gone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.authority import Authority, ServerCertificate
from tests.support.command import Command, Said
from tests.support.processes import running_module
from tests.support.seen import ask_seen

AGENT = Path(__file__).with_name("agent.py")
KEY = "sk-live-8f4b2c1d9e7a6053"
OUTSIDE = "198.51.100.7:443"  # a documentation address (RFC 5737): nothing is ever there
CONFINES = sys.platform == "linux" and shutil.which("unshare") is not None
if CONFINES:
    CONFINES = subprocess.run(["unshare", "--user", "--net", "true"], check=False, capture_output=True).returncode == 0
needs_confinement = pytest.mark.skipif(not CONFINES, reason="this system refuses network namespaces")


@dataclass(frozen=True, slots=True)
class Story:
    """A finished recording: the command over its store, where the server was, and what the agent said."""

    command: Command
    url: str
    recorded: Said
    keys_seen: tuple[bytes, ...]

    def agent(self, *options: str) -> list[str]:
        """The agent's command line."""
        return [sys.executable, str(AGENT), self.url, *options]


@pytest.fixture(scope="module")
def story(
    tmp_path_factory: pytest.TempPathFactory,
    upstream_authority: Authority,
    upstream_certificate: ServerCertificate,
) -> Story:
    """One recording of the agent over TLS; the server is gone when the tests begin."""
    folder = tmp_path_factory.mktemp("story")
    command = Command(folder, {"OPENAI_API_KEY": KEY})
    files = (str(upstream_certificate.certificate), str(upstream_certificate.key))
    with running_module("tests.support.provider", "--tls", *files) as provider:
        url = f"https://localhost:{provider.port}"
        agent = [sys.executable, str(AGENT), url, "--exit", "3"]
        root = str(upstream_authority.root)
        recorded = command.run("record", "--name", "contract", "--upstream-ca", root, "--", *agent)
        seen = ask_seen(provider.url, upstream_authority.root)
    keys = tuple(value for one in seen for name, value in one.request.headers if name.lower() == b"authorization")
    return Story(Command(folder), url, recorded, keys)


def test_the_agent_runs_as_without_us(story: Story) -> None:
    assert story.recorded.code == 3
    first, second, rows = story.recorded.out.splitlines()
    assert first.startswith("The clause ")
    assert second.startswith("The clause ")
    assert rows.startswith("200 {")
    assert story.keys_seen == (f"Bearer {KEY}".encode(),) * 2


def test_the_summary_says_what_was_recorded_and_what_to_type_next(story: Story) -> None:
    assert "recorded run contract " in story.recorded.err
    assert "3 exchanges; model scripted-1; tool" in story.recorded.err
    assert story.recorded.verdict == "next: edgetape show last; edgetape verify last; edgetape replay last"


def test_the_run_is_listed_and_shown_in_plain_words(story: Story) -> None:
    runs = story.command.json("runs", "--mode", "record")
    assert isinstance(runs, list)
    assert [(run["name"], run["steps"], run["exit_code"]) for run in runs] == [("contract", 3, 3)]
    shown = story.command.run("show", "last")
    assert "model scripted-1 asked" in shown.out
    assert "/rules.json?jurisdiction=GB-SCT" in shown.out
    step = story.command.run("show", "contract", "1")
    assert f"answer: {story.recorded.out.splitlines()[0]}" in step.out


def test_the_recording_proves_itself(story: Story) -> None:
    verified = story.command.run("verify", "contract")
    assert verified.code == 0
    assert verified.out.startswith("VERIFIED (UNATTRIBUTED, UNWITNESSED, UNTIMED) run ")


def test_no_byte_of_the_key_is_in_the_store(story: Story) -> None:
    stored = b"".join(path.read_bytes() for path in story.command.store.rglob("*") if path.is_file())
    assert KEY.encode() not in stored
    everything = [story.command.run("show", "last", str(step), "--json").out for step in (1, 2, 3)]
    assert not any(KEY in text for text in everything)
    assert "<edgetape:authorization:1>" in everything[0]


def test_the_replay_says_the_same_to_the_byte_with_the_server_gone(story: Story) -> None:
    replayed = story.command.run("replay", "last")
    assert (replayed.code, replayed.out) == (3, story.recorded.out), replayed.err
    assert replayed.verdict.startswith("REPLAYED: all 3 recorded exchanges")
    assert replayed.verdict.endswith("nothing could get out" if CONFINES else "opened 0 connections")


def test_a_replay_needs_no_more_than_path_and_home(story: Story) -> None:
    bare = {name: story.command.environment[name] for name in ("PATH", "HOME", "PYTHONPATH")}
    replayed = story.command.run(
        *(f"--{name[9:].lower()}={value}" for name, value in story.command.folders.items()),
        "replay",
        "contract",
        env=bare,
    )
    assert (replayed.code, replayed.out) == (3, story.recorded.out), replayed.err


def test_a_replay_is_a_run_of_its_own_and_last_stays_the_recorded_one(story: Story) -> None:
    before = story.command.json("show", "last")
    story.command.run("replay", "last")
    replay, after = story.command.json("show", "last:replay"), story.command.json("show", "last")
    assert isinstance(replay, dict)
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    assert after["run"]["id"] == before["run"]["id"] == replay["run"]["parent"]["run"]
    assert story.command.run("verify", "last:replay").code == 0


def test_a_changed_prompt_is_drift_with_step_pointer_and_both_values(story: Story) -> None:
    replayed = story.command.run("replay", "last", "--", *story.agent("--system", "You review treaties."))
    assert replayed.code == 40
    assert replayed.verdict.startswith("DRIFTED at step 1: ")
    assert "/messages/0/content" in replayed.err
    assert "You review contracts." in replayed.err
    assert "You review treaties." in replayed.err


def test_serving_a_drift_goes_on_and_names_the_first_cause_once(story: Story) -> None:
    report = story.command.folder / "report.json"
    agent = story.agent("--system", "You review treaties.")
    replayed = story.command.run("replay", "last", "--on-drift", "serve", "--report", str(report), "--", *agent)
    assert (replayed.code, replayed.out) == (40, story.recorded.out)
    document = json.loads(report.read_text())
    assert document["exit_code"] == 40
    (cause,) = document["drifted"]
    assert (cause["step"], cause["pointer"], cause["follows"]) == (1, "/messages/0/content", [2])
    assert document["verdict"] == replayed.verdict


def test_a_dropped_lookup_is_named_by_its_step(story: Story) -> None:
    replayed = story.command.run("replay", "last", "--", *story.agent("--no-lookup"))
    assert replayed.code == 42
    assert "NEVER REQUESTED: step 3, GET " in replayed.verdict


def test_a_new_request_is_unexpected_and_gets_no_answer(story: Story) -> None:
    replayed = story.command.run("replay", "last", "--json", "--", *story.agent("--once-more"))
    assert replayed.code == 41
    assert "422" in replayed.out
    assert "/something-new is not in the recording" in replayed.verdict
    document = json.loads(replayed.out[replayed.out.index('{\n  "schema"') :])
    assert document["counts"]["unexpected"] == 1


@needs_confinement
def test_an_agent_that_goes_past_the_proxy_is_held_and_named(story: Story) -> None:
    replayed = story.command.run("replay", "last", "--", *story.agent("--socket", OUTSIDE))
    assert replayed.code == 43
    assert f"REFUSED: TCP to {OUTSIDE}" in replayed.verdict


def test_without_confinement_the_last_line_says_so(story: Story) -> None:
    replayed = story.command.run("replay", "last", "--no-confine")
    assert replayed.code == 3
    assert "UNCONFINED" in replayed.verdict
    assert "nothing could get out" not in replayed.verdict


def test_what_cannot_be_replayed_is_refused_in_one_sentence(story: Story) -> None:
    mistakes = {
        ("nobody",): "there is no run 'nobody'",
        ("last", "--pace", "fast"): "no pace: 'fast'",
        ("last", "--ignore", "nonsense"): "this rule cannot be read: 'nonsense'",
    }
    for arguments, sentence in mistakes.items():
        refused = story.command.run("replay", *arguments)
        assert refused.code == 2
        assert refused.err.startswith("edgetape: ")
        assert sentence in refused.err
    missing = story.command.run("replay", "last", "--", "no-such-program")
    assert missing.code == 127
    assert "no-such-program was not found" in missing.err

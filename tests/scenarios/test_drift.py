"""What a replay says and gives when the agent leaves the recorded path, and when the recording holds failures."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.scenarios.kept import kept, proven
from tests.support.authority import Authority, make_authority
from tests.support.command import Command, Said
from tests.support.provider import Options, Provider, serving

FAILING = str(Path(__file__).with_name("failing_agent.py"))

# Asks for what its arguments name, in turn, and prints each status; a body follows after a colon. `+` asks on and on.
ASKS = """
import sys, time, urllib.error, urllib.request
def ask(word):
    place, _, body = word.partition(":")
    asked = urllib.request.Request(sys.argv[1] + place, body.encode() or None)
    if body.startswith("{"):
        asked.add_header("Content-Type", "application/json")
    try:
        return urllib.request.urlopen(asked, timeout=30).status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError as error:
        return type(error).__name__
until = time.monotonic() + 60
for word in sys.argv[2:]:
    while word == "+" and time.monotonic() < until:
        time.sleep(0.1)
        ask("/more")
    if word != "+":
        print(ask(word), flush=True)
"""
JUDGE = '/judge:{"rows": [], "tone": "short"}'
NOTIFY = '/notify:{"to": "legal", "state": "done"}'
STEPS = ("/lookup?code=GB", JUDGE, "/poll", "/poll", NOTIFY)


class Cause(msgspec.Struct):
    """A first cause in the JSON report, as far as these tests look."""

    step: int
    pointer: str
    recorded: str
    live: str
    rule: str


class Document(msgspec.Struct):
    """The JSON report, as far as these tests look."""

    verdict: str
    exit_code: int
    agent_exit_code: int
    replay: dict[str, str]
    stopped_at: int | None
    drifted: list[Cause]
    never_requested: list[dict[str, object]]


class Tape:
    """One recorded run of five steps, whose server is gone."""

    def __init__(self, command: Command, url: str) -> None:
        self.command = command
        self.url = url

    def replay(self, *words: str, options: tuple[str, ...] = ()) -> Said:
        """Replays it with an agent that asks for these instead."""
        return self.command.run("replay", "steps", *options, "--", sys.executable, "-c", ASKS, self.url, *words)

    def report(self, *words: str, options: tuple[str, ...] = ()) -> tuple[Said, Document]:
        """The same, and its report."""
        path = self.command.folder / "report.json"
        said = self.replay(*words, options=("--report", str(path), *options))
        document = msgspec.json.decode(path.read_bytes(), type=Document)
        assert (document.exit_code, document.verdict) == (said.code, said.verdict)
        return said, document


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tape]:
    command = Command(tmp_path_factory.mktemp("drift"))
    with serving() as provider:
        agent = [sys.executable, "-c", ASKS, provider.url, *STEPS]
        recorded = command.run("record", "--name", "steps", "--", *agent)
        url = provider.url
    assert recorded.code == 0, recorded.err
    yield Tape(command, url)
    proven(command.store)


def test_the_first_drift_stops_the_replay_and_is_told_to_every_later_request(tape: Tape) -> None:
    changed = JUDGE.replace("short", "long")
    said, report = tape.report(STEPS[0], changed, *STEPS[2:])
    assert (said.code, said.out.split()) == (40, ["200", "422", "422", "422", "422"])
    assert said.verdict.startswith("DRIFTED at step 2: ")
    (cause,) = report.drifted
    assert (cause.step, cause.pointer, cause.recorded, cause.live) == (2, "/tone", '"short"', '"long"')
    assert f"--ignore '{cause.rule}'" in said.err
    assert (report.stopped_at, report.never_requested) == (2, [])
    allowed = tape.replay(STEPS[0], changed, *STEPS[2:], options=("--ignore", cause.rule))
    assert (allowed.code, allowed.out.split()) == (0, ["200"] * 5), allowed.err


def test_serving_goes_on_and_reports_all(tape: Tape) -> None:
    changed = (STEPS[0].replace("GB", "GB-SCT"), STEPS[1], STEPS[2], STEPS[3], NOTIFY.replace("done", "open"))
    said, report = tape.report(*changed, options=("--on-drift", "serve"))
    assert (said.code, said.out.split()) == (40, ["200"] * 5)
    assert [cause.step for cause in report.drifted] == [1, 5]
    assert report.stopped_at is None


def test_the_gravest_finding_decides_the_exit_code(tape: Tape) -> None:
    serve = ("--on-drift", "serve")
    dropped = tape.replay(*STEPS[:4])
    assert (dropped.code, "NEVER REQUESTED: step 5, POST " in dropped.verdict) == (42, True)
    drifted = tape.replay(STEPS[0].replace("GB", "IE"), *STEPS[1:4], options=serve)
    assert (drifted.code, "never requested: step 5" in drifted.err) == (40, True)
    exhausted = tape.replay(*STEPS[:4], "/poll", options=serve)
    assert exhausted.code == 41
    assert exhausted.verdict.startswith("EXHAUSTED: GET ")
    assert exhausted.out.split() == ["200"] * 4 + ["422"]


def test_an_agent_that_goes_on_after_a_stop_is_ended_and_what_it_was_told_is_kept(tape: Tape) -> None:
    said, report = tape.report(STEPS[0] + "1", "+", options=("--grace", "0.5"))
    assert said.code == 40
    assert report.agent_exit_code == 128 + signal.SIGTERM
    assert {one.status for one in kept(tape.command.store, report.replay["id"])} == {422}


def test_every_failure_looks_to_the_agent_as_it_did_when_it_was_recorded(
    tmp_path: Path, provider: Provider, tls_provider: Provider, upstream_authority: Authority
) -> None:
    command = Command(tmp_path)
    nobody = make_authority(tmp_path / "nobody").issue()
    tls_provider.arm("429?retry_after=0", "/v1/chat/completions")
    with serving(Options(tls=(nobody.certificate, nobody.key))) as untrusted:
        urls = (provider.url, f"https://localhost:{tls_provider.port}", f"https://localhost:{untrusted.port}")
        agent = [sys.executable, FAILING, *urls]
        recorded = command.run("record", "--upstream-ca", str(upstream_authority.root), "--", *agent)
    assert recorded.code == 0, recorded.err
    replayed = command.run("replay", "last")
    assert looks(replayed) == looks(recorded)
    assert replayed.code == 0, replayed.err
    assert "reset before the answer, in TLS: ProxyError after 0 bytes; cut after 0 bytes" in looks(recorded)
    assert "reset in the middle, in TLS: ChunkedEncodingError after 0 bytes; cut after 150 bytes" in looks(recorded)
    assert "429 7" in recorded.out
    (model, again) = [one for one in kept(command.store) if one.place.endswith("/chat/completions")]
    assert (model.status, again.status) == (429, 200)
    proven(command.store)


def looks(said: Said) -> list[str]:
    """What the agent printed, where a connection that was reset and one that was closed are both cut."""
    return said.out.replace("ReadError", "cut").replace("RemoteProtocolError", "cut").splitlines()

"""A recorder that is killed at any moment: what the agent saw the end of is in the store, and the store verifies."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from store.database import FILE_NAME
from tests.scenarios.kept import Kept, kept, proven
from tests.support.authority import ServerCertificate
from tests.support.command import Command
from tests.support.processes import end_process, running_module
from tests.support.provider import Provider
from tests.support.sample import Sample

AGENT = str(Path(__file__).with_name("busy_agent.py"))
KINDS = ("length", "chunked", "sse", "h2", "part")
READY_S_MAX = 60.0
PIECES_S_MAX = 5.0  # pieces of a stream are on disk within 250 ms; a loaded machine may take longer


@dataclass(frozen=True, slots=True)
class Seen:
    """An answer whose end the agent has seen (or, of kind `part`, what had come of it), and when."""

    kind: str
    place: str
    length: int
    digest: str
    at_s: float

    @classmethod
    def read(cls, log: Path) -> list[Seen]:
        lines = (line.split() for line in log.read_text().splitlines())
        return [cls(kind, place, int(length), digest, float(at)) for kind, place, length, digest, at in lines]


@pytest.fixture
def h2_url(upstream_certificate: ServerCertificate) -> Iterator[str]:
    files = str(upstream_certificate.certificate), str(upstream_certificate.key)
    with running_module("tests.support.h2_echo", "--tls", *files) as server:
        yield f"https://localhost:{server.port}"


@contextmanager
def asking(command: list[str], log: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a command under which the busy agent asks; it is in full swing when the block begins."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    try:
        until = time.monotonic() + READY_S_MAX
        while not log.exists() or not {seen.kind for seen in Seen.read(log)}.issuperset(KINDS):
            assert process.poll() is None, process.stderr and process.stderr.read()
            assert time.monotonic() < until, log.exists() and log.read_text()[-2000:]
            time.sleep(0.05)
        yield process
    finally:
        end_process(process)
        if process.stderr is not None:
            process.stderr.read()  # until the agent, which holds the other end, has ended too
            process.stderr.close()


def until_pieces_are_kept(command: Command) -> None:
    """Until the store has several pieces of a stream that goes on: here only the slow one comes in so many."""
    connection, until = sqlite3.connect(command.store / FILE_NAME), time.monotonic() + READY_S_MAX
    with contextlib.closing(connection):
        while not connection.execute("SELECT * FROM pending WHERE part = 'answer' AND number >= 6").fetchall():
            assert time.monotonic() < until
            time.sleep(0.05)


def lost(seen: list[Seen], recorded: list[Kept]) -> list[Seen]:
    """What was seen whole and is not there whole."""
    there = {
        (urlsplit(one.place).path + (f"?{one.query.decode()}" if one.query else ""), one.digest)
        for one in recorded
        if one.ended == "complete"
    }
    return [one for one in seen if one.kind != "part" and (one.place, one.digest) not in there]


def test_nothing_whose_end_the_agent_saw_is_lost_when_the_recorder_is_killed(
    tmp_path: Path, tls_provider: Provider, h2_url: str, upstream_root: Path, sample: Sample
) -> None:
    command, random, rounds = Command(tmp_path, {"TMPDIR": str(tmp_path)}), sample.source(), sample.count(3, 50)
    killed: dict[int, float] = {}
    for number in range(rounds):  # each recorder finds what the one before it left
        log = tmp_path / f"log-{number}"
        agent = [sys.executable, AGENT, str(log), f"https://localhost:{tls_provider.port}", h2_url]
        options = ("--name", f"round-{number}", "--upstream-ca", str(upstream_root))
        with asking(command.line("record", *options, "--", *agent), log, command.environment) as recorder:
            if number:
                time.sleep(random.uniform(0, 0.8))
            else:
                until_pieces_are_kept(command)
            recorder.kill()
            killed[number] = time.monotonic()
    assert command.run("record", "--", "true").code == 0
    proven(command.store)
    whole = 0
    for number in range(rounds):
        seen, recorded = Seen.read(tmp_path / f"log-{number}"), kept(command.store, f"round-{number}")
        assert lost(seen, recorded) == []
        whole += sum(one.kind != "part" for one in seen)
        (slow,) = [one for one in recorded if one.place.endswith("/slow")]
        early = [one.length for one in seen if one.kind == "part" and one.at_s < killed[number] - PIECES_S_MAX]
        assert "recorder_stopped" in (slow.ended, slow.failed)  # failed: not one piece was due before the kill
        assert len(slow.body) >= max(early, default=0)
        assert slow.body or number
    sample.measured(f"strict: {rounds} kills, {whole} exchanges seen whole by agents, 0 lost")


def test_what_a_killed_recorder_in_group_loses_is_little_and_measured(
    tmp_path: Path, tls_provider: Provider, h2_url: str, upstream_root: Path, sample: Sample
) -> None:
    command, random, rounds = Command(tmp_path, {"TMPDIR": str(tmp_path)}), sample.source(), sample.count(2, 20)
    gone, whole, oldest_s = 0, 0, 0.0
    for number in range(rounds):
        log = tmp_path / f"log-{number}"
        with command.serving("--port", "0", "--upstream-ca", str(upstream_root)) as service:
            proxy = f"http://round-{number}:x@127.0.0.1:{service.port}"
            roots = str(tmp_path / "authority" / "edgetape-ca.pem")
            environment = {**command.environment, "HTTPS_PROXY": proxy, "SSL_CERT_FILE": roots}
            agent = [sys.executable, AGENT, str(log), f"https://localhost:{tls_provider.port}", h2_url]
            with asking(agent, log, environment):
                time.sleep(random.uniform(0, 0.8))
                service.process.kill()
                killed_s = time.monotonic()
        assert command.run("record", "--", "true").code == 0
        seen = Seen.read(log)
        missing = lost(seen, kept(command.store, f"round-{number}"))
        gone, whole = gone + len(missing), whole + sum(one.kind != "part" for one in seen)
        oldest_s = max([oldest_s, *(killed_s - one.at_s for one in missing)])
    proven(command.store)
    assert oldest_s < PIECES_S_MAX
    told = f"{gone} lost, the oldest seen {oldest_s * 1000:.1f} ms before the kill"
    sample.measured(f"group: {rounds} kills, {whole} exchanges seen whole by agents, {told}")

"""A writer that is killed: what it had acknowledged is there, what was open gets an end, and everything verifies."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from store.core.errors import Malformed
from store.core.model import HttpError, HttpRequestEnd, HttpResponse, RunClose
from store.core.redact import stored
from store.exchange import Exchange, exchanges
from store.reader import Reader
from store.verify import verify
from store.writer import Writer
from tests.store.verify.attacker import Attacker
from tests.store.writing import HEAD, calls
from tests.support.sample import Sample
from tests.support.tape import Call, tape

ROOT = Path(__file__).parents[2]
EXCHANGES = 2000


@dataclass(slots=True)
class Acknowledged:
    """What a process said is on disk. `pieces` is how many bytes of a part, by number of exchange and part."""

    run: str = ""
    requests: dict[int, int] = field(default_factory=dict)
    outcomes: dict[int, int] = field(default_factory=dict)
    pieces: dict[tuple[int, str], int] = field(default_factory=dict)
    closed: bool = False

    def hear(self, line: str) -> None:
        match json.loads(line):
            case ["run", str(run)]:
                self.run = run
            case ["request", int(number), int(seq)]:
                self.requests[number] = seq
            case ["outcome", int(number), int(seq)]:
                self.outcomes[number] = seq
            case ["piece", int(number), str(part), int(bytes_so_far)]:
                self.pieces[number, part] = bytes_so_far
            case ["closed"]:
                self.closed = True


@contextmanager
def writing(folder: Path, seed: int, count: int) -> Iterator[subprocess.Popen[str]]:
    """A process that writes into the store beneath `folder`."""
    command = [sys.executable, "-m", "tests.store.writing", str(folder), str(seed), str(count)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def killed(folder: Path, seed: int, source: Random) -> Acknowledged:
    """What a process had acknowledged when it was killed, at a random moment of its writing."""
    acknowledged = Acknowledged()
    with writing(folder, seed, EXCHANGES) as process:
        assert process.stdout is not None
        acknowledged.hear(process.stdout.readline())
        time.sleep(source.random() ** 2 * 0.4)
        process.kill()
        for line in process.stdout:
            if line.endswith("\n"):
                acknowledged.hear(line)
    assert acknowledged.run
    assert not acknowledged.closed
    return acknowledged


def check(folder: Path, seed: int, said: Acknowledged) -> int:
    """Checks the run against what was acknowledged; how many of its requests were still open."""
    written = calls(seed, EXCHANGES)
    with Reader.open(folder / "store", folder / "keys") as reader:
        found = exchanges(reader.events(said.run))
        assert set(said.requests.items()) <= {(number, each.request.seq) for number, each in enumerate(found)}
        assert set(said.outcomes.items()) <= {(number, _seq(each)) for number, each in enumerate(found)}
        for number, (call, exchange) in enumerate(zip(written, found, strict=False)):
            _check_parts(reader, number, call, exchange, said)
        closed = list(reader.events(said.run))[-1].facts
        assert isinstance(closed, RunClose)
        assert (closed.reason, closed.clock) == ("crash_recovered", "resumed")
        assert reader.find("last").closed
    verdict = verify(folder / "store", folder / "keys")
    assert (verdict.exit_code, dict(verdict.flags).get("UNSEALED_TAIL")) == (0, None), verdict.findings
    return closed.partial


def _seq(exchange: Exchange) -> int:
    assert exchange.outcome is not None
    return exchange.outcome.seq


def _check_parts(reader: Reader, number: int, call: Call, exchange: Exchange, said: Acknowledged) -> None:
    outcome = exchange.outcome
    assert outcome is not None
    if isinstance(outcome.facts, HttpResponse):
        answer = reader.body(outcome, outcome.facts.body)
        assert (call.answer or b"").startswith(answer)
        assert len(answer) >= said.pieces.get((number, "answer"), 0)
        whole = len(answer) == len(call.answer or b"")
        assert whole or outcome.facts.ended == "recorder_stopped"
    else:
        assert isinstance(outcome.facts, HttpError)
        assert outcome.facts.kind == "recorder_stopped"
        assert (number, "answer") not in said.pieces
        assert number not in said.outcomes
    if exchange.facts.streaming:
        assert exchange.upload is not None
        assert isinstance(exchange.upload.facts, HttpRequestEnd)
        upload = reader.body(exchange.upload, exchange.upload.facts.body)
        assert call.body.startswith(upload)
        assert len(upload) >= said.pieces.get((number, "upload"), 0)


@pytest.mark.timeout(3000)
def test_everything_that_was_acknowledged_survives_a_kill(tmp_path: Path, sample: Sample) -> None:
    source, kills = sample.source(), sample.count(6, 200)
    requests = still_open = 0
    for _ in range(kills):
        seed = source.randrange(10**6)
        said = killed(tmp_path, seed, source)
        Writer.open(tmp_path / "store", tmp_path / "keys").close()
        still_open += check(tmp_path, seed, said)
        requests += len(said.requests)
    sample.measured(f"{kills} kills: {requests} acknowledged requests found, {still_open} were still open")


@pytest.mark.timeout(3000)
def test_two_processes_write_into_one_store_at_once(tmp_path: Path, sample: Sample) -> None:
    count = sample.count(100, 3000)
    with writing(tmp_path, 1, count) as one, writing(tmp_path, 2, count) as other:
        said = []
        for process in (one, other):
            lines, _ = process.communicate(timeout=600)
            said.append(Acknowledged())
            for line in lines.splitlines():
                said[-1].hear(line)
            assert process.returncode == 0
    verdict = verify(tmp_path / "store", tmp_path / "keys")
    assert (verdict.exit_code, verdict.runs) == (0, 2), verdict.findings
    with Reader.open(tmp_path / "store", tmp_path / "keys") as reader:
        for each in said:
            found = exchanges(reader.events(each.run))
            assert each.closed
            assert each.requests == {number: exchange.request.seq for number, exchange in enumerate(found)}
            assert each.outcomes == {number: _seq(exchange) for number, exchange in enumerate(found)}
            assert len(found) == count


def test_an_open_run_of_a_living_writer_is_left_alone(tmp_path: Path) -> None:
    with tape(tmp_path) as living:
        run = living.open()
        asked = living.request(run, Call())
        asked.result(30)
        with tape(tmp_path) as other:
            other.run([Call()])
        living.answer(run, Call(), asked).result(30)
        with Reader.open(living.folder, living.keys) as reader:
            assert reader.run(run).closed == ""
            assert [exchange.error for exchange in exchanges(reader.events(run))] == [None]


def test_a_run_that_was_left_open_is_ended_by_the_next_writer(tmp_path: Path) -> None:
    with tape(tmp_path) as first:
        run = first.open("left")
        asked = first.request(run, Call())
        first.writer.piece(run, asked, "head", stored(HEAD))
        first.writer.piece(run, asked, "answer", stored(b"par"))
        first.writer.piece(run, asked, "answer", stored(b"tial"))
    with tape(tmp_path), Reader.open(first.folder, first.keys) as reader:
        (exchange,) = exchanges(reader.events(run))
        assert exchange.response is not None
        assert exchange.outcome is not None
        assert (exchange.response.ended, exchange.response.status) == ("recorder_stopped", 200)
        assert reader.body(exchange.outcome, exchange.response.body) == b"partial"
        assert reader.pairs(exchange.outcome, exchange.response.headers) == [(b"content-type", b"x")]


def test_an_upload_whose_answer_came_early_is_ended_too(tmp_path: Path) -> None:
    with tape(tmp_path) as first:
        run = first.open()
        asked = first.request(run, Call(), streaming=True)
        first.writer.piece(run, asked, "upload", stored(b"half of it"))
        first.answer(run, Call(), asked)
    with tape(tmp_path), Reader.open(first.folder, first.keys) as reader:
        (exchange,) = exchanges(reader.events(run))
        assert exchange.upload is not None
        assert isinstance(exchange.upload.facts, HttpRequestEnd)
        assert exchange.upload.facts.ended == "recorder_stopped"
        assert reader.body(exchange.upload, exchange.upload.facts.body) == b"half of it"
        assert exchange.response is not None
        assert exchange.response.ended == "complete"
    assert verify(first.folder, first.keys).exit_code == 0


def test_a_damaged_run_that_was_left_open_keeps_nobody_out(tmp_path: Path) -> None:
    with tape(tmp_path) as first:
        damaged, sound = first.run([Call(answer=None)], "damaged", close=False), first.open("sound")
    attacker = Attacker(first.folder)
    attacker.put(damaged, 1, b"{")
    attacker.close()
    with tape(tmp_path) as second:
        assert set(second.writer.unrecovered) == {damaged}
        second.run([Call()])
        with Reader.open(first.folder, first.keys) as reader:
            assert reader.run(sound).reason == "crash_recovered"
            assert len(list(readable(reader, damaged))) == 1


def readable(reader: Reader, run: str) -> Iterator[int]:
    """The seqs that can be read."""
    with suppress(Malformed):
        for event in reader.events(run):
            yield event.seq


def test_a_pending_head_that_was_damaged_gives_an_outcome_all_the_same(tmp_path: Path) -> None:
    with tape(tmp_path) as first:
        run = first.open()
        asked = first.request(run, Call())
        first.writer.piece(run, asked, "head", stored(HEAD))
        first.writer.piece(run, asked, "answer", stored(b"part"))
    attacker = Attacker(first.folder)
    attacker.db.execute("UPDATE pending SET piece = x'7b' WHERE part = 'head'")
    attacker.close()
    with tape(tmp_path), Reader.open(first.folder, first.keys) as reader:
        (exchange,) = exchanges(reader.events(run))
        assert exchange.error is not None
        assert exchange.error.kind == "recorder_stopped"
    assert verify(first.folder, first.keys).exit_code == 0

"""A clerk writes in a process of its own what the recorder says, and loses nothing that it has answered for."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from store.clerk.clerk import Clerk
from store.core.draft import Draft, Sheet
from store.core.errors import InvalidEvent, StoreUnusable
from store.core.event import Event
from store.core.model import Gap, HttpRequest, HttpResponse, Note, RunClose
from store.core.redact import Redactor
from store.drafting import seen
from store.reader import Reader
from store.spool import MEMORY_BYTES_MAX, Spool
from store.writer import Writer
from tests.support.tape import opening

ROOT = Path(__file__).parents[3]
SECRET = "f3Qm8ZrT1vXw6Yb2Lk9PdN4s"
JSON: seen.Pairs = ((b"Content-Type", b"application/json"),)
RECORDER = """
import asyncio, os, signal, sys
from pathlib import Path
from store.clerk.clerk import Clerk
from tests.store.clerk.test_clerk import claim, opened

async def main():
    clerk = Clerk.open(Path(sys.argv[1]) / "store", Path(sys.argv[1]) / "keys")
    run = opened(clerk)
    for number in range(200):
        ticket = clerk.append(run, claim(number))
        if number % 50 == 49:
            print((await ticket).seq, flush=True)
    print(run, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


def claim(number: int) -> seen.Claim:
    return seen.Claim(kind="state", content=b'{"n": %d}' % number)


def opened(clerk: Clerk) -> str:
    sheet = Sheet()
    run, _ = clerk.open_run(sheet.draft(opening("", "record")), Redactor((SECRET,)))
    return run


def request(path: bytes = b"/", body: seen.Body = seen.NOTHING, *, streaming: bool = False) -> seen.Request:
    return seen.Request(
        method=b"POST",
        scheme="https",
        host=b"api.example.test",
        port=443,
        path=path,
        version=b"HTTP/1.1",
        fields=JSON,
        streaming=streaming,
        body=body,
    )


def head() -> seen.Head:
    return seen.Head(status=200, reason=b"OK", version=b"HTTP/1.1", fields=JSON, framing="chunked")


@pytest.fixture
def clerk(tmp_path: Path) -> Iterator[Clerk]:
    with contextlib.closing(Clerk.open(tmp_path / "store", tmp_path / "keys")) as one:
        yield one


def events(base: Path, run: str) -> list[Event]:
    with Reader.open(base / "store", base / "keys") as reader:
        return list(reader.events(run))


def closed(base: Path, run: str) -> RunClose:
    """How a run was ended by the writer that came after a crash."""
    for _ in range(1200):  # the lease goes with a process that may just be ending
        Writer.open(base / "store", base / "keys").close()
        last = events(base, run)[-1].facts
        if isinstance(last, RunClose):
            return last
        time.sleep(0.05)
    raise AssertionError("nobody ends the run")


async def test_what_was_seen_is_on_disk_without_its_secrets_when_its_ticket_says_so(
    tmp_path: Path, clerk: Clerk
) -> None:
    run = opened(clerk)
    body = seen.Body(b'{"key": "%s"}' % SECRET.encode())
    asked = clerk.append(run, request(b"/x?token=" + SECRET.encode(), body))
    answer = seen.Answer(head=head(), ended="complete", body=body, upstream="127.0.0.1:1")
    placed = await clerk.append(run, answer, after=asked)
    assert placed is not None
    assert (asked.seq, placed.seq) == (1, 2)
    assert await clerk.checkpoint() is None
    first, second = events(tmp_path, run)[1:]
    assert isinstance(first.facts, HttpRequest)
    assert isinstance(second.facts, HttpResponse)
    assert (second.facts.req, second.facts.upstream) == (1, "127.0.0.1:1")
    with Reader.open(tmp_path / "store", tmp_path / "keys") as reader:
        kept = [reader.body(first, first.facts.query), reader.body(first, first.facts.body)]
        kept.append(reader.body(second, second.facts.body))
    assert SECRET.encode() not in b"".join(kept)
    assert kept[1] == kept[2] == b'{"key": "<edgetape:query:1>"}'


async def test_what_is_not_in_memory_goes_by_its_file(tmp_path: Path, clerk: Clerk) -> None:
    run, spool = opened(clerk), Spool(tmp_path)
    content = b"".join(b"%031d\n" % number for number in range(3 * MEMORY_BYTES_MAX // 32))
    for at in range(0, len(content), 4096):
        spool.add(content[at : at + 4096])
    body = seen.Body(taken=spool.taken(), length=len(content))
    spool.close()
    asked = clerk.append(run, request(streaming=True))
    ticket = clerk.append(run, seen.Upload(ended="complete", body=body), after=asked)
    del body
    placed = await ticket
    assert placed is not None
    with Reader.open(tmp_path / "store", tmp_path / "keys") as reader:
        event = list(reader.events(run))[placed.seq]
        assert reader.body(event, event.facts.body) == content  # type: ignore[union-attr]


async def test_a_fault_of_what_is_said_comes_back_and_the_rest_goes_on(tmp_path: Path, clerk: Clerk) -> None:
    run = opened(clerk)
    with pytest.raises(InvalidEvent, match="belongs to another event"):
        await clerk.append(run, Draft(Gap(since="x", until="y", reason="z")), after=clerk.append(run, request()))
    with pytest.raises(InvalidEvent, match="the run was closed"):
        await clerk.append("01890000-0000-7000-8000-000000000000", claim(1))
    assert await clerk.append(run, claim(2)) is not None


async def test_what_belongs_to_a_request_that_was_let_go_is_refused(clerk: Clerk) -> None:
    run = opened(clerk)
    asked = clerk.append(run, request())
    clerk.forget(asked)
    with pytest.raises(StoreUnusable, match="not recorded"):
        await clerk.append(run, seen.Failure(kind="reset", detail=b"", total_us=1), after=asked)


def test_a_store_that_cannot_be_opened_is_told_as_by_a_writer(tmp_path: Path) -> None:
    (tmp_path / "store").write_bytes(b"")
    with pytest.raises(StoreUnusable) as refused:
        Writer.open(tmp_path / "store", tmp_path / "keys")
    with pytest.raises(StoreUnusable) as told:
        Clerk.open(tmp_path / "store", tmp_path / "keys")
    assert (str(told.value), told.value.hint) == (str(refused.value), refused.value.hint)


async def test_no_signal_that_goes_to_all_ends_it(tmp_path: Path, clerk: Clerk) -> None:
    run = opened(clerk)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(clerk.process_id, number)
        assert await clerk.append(run, claim(number)) is not None
    assert os.getsid(clerk.process_id) != os.getsid(0)


async def test_its_death_is_a_store_that_fails_and_what_it_had_answered_for_is_kept(tmp_path: Path) -> None:
    with contextlib.closing(Clerk.open(tmp_path / "store", tmp_path / "keys")) as clerk:
        run = opened(clerk)
        kept = [clerk.append(run, claim(number)) for number in range(20)]
        await kept[-1]
        left = [clerk.append(run, claim(number)) for number in range(20, 40)]
        os.kill(clerk.process_id, signal.SIGKILL)
        for number in range(40, 60):
            left.append(clerk.append(run, claim(number)))
            await asyncio.sleep(0)
        told = await asyncio.gather(*left, clerk.close_run(run, "normal"), return_exceptions=True)
        refused = [each for each in told if isinstance(each, StoreUnusable)]
        assert len(refused) > 20
        assert "the process that writes the recording has ended" in str(refused[-1])
        assert str(clerk.signing_failure) == str(refused[-1])
    answered = sum(ticket.error is None for ticket in [*kept, *left])
    assert closed(tmp_path, run).reason == "crash_recovered"
    assert sum(isinstance(event.facts, Note) for event in events(tmp_path, run)) >= answered >= 20


def test_what_a_recorder_has_said_before_its_death_is_written_and_its_run_ended_by_the_next(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RECORDER, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    *answered, run = done.stdout.split()
    assert answered == ["50", "100", "150", "200"]
    assert closed(tmp_path, run).reason == "crash_recovered"
    assert sum(isinstance(event.facts, Note) for event in events(tmp_path, run)) == 200


async def test_pieces_of_a_stream_are_there_without_its_secrets_when_both_die(tmp_path: Path) -> None:
    with contextlib.closing(Clerk.open(tmp_path / "store", tmp_path / "keys")) as clerk:
        run = opened(clerk)
        asked = clerk.append(run, request())
        clerk.piece(run, asked, "head", head())
        clerk.piece(run, asked, "answer", b'{"a": "%s",' % SECRET.encode())
        await clerk.piece(run, asked, "answer", b'"b": "' + b"x" * 1000)
        os.kill(clerk.process_id, signal.SIGKILL)
    assert closed(tmp_path, run).partial == 1
    answer = next(event for event in events(tmp_path, run) if isinstance(event.facts, HttpResponse))
    assert isinstance(answer.facts, HttpResponse)
    assert answer.facts.ended == "recorder_stopped"
    with Reader.open(tmp_path / "store", tmp_path / "keys") as reader:
        body = reader.body(answer, answer.facts.body)
    assert body.startswith(b'{"a": "<edgetape:environment:1>","b": "xxx')


def test_at_its_end_all_is_signed_and_more_is_refused(tmp_path: Path) -> None:
    clerk = Clerk.open(tmp_path / "store", tmp_path / "keys")
    run = opened(clerk)
    tickets = [clerk.append(run, claim(number)) for number in range(300)]
    ended = clerk.close_run(run, "normal")
    clerk.close()
    assert [ticket.error for ticket in (*tickets, ended)] == [None] * 301
    with pytest.raises(ChildProcessError):
        os.waitpid(clerk.process_id, os.WNOHANG)
    with pytest.raises(StoreUnusable, match="closed"):
        clerk.append(run, claim(0)).result(1)
    assert clerk.signing_failure is None
    assert closed(tmp_path, run).reason == "normal"

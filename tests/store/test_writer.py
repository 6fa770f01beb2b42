"""The one way in: events stand in the order in which they were given, and every ticket tells the truth."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from store.core import digest
from store.core.draft import Draft
from store.core.errors import InvalidEvent, Malformed, StoreUnusable
from store.core.model import HttpError, HttpResponse, Note, Parent, RunClose, TunnelClose, TunnelOpen
from store.core.redact import stored
from store.core.text import Body
from store.exchange import exchanges
from store.identifier import new_run_id
from store.reader import Reader
from store.verify import verify
from tests.support.sample import Sample
from tests.support.tape import Call, Tape, opening, seeded, tape

NO_CONTENT = Draft(Note(kind="state", body=Body(body="#0")))


def test_events_stand_in_the_order_in_which_they_were_given(open_tape: Tape, sample: Sample) -> None:
    calls = seeded(sample.source(), 60)
    run = open_tape.run(calls)
    with Reader.open(open_tape.folder, open_tape.keys) as reader:
        found = list(reader.events(run))
        assert [event.seq for event in found] == list(range(122))
        assert all(one.place.mono_us <= other.place.mono_us for one, other in pairwise(found))
        prev = digest.genesis_prev(reader.origin, run).hex()
        for event in found:
            assert event.place.prev == prev
            prev = reader.event_hash(run, event.seq).hex()
        for call, exchange in zip(calls, exchanges(found), strict=True):
            assert exchange.response is not None
            assert exchange.outcome is not None
            assert reader.body(exchange.request, exchange.facts.body) == call.body
            assert reader.body(exchange.outcome, exchange.response.body) == call.answer


def test_what_was_given_at_once_is_committed_together(open_tape: Tape) -> None:
    run = open_tape.open()
    tickets = [open_tape.note(run, b"%d" % number) for number in range(300)]
    seqs = [appended.seq for ticket in tickets if (appended := ticket.result(30)) is not None]
    assert seqs == list(range(1, 301))


def test_many_threads_may_write_into_one_run(open_tape: Tape) -> None:
    run = open_tape.open()
    with ThreadPoolExecutor(8) as threads:
        tickets = list(threads.map(lambda number: open_tape.note(run, b"%d" % number), range(200)))
    assert sorted(ticket.result(30).seq for ticket in tickets) == list(range(1, 201))  # type: ignore[union-attr]


async def test_a_ticket_can_be_awaited_and_nobody_who_stops_waiting_harms_others(open_tape: Tape) -> None:
    run = open_tape.open()
    tickets = [open_tape.note(run, b"x") for _ in range(50)]

    async def wait() -> object:
        return await tickets[-1]

    waiting = asyncio.create_task(wait())
    await asyncio.sleep(0)
    waiting.cancel()
    assert [appended.seq for ticket in tickets if (appended := await ticket)] == list(range(1, 51))


def test_an_outcome_names_its_request_even_in_the_same_commit(open_tape: Tape) -> None:
    run = open_tape.open()
    calls = [Call(b"/%d" % number) for number in range(20)]
    asked = [open_tape.request(run, call) for call in calls]
    answered = [open_tape.answer(run, *pair) for pair in reversed(list(zip(calls, asked, strict=True)))]
    for ticket in answered:
        ticket.result(30)
    with Reader.open(open_tape.folder, open_tape.keys) as reader:
        named = [event.facts.req for event in reader.events(run) if isinstance(event.facts, HttpResponse)]
    assert named == [ticket.seq for ticket in reversed(asked)]


def test_a_tunnel_names_its_beginning(open_tape: Tape) -> None:
    run = open_tape.open()
    opened = open_tape.writer.append(run, Draft(TunnelOpen(host="h", port=1, reason="pinned")))
    closed = open_tape.writer.append(
        run, Draft(TunnelClose(open=-1, sent_bytes=1, received_bytes=2, duration_us=3)), after=opened
    )
    with Reader.open(open_tape.folder, open_tape.keys) as reader:
        closed.result(30)
        facts = reader.event(run, 2).facts
    assert isinstance(facts, TunnelClose)
    assert facts.open == 1


def test_the_same_name_twice_gives_two_runs_and_the_name_means_the_newer(open_tape: Tape) -> None:
    first, second = open_tape.run([Call()], "twin"), open_tape.run([], "twin")
    assert first != second
    with Reader.open(open_tape.folder, open_tape.keys) as reader:
        assert reader.find("twin").id == second
        assert {run.id for run in reader.runs()} == {first, second}


def test_run_ids_are_uuids_of_version_7_that_sort_by_time() -> None:
    ids = [new_run_id() for _ in range(100)]
    assert {(UUID(each).version, UUID(each).variant) for each in ids} == {(7, UUID(int=0x8 << 60).variant)}
    assert len(set(ids)) == 100
    assert [each[:13] for each in ids] == sorted(each[:13] for each in ids)


@pytest.mark.parametrize(
    "draft",
    [
        Draft(Note(kind="gossip", body=Body(body="#0")), (b"x",)),  # type: ignore[arg-type]
        Draft(HttpResponse(req=1, status=200, http_version="1", headers=[["odd"]], ended="complete", framing="none")),
        Draft(HttpError(req="1", kind="dns")),  # type: ignore[arg-type]
        Draft(RunClose(n=0, head="0" * 64, root="0" * 64, reason="normal", counts=[])),
        Draft(opening()),
        NO_CONTENT,
    ],
    ids=["kind", "pair", "req", "close", "open", "content"],
)
def test_a_draft_that_the_format_forbids_is_refused_and_harms_no_other(open_tape: Tape, draft: Draft) -> None:
    run = open_tape.open()
    before, bad, after = open_tape.note(run, b"a"), open_tape.writer.append(run, draft), open_tape.note(run, b"b")
    with pytest.raises(InvalidEvent):
        bad.result(30)
    assert [appended.seq for ticket in (before, after) if (appended := ticket.result(30))] == [1, 2]


@pytest.mark.parametrize("parent", [None, Parent(run="r", seq=0, event_hash="none")])
def test_a_run_that_does_not_begin_with_its_opening_is_refused(open_tape: Tape, parent: Parent | None) -> None:
    draft = NO_CONTENT if parent is None else Draft(msgspec.structs.replace(opening(), parent=parent))
    run, ticket = open_tape.writer.open_run(draft)
    with pytest.raises(InvalidEvent):
        ticket.result(30)
    with pytest.raises(InvalidEvent):
        open_tape.note(run, b"x").result(30)
    with pytest.raises(InvalidEvent):
        open_tape.writer.close_run(run, "normal").result(30)


def test_nothing_follows_the_end_of_a_run(open_tape: Tape) -> None:
    run = open_tape.run([Call()])
    with pytest.raises(InvalidEvent, match="closed"):
        open_tape.note(run, b"x").result(30)
    with pytest.raises(InvalidEvent, match="closed"):
        open_tape.writer.close_run(run, "normal").result(30)


def test_an_outcome_without_its_request_is_refused(open_tape: Tape) -> None:
    run = open_tape.open()
    lost = open_tape.writer.append(run, NO_CONTENT)
    with pytest.raises(StoreUnusable, match="before this one"):
        open_tape.answer(run, Call(), lost).result(30)
    with pytest.raises(StoreUnusable, match="before this one"):
        open_tape.writer.piece(run, lost, "answer", stored(b"x")).result(30)


def test_an_event_that_belongs_to_no_other_one_cannot_be_put_after_one(open_tape: Tape) -> None:
    run = open_tape.open()
    asked = open_tape.request(run, Call())
    drafted = Draft(Note(kind="state", body=Body(body="#0")), (b"x",))
    with pytest.raises(InvalidEvent):
        open_tape.writer.append(run, drafted, after=asked).result(30)


@pytest.mark.parametrize("head", [b"", b"{", b"{}", b"\xff", b'{"status":"x"}'])
def test_the_head_of_an_answer_that_is_none_is_refused_at_once(open_tape: Tape, head: bytes) -> None:
    run = open_tape.open()
    asked = open_tape.request(run, Call())
    with pytest.raises(Malformed):
        open_tape.writer.piece(run, asked, "head", stored(head)).result(30)


def test_a_run_that_is_closed_gives_its_dangling_requests_outcomes(open_tape: Tape) -> None:
    run = open_tape.open()
    for number in range(3):
        open_tape.request(run, Call(b"/%d" % number))
    open_tape.writer.close_run(run, "operator").result(30)
    with Reader.open(open_tape.folder, open_tape.keys) as reader:
        found = exchanges(reader.events(run))
        assert [exchange.error.kind for exchange in found if exchange.error] == ["recorder_stopped"] * 3
        closed = list(reader.events(run))[-1].facts
        assert isinstance(closed, RunClose)
        assert (closed.n, closed.partial, closed.reason) == (7, 3, "operator")
        assert closed.counts == [["http.error", 3], ["http.request", 3], ["run.open", 1]]


def test_a_writer_that_is_closed_says_so_and_may_be_closed_again(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        run = made.open()
    _, opened = made.writer.open_run(Draft(opening()))
    for ticket in (opened, made.note(run, b"x"), made.writer.close_run(run, "normal")):
        with pytest.raises(StoreUnusable, match="closed"):
            ticket.result(30)
    made.writer.close()
    assert verify(made.folder, made.keys).exit_code == 0


def test_a_checkpoint_covers_what_was_there_before_it(open_tape: Tape) -> None:
    run = open_tape.open()
    open_tape.note(run, b"x")
    open_tape.writer.checkpoint().result(30)
    sealed = verify(open_tape.folder, open_tape.keys)
    assert "UNSEALED_TAIL" not in dict(sealed.flags)
    open_tape.note(run, b"y").result(30)
    assert dict(verify(open_tape.folder, open_tape.keys).flags)["UNSEALED_TAIL"] == 1

"""Bodies go in, and each costs about what is new in it."""

import base64
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.splices import heads
from store.splices.heads import DEPTH_MAX, VISITS_MAX, Standing
from store.splices.recipe import Copy
from store.splices.resolver import Resolver
from store.splices.splicer import Splicer
from tests.store.splices.rows import bodies, request, sentence


def resolver(log: bytes) -> Resolver:
    """A resolver over a log that is not compressed."""
    return Resolver(lambda offset, length: log[offset : offset + length], len(log))


def grown(turns: int, lanes: int = 1, clock: bool = False) -> list[bytes]:
    """The requests of conversations that take turns."""
    talks: list[list[str]] = [[] for _ in range(lanes)]
    requests = []
    for turn in range(turns):
        talk = talks[turn % lanes]
        talk += [sentence(turn * 2, 60), sentence(turn * 2 + 1, 60)]
        system = f"Lane {turn % lanes}. {sentence(999 + turn % lanes, 90)}"
        requests.append(request(talk, f"It is {turn:05}. {system}" if clock else system))
    return requests


@given(bodies, st.booleans())
def test_any_bodies_come_back_exactly(sequence: list[bytes], one_shelf: bool) -> None:
    splicer = Splicer()
    places = [splicer.add(body, "" if one_shelf else str(at % 3)) for at, body in enumerate(sequence)]
    log = splicer.take()
    assert len(log) == splicer.end
    for place, body in zip(places, sequence, strict=True):
        assert resolver(log).body(place, len(body)) == body


@given(bodies, bodies, bodies)
def test_what_is_undone_leaves_no_trace(before: list[bytes], undone: list[bytes], after: list[bytes]) -> None:
    plain, marked = Splicer(), Splicer()
    for body in before:
        plain.add(body)
        marked.add(body)
    mark = marked.mark()
    for body in undone:
        marked.add(body)
    marked.undo(mark)
    for body in after:
        assert plain.add(body) == marked.add(body)
    assert plain.take() == marked.take()


def test_what_was_taken_can_be_undone_too() -> None:
    splicer = Splicer()
    splicer.add(b"first")
    mark = splicer.mark()
    splicer.take()
    splicer.add(b"second")
    splicer.take()
    splicer.undo(mark)
    assert splicer.end == mark.end
    assert splicer.add(b"third") == mark.end


@pytest.mark.parametrize("lanes, clock", [(1, False), (1, True), (5, False), (5, True)])
def test_c127_a_turn_costs_the_same_late_as_early(lanes: int, clock: bool) -> None:
    splicer = Splicer()
    costs = []
    for body in grown(120, lanes, clock):
        splicer.add(body)
        costs.append(len(splicer.take()))
    assert sum(costs[100:]) < sum(costs[20:40]) * 1.3


def test_c127_a_picture_that_is_sent_again_and_again_is_stored_once() -> None:
    picture = base64.b64encode(random.Random(7).randbytes(60_000))
    turns = [b'{"turn":%d}' % turn for turn in range(20)]
    splicer = Splicer()
    for turn in range(len(turns)):
        splicer.add(b'{"messages":[{"image":"%s"},%s]}' % (picture, b",".join(turns[: turn + 1])))
    assert splicer.end < len(picture) * 1.05


def test_a_body_longer_than_a_shelf_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "HEADS_BYTES_MAX", 10_000)
    first, long = sentence(1, 500).encode(), random.Random(2).randbytes(10_001)
    splicer = Splicer()
    splicer.add(first)
    splicer.add(long)
    splicer.take()
    splicer.add(long)
    assert len(splicer.take()) > 10_000
    splicer.add(first)
    assert len(splicer.take()) < 200


def test_interleaved_conversations_each_go_on_from_their_own() -> None:
    requests = grown(60, lanes=6)
    splicer = Splicer()
    for body in requests:
        splicer.add(body)
    distinct = sum(map(len, requests[-6:]))
    assert splicer.end < distinct * 1.2


def test_a_conversation_that_rested_for_long_is_found_again() -> None:
    resting, busy = grown(4, lanes=2)[::2], grown(100, lanes=2)[1::2]
    splicer = Splicer()
    for body in [resting[0], *busy]:
        splicer.add(body)
    splicer.take()
    splicer.add(resting[1])
    assert len(splicer.take()) < len(resting[1]) / 2


def test_a_splicer_that_takes_a_log_over_goes_on_from_what_it_is_told() -> None:
    requests = grown(20)
    first = Splicer()
    places = [first.add(body) for body in requests[:-1]]
    log = first.take()
    second = Splicer(first.end, known=[("", resolver(log).head(places[-1]))])
    place = second.add(requests[-1])
    grew = second.take()
    assert len(grew) < len(requests[-1]) / 5
    assert resolver(log + grew).body(place, len(requests[-1])) == requests[-1]


def test_a_standing_tells_at_most_what_a_reader_meets() -> None:
    requests = grown(50, clock=True)
    splicer = Splicer()
    places = [splicer.add(body) for body in requests]
    log = splicer.take()
    head = resolver(log).head(places[-1])
    assert 2 < head.standing.depth <= len(requests)
    reads = []

    def read(offset: int, length: int) -> bytes:
        reads.append(offset)
        return log[offset : offset + length]

    Resolver(read, len(log)).body(places[-1], len(requests[-1]))
    assert len(reads) <= head.standing.visits + head.standing.depth


def test_what_would_take_a_reader_too_long_gets_no_base() -> None:
    thrice = (Copy(0, 0, 600),) * 3
    standing: Standing | None = Standing()
    levels = 0
    while standing:
        assert standing.visits <= VISITS_MAX
        standing, levels = standing.above(thrice), levels + 1
    assert levels < 20
    assert Standing(depth=DEPTH_MAX).above((Copy(0, 0, 600),)) is None
    apart = (Copy(0, 9000, 600), Copy(0, 0, 600), Copy(0, 3000, 600))
    assert Standing(depth=100, visits=5000).above(apart) == Standing(101, 5000 + 3 * 100 + 7)


def test_many_turns_stay_within_the_bound() -> None:
    body, splicer, bodies_added = b"x" * 2000, Splicer(), []
    for turn in range(3000):
        body = b"%05d" % turn + body[5:] + b"%d" % turn
        bodies_added.append((splicer.add(body), body))
    log = splicer.take()
    for place, added in bodies_added[::500] + bodies_added[-1:]:
        assert resolver(log).body(place, len(added)) == added

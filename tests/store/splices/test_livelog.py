"""A run that is being written stays in step with its transactions, whatever becomes of them."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.splices.guard import Cipher
from store.splices.livelog import LiveLog
from store.splices.splicer import Splicer
from tests.store.splices.rows import Rows, bodies, request, sentence

_fates = st.sampled_from(["commit", "commit", "roll back", "fail after flush", "undo one"])


@given(st.lists(st.tuples(bodies, _fates), max_size=8), st.booleans())
def test_what_was_committed_is_read_and_nothing_else_is_there(
    transactions: list[tuple[list[bytes], str]], encrypted: bool
) -> None:
    rows = Rows(Cipher(bytes(32), "store", "run", lambda: os.urandom(12))) if encrypted else Rows()
    log = LiveLog(rows.guard)
    kept: list[tuple[int, bytes]] = []
    for added, fate in transactions:
        placed = [(log.add(body), body) for body in added]
        if fate == "undo one":
            mark = log.mark()
            log.add(b"refused" * 200)
            log.undo(mark)
        if fate == "roll back":
            log.rollback()
            continue
        change = log.flush()
        if fate == "fail after flush":
            log.rollback()
            continue
        rows.apply(change)
        log.commit()
        kept += placed
        assert rows.log().end == log.end
    for place, body in kept:
        assert rows.resolver().body(place, len(body)) == body


def test_each_commit_can_be_read_at_once() -> None:
    rows = Rows()
    log = LiveLog(rows.guard)
    for turn in range(70):
        body = request([sentence(n, 30) for n in range(turn + 1)])
        place = log.add(body)
        rows.apply(log.flush())
        log.commit()
        assert rows.resolver().body(place, len(body)) == body


def test_blocks_do_not_pile_up_with_commits() -> None:
    rows = Rows()
    log = LiveLog(rows.guard)
    for turn in range(160):
        log.add(b"turn %d" % turn)
        rows.apply(log.flush())
        log.commit()
    assert len(rows.stored) == 2 + 4  # of 64 and of 8
    assert len({span.frame for span, _ in rows.stored.values()}) == 1


def test_an_empty_transaction_changes_nothing() -> None:
    log = LiveLog(Rows().guard)
    assert log.flush().blocks == ()
    log.commit()
    assert log.end == 0


def test_a_failed_commit_begins_a_new_frame_and_loses_nothing_before_it() -> None:
    rows = Rows()
    log = LiveLog(rows.guard)
    first = log.add(b"kept" * 300)
    rows.apply(log.flush())
    log.commit()
    log.add(b"lost" * 300)
    log.flush()
    log.rollback()
    second = log.add(b"kept" * 300 + b"too")
    rows.apply(log.flush())
    log.commit()
    assert [span.frame for span, _ in rows.stored.values()] == [0, 1]
    assert rows.resolver().body(first, 1200) == b"kept" * 300
    assert rows.resolver().body(second, 1203) == b"kept" * 300 + b"too"


def test_a_recorder_that_takes_a_run_over_goes_on_at_its_end() -> None:
    rows = Rows()
    log = LiveLog(rows.guard)
    first = log.add(b"of the first recorder")
    rows.apply(log.flush())
    log.commit()
    taken_over = LiveLog(rows.guard, Splicer(rows.log().end), number=max(rows.stored) + 1)
    second = taken_over.add(b"of the second")
    rows.apply(taken_over.flush())
    taken_over.commit()
    assert rows.resolver().body(first, 21) == b"of the first recorder"
    assert rows.resolver().body(second, 13) == b"of the second"


def test_what_was_flushed_is_not_undone_alone() -> None:
    log = LiveLog(Rows().guard)
    mark = log.mark()
    log.add(b"body")
    log.flush()
    with pytest.raises(ValueError, match="rolled back"):
        log.undo(mark)

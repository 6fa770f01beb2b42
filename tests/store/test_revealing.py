"""What was read once is given out again without being read, and no longer than until it is erased."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from store import revealing
from store.core.event import Event
from store.core.model import HttpRequest
from store.core.text import Body
from store.database import FILE_NAME
from store.reader import BodyUnavailable, Reader
from tests.store.erasing import erase
from tests.support.tape import Call, Tape, tape

CALLS = [Call(body=b'{"said": %d}' % number, answer=b'{"heard": %d}' % number) for number in range(3)]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Tape]:
    with tape(tmp_path) as opened:
        yield opened


def asked(reader: Reader, run: str, seq: int) -> tuple[Event, Body]:
    event = reader.event(run, seq)
    assert isinstance(event.facts, HttpRequest)
    assert event.facts.body is not None
    return event, event.facts.body


def lose(made: Tape, *tables: str) -> None:
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection, connection:
        for table in tables:
            connection.execute(f"DELETE FROM {table}")


@pytest.mark.parametrize("close", [True, False], ids=["sealed", "open"])
def test_what_was_read_is_not_read_again(close: bool, made: Tape) -> None:
    run = made.run(CALLS, close=close)
    made.writer.checkpoint().result(30)
    with Reader.open(made.folder, made.keys) as reader:
        first = asked(reader, run, 1)
        assert reader.body(*first) == CALLS[0].body
        lose(made, "blocks", "openings", "opening_blocks")
        assert reader.body(*first) == CALLS[0].body
        assert reader.opening(*first).length == len(CALLS[0].body)
    with Reader.open(made.folder, made.keys) as reader, pytest.raises(BodyUnavailable):
        reader.body(*first)


@pytest.mark.parametrize("close", [True, False], ids=["sealed", "open"])
@pytest.mark.parametrize("seqs", [(1,), ()], ids=["a step", "all"])
def test_an_erasure_counts_at_once(seqs: tuple[int, ...], close: bool, made: Tape) -> None:
    run = made.run(CALLS, close=close)
    made.writer.checkpoint().result(30)
    with Reader.open(made.folder, made.keys) as reader:
        first, second = asked(reader, run, 1), asked(reader, run, 3)
        assert [reader.body(*each) for each in (first, second)] == [CALLS[0].body, CALLS[1].body]
        erase(made, run, *seqs)
        for give in (reader.body, reader.opening):
            with pytest.raises(BodyUnavailable, match="were erased at"):
                give(*first)
        if seqs:
            assert reader.body(*second) == CALLS[1].body


def test_a_body_is_known_by_the_event_that_names_it(made: Tape) -> None:
    run = made.run(CALLS)
    with Reader.open(made.folder, made.keys) as reader:
        (_, body), (other, _) = asked(reader, run, 1), asked(reader, run, 3)
        reader.body(*asked(reader, run, 1))
        with pytest.raises(BodyUnavailable):
            reader.body(other, body)


@pytest.mark.parametrize("held_bytes_max", [0, 1 << 20])
def test_what_is_kept_of_many_runs_is_bounded(held_bytes_max: int, made: Tape, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revealing, "_HELD_BYTES_MAX", held_bytes_max)
    runs = [made.run(CALLS) for _ in range(4)]
    with Reader.open(made.folder, made.keys) as reader:
        first, *others = [asked(reader, run, 1) for run in runs]
        for _ in range(2):
            assert {reader.body(*each) for each in (first, *others)} == {CALLS[0].body}
        lose(made, "blocks", "opening_blocks")
        assert reader.body(*others[-1]) == CALLS[0].body
        if held_bytes_max:
            assert reader.body(*first) == CALLS[0].body
        else:
            with pytest.raises(BodyUnavailable):
                reader.body(*first)


def test_what_is_asked_for_in_one_moment_is_given_with_the_keys_of_that_moment(made: Tape) -> None:
    run = made.run(CALLS)
    made.writer.checkpoint().result(30)
    with Reader.open(made.folder, made.keys) as reader:
        first, second = asked(reader, run, 1), asked(reader, run, 3)
        with reader.moment():
            assert [reader.body(*each) for each in (first, second)] == [CALLS[0].body, CALLS[1].body]
            erase(made, run, 1)
            with reader.moment():
                assert reader.body(*first) == CALLS[0].body
        with reader.moment(), pytest.raises(BodyUnavailable, match="were erased at"):
            reader.body(*first)
        assert reader.body(*second) == CALLS[1].body


def test_what_is_rewritten_within_a_moment_is_read_anew(made: Tape) -> None:
    run = made.run(CALLS)
    made.writer.checkpoint().result(30)
    with Reader.open(made.folder, made.keys) as reader:
        first, second = asked(reader, run, 1), asked(reader, run, 3)
        with reader.moment():
            reader.opening(*second)
            erase(made, run, 1)
            assert reader.body(*second) == CALLS[1].body
            with pytest.raises(BodyUnavailable, match="were erased at"):
                reader.body(*first)

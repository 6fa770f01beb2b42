"""What a transaction adds is written in few statements, what was undone never."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from store.additions import Additions
from store.core.errors import StoreUnusable
from store.reader import Reader
from tests.support.tape import Call, Tape

INSERT, DELETE = "INSERT INTO t (a) VALUES (?)", "DELETE FROM t WHERE a = ?"


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
        yield connection


def _found(db: sqlite3.Connection) -> list[int]:
    return [value for (value,) in db.execute("SELECT a FROM t ORDER BY rowid")]


def test_each_statement_runs_once_and_deletes_run_last(db: sqlite3.Connection) -> None:
    said: list[str] = []
    db.set_trace_callback(said.append)
    additions = Additions()
    additions.drop(DELETE, 2)
    for number in range(4):
        additions.add(INSERT, number)
    additions.write(db)
    additions.write(db)
    assert [line.split()[0] for line in said] == ["BEGIN", *4 * ["INSERT"], "DELETE"]
    assert _found(db) == [0, 1, 3]


def test_what_was_added_since_a_mark_is_not_written(db: sqlite3.Connection) -> None:
    additions = Additions()
    additions.add(INSERT, 1)
    mark = additions.mark()
    additions.add(INSERT, 2)
    additions.drop(DELETE, 1)
    additions.undo(mark)
    additions.add(INSERT, 3)
    additions.write(db)
    assert _found(db) == [1, 3]


def test_an_event_that_is_refused_leaves_no_hole_between_those_of_its_transaction(open_tape: Tape) -> None:
    run = open_tape.open()
    lost = open_tape.answer("no run", Call(), open_tape.request("no run", Call()))
    kept = [open_tape.note(run, b"one"), open_tape.answer(run, Call(), lost), open_tape.note(run, b"two")]
    with pytest.raises(StoreUnusable):
        kept[1].result(30)
    assert [ticket.result(30).seq for ticket in kept[::2]] == [1, 2]  # type: ignore[union-attr]
    with Reader.open(open_tape.folder, open_tape.keys) as reader:
        assert [event.seq for event in reader.events(run)] == [0, 1, 2]

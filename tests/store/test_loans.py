"""A body of a replay that is the recorded one is kept once, and all that is true of a body is true of it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import pytest
from msgspec import structs

from store import erasure, retention
from store.core.draft import Elsewhere
from store.core.leaf import HoldSet
from store.database import FILE_NAME
from store.erasure import Erasure, ErasureRefused
from store.reader import Reader
from store.retention import Pruning
from store.verify import verify
from tests.store.erasing import bodies, codes, erase
from tests.store.verify.attacker import Attacker
from tests.support.tape import Call, Tape, request, response, tape
from tests.support.verifier import verify as second

LONG = b'{"said": "' + b"at some length, " * 100 + b'"}'
CALLS = [
    Call(body=LONG + b"1", answer=LONG + b"a"),
    Call(body=b"short", answer=b"{}"),
    Call(body=LONG, answer=LONG + b"b"),
]
WHOLE = [part for call in CALLS for part in (call.body, call.answer)]
BORROWED = [(1, "/body"), (2, "/body"), (5, "/body"), (6, "/body")]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Tape]:
    with tape(tmp_path) as opened:
        yield opened


def replay(made: Tape, of: str, calls: list[Call] = CALLS, *, close: bool = True) -> str:
    """A run whose bodies are said to be those of another one, event for event."""
    run = made.open("again", "replay")
    answered = None
    for number, call in enumerate(calls):
        seq = 1 + 2 * number
        asked = made.writer.append(run, structs.replace(request(call), elsewhere={0: Elsewhere(of, seq, "/body")}))
        answer = structs.replace(response(call), elsewhere={0: Elsewhere(of, seq + 1, "/body")})
        answered = made.writer.append(run, answer, after=asked)
    assert answered is not None
    answered.result(30)
    if close:
        made.writer.close_run(run, "agent_exit").result(30)
    return run


def loans(made: Tape, run: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        query = "SELECT seq, pointer, lender FROM loans WHERE run = ? ORDER BY seq, pointer"
        return connection.execute(query, (run,)).fetchall()


@pytest.mark.parametrize("closed", [True, False], ids=["sealed", "open"])
def test_a_long_body_that_another_run_has_is_kept_there_alone(made: Tape, closed: bool) -> None:
    run = made.run(CALLS)
    again = replay(made, run, close=closed)
    assert loans(made, again) == [(*where, run) for where in BORROWED]
    assert bodies(made, again) == bodies(made, run) == WHOLE
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        query = "SELECT TOTAL(length) FROM blocks WHERE run = ?"
        (one,), (other,) = (connection.execute(query, (each,)).fetchone() for each in (run, again))
    assert other < one / 10
    assert codes(made) == [[], []]


def test_what_is_not_the_very_same_is_kept_by_its_own_run(made: Tape) -> None:
    other = [replace(call, body=call.body + b"!", answer=(call.answer or b"") + b"?") for call in CALLS]
    again = replay(made, made.run(CALLS), other)
    assert loans(made, again) == []
    assert bodies(made, again) == [part for call in other for part in (call.body, call.answer)]
    nowhere = replay(made, "01234567-0000-7000-8000-000000000000")
    assert loans(made, nowhere) == []
    assert bodies(made, nowhere) == WHOLE
    assert codes(made) == [[], []]


def test_what_was_borrowed_is_not_lent_on(made: Tape) -> None:
    run = made.run(CALLS)
    third = replay(made, replay(made, run))
    assert loans(made, third) == [(*where, run) for where in BORROWED]
    assert bodies(made, third) == WHOLE


def test_erasing_a_body_erases_what_others_have_of_it_on_record(made: Tape) -> None:
    run = made.run(CALLS)
    again = replay(made, run)
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        told = erasure.affected(connection, Erasure(run, (1, 2), "operator", "why"))
    assert [(body.run, body.seq) for body in told] == [(run, 1), (run, 2), (again, 1), (again, 2)]
    erase(made, run, 1, 2)
    assert bodies(made, again) == bodies(made, run) == [None, None, *WHOLE[2:]]
    assert loans(made, again) == [(*where, run) for where in BORROWED[2:]]
    assert dict(verify(made.folder, made.keys).flags)["PAYLOADS_ERASED"] == 4
    erase(made, run)
    assert bodies(made, again) == [None, None, *WHOLE[2:4], None, None]
    assert codes(made) == [[], []]


def test_erasing_what_was_borrowed_leaves_the_body_where_it_is_kept(made: Tape) -> None:
    run = made.run(CALLS)
    again = replay(made, run)
    erase(made, again, 1, 2)
    assert bodies(made, again) == [None, None, *WHOLE[2:]]
    assert bodies(made, run) == WHOLE
    erase(made, again)
    assert loans(made, again) == []
    assert codes(made) == [[], []]


def test_nothing_is_erased_or_leaves_that_a_held_run_has_borrowed(made: Tape) -> None:
    run = made.run(CALLS)
    again = replay(made, run)
    made.writer.hold(HoldSet(run=again, by="operator", reason="a dispute")).result(30)
    with pytest.raises(ErasureRefused, match=f"run {again} is held"):
        erase(made, run, 1)
    with pytest.raises(ErasureRefused, match=f"run {again} is held"):
        retention.prune(made.writer, Pruning(run, "operator", "its time is over")).result(30)
    erase(made, run, 3)
    assert bodies(made, again) == WHOLE


def test_a_run_that_leaves_takes_along_what_others_have_of_it(made: Tape) -> None:
    run = made.run(CALLS)
    again = replay(made, run)
    retention.prune(made.writer, Pruning(run, "operator", "its time is over")).result(30)
    made.writer.checkpoint().result(30)
    assert bodies(made, again) == [None, None, *WHOLE[2:4], None, None]
    assert codes(made) == [[], []]


@pytest.fixture(scope="module")
def lent(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A store with a run and a replay of it, and their ids; it is only read."""
    base = tmp_path_factory.mktemp("lent")
    with tape(base) as made:
        run = made.run(CALLS)
        again = replay(made, run)
    return base, run, again


@pytest.mark.parametrize(
    "statement, code",
    [
        ("DELETE FROM loans WHERE seq = 2", "V603"),
        ("UPDATE loans SET lender_seq = 5 WHERE seq = 2", "V604"),
        ("UPDATE loans SET lender_seq = 4 WHERE seq = 2", "V604"),
        ("UPDATE loans SET lender_seq = 99 WHERE seq = 2", "V603"),
        ("UPDATE loans SET lender_pointer = '/query' WHERE seq = 2", "V603"),
        ("UPDATE loans SET lender = run WHERE seq = 2", "V603"),
        ("UPDATE loans SET lender = 'x' WHERE seq = 2", "V603"),
        ("UPDATE loans SET pointer = '/chunks' WHERE seq = 2", "V606"),
        ("UPDATE loans SET seq = 3 WHERE seq = 2", "V603"),
        ("INSERT INTO loans SELECT run, 4, pointer, lender, 4, lender_pointer FROM loans WHERE seq = 2", "V204"),
        ("INSERT INTO loans SELECT 'x', seq, pointer, lender, seq, lender_pointer FROM loans WHERE seq = 2", "V606"),
        ("DELETE FROM keys WHERE run = (SELECT lender FROM loans)", "V604"),
        ("DELETE FROM blocks WHERE run = (SELECT lender FROM loans)", "V604"),
    ],
)
def test_a_loan_that_was_changed_is_found_by_both_verifiers(
    lent: tuple[Path, str, str], tmp_path: Path, statement: str, code: str
) -> None:
    base = tmp_path / "copy"
    copytree(lent[0], base)
    attacker = Attacker(base / "store")
    attacker.db.execute(statement)
    attacker.close()
    places = base / "store", base / "keys"
    ours = sorted((each.code, each.run or "", each.seq or 0) for each in verify(*places).findings)
    theirs = sorted((each.code, each.run or "", each.seq or 0) for each in second(*places).findings)
    assert ours == theirs
    assert code in {found for found, *_ in ours}


def test_without_the_store_key_borrowed_bodies_are_locked(lent: tuple[Path, str, str], tmp_path: Path) -> None:
    ours = verify(lent[0] / "store", tmp_path)
    assert dict(ours.flags)["PAYLOADS_LOCKED"] == 2 * len(WHOLE)
    assert not ours.findings


def test_a_store_from_before_there_were_loans_is_read_as_it_is(lent: tuple[Path, str, str], tmp_path: Path) -> None:
    base = tmp_path / "copy"
    copytree(lent[0], base)
    attacker = Attacker(base / "store")
    attacker.db.execute("DROP TABLE loans")
    attacker.close()
    with Reader.open(base / "store", base / "keys") as reader:
        event = reader.event(lent[1], 1)
        assert reader.body(event, getattr(event.facts, "body", None)) == WHOLE[0]
    found = verify(base / "store", base / "keys", lent[1])
    assert (found.exit_code, second(base / "store", base / "keys", lent[1]).findings) == (0, [])

"""Erased bodies: on record, gone from every file of the store, and everything else is as it was."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from store import erasure, openings
from store.core.leaf import HoldReleased, HoldSet
from store.core.redact import stored
from store.database import FILE_NAME
from store.erasure import Erasure, ErasureRefused
from store.reader import BodyUnavailable, Reader
from store.verify import verify
from store.writer import Writer
from tests.store.erasing import CANARIES, bodies, calls, codes, erase, found, record
from tests.store.verify.attacker import Attacker
from tests.store.writing import HEAD
from tests.support.tape import Call, Tape, tape


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Tape]:
    with tape(tmp_path) as opened:
        yield opened


def test_an_erased_step_is_nowhere_in_the_store_and_the_rest_is_as_it_was(made: Tape) -> None:
    run = record(made)
    assert found(made) == set(CANARIES)
    before = bodies(made, run)
    erase(made, run, 3, 4)
    assert bodies(made, run) == [*before[:2], None, None, *before[4:]]
    assert found(made) == {"argv", "note"}
    verdict = verify(made.folder, made.keys)
    assert (verdict.exit_code, dict(verdict.flags)["PAYLOADS_ERASED"]) == (0, 4)
    assert codes(made) == [[], []]


def test_an_erased_run_keeps_its_envelopes_alone(made: Tape) -> None:
    run, other = record(made), record(made, "other")
    kept = bodies(made, other)
    erase(made, run)
    assert set(bodies(made, run)) == {None}
    assert bodies(made, other) == kept
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        for table in ("openings", "payloads", "blocks", "keys"):
            assert connection.execute(f"SELECT COUNT(*) FROM {table} WHERE run = ?", (run,)).fetchone() == (0,)
    erase(made, other)
    assert found(made) == set()
    assert verify(made.folder, made.keys).exit_code == 0
    assert codes(made) == [[], []]


def test_a_reader_is_told_when_and_why(made: Tape) -> None:
    run = record(made)
    erase(made, run, 3)
    with Reader.open(made.folder, made.keys) as reader:
        event = reader.event(run, 3)
        with pytest.raises(BodyUnavailable, match=r"event 3 were erased at 20.*a person asked for it"):
            reader.body(event, getattr(event.facts, "body", None))


@pytest.mark.parametrize("whole", [False, True], ids=["a step", "all that is there"])
def test_an_open_run_is_erased_and_goes_on(whole: bool, made: Tape) -> None:
    run = record(made, close=False)
    before = bodies(made, run)
    erase(made, run, *(() if whole else (3, 4)))
    assert bodies(made, run) == ([None] * 6 if whole else [*before[:2], None, None, *before[4:]])
    assert found(made) == (set() if whole else {"argv", "note"})
    assert codes(made) == [[], []]
    later = calls()[0]
    made.answer(run, later, made.request(run, later)).result(30)
    made.writer.close_run(run, "agent_exit").result(30)
    assert bodies(made, run)[6:] == [later.body, later.answer]
    assert codes(made) == [[], []]
    erase(made, run)
    assert set(bodies(made, run)) == {None}
    assert codes(made) == [[], []]


def test_a_recorder_goes_on_with_a_run_that_another_process_erased_a_step_of(made: Tape) -> None:
    run = record(made, close=False)
    asked = made.request(run, calls()[0])
    made.writer.piece(run, asked, "head", stored(HEAD)).result(30)
    made.writer.piece(run, asked, "answer", stored(b"what came ")).result(30)
    other = Writer.open(made.folder, made.keys)
    other.erase(Erasure(run, (3, 4), "operator", "a person asked for it")).result(60)
    other.close()
    assert found(made) == {"argv", "note"}
    made.writer.piece(run, asked, "answer", stored(b"before and after")).result(30)
    made.writer.close_run(run, "agent_exit").result(30)
    assert bodies(made, run)[6:] == [calls()[0].body, b"what came before and after"]
    assert codes(made) == [[], []]


def test_what_is_done_in_one_breath_with_an_erasure_is_there_or_gone(made: Tape) -> None:
    run = record(made, close=False)
    tickets = [made.note(run, b"note %d" % number) for number in range(20)]
    erased = made.writer.erase(Erasure(run, (3,), "operator", "a person asked for it"))
    tickets += [made.note(run, b"note %d" % number) for number in range(20, 40)]
    erased.result(60)
    for ticket in tickets:
        ticket.result(60)
    assert bodies(made, run)[2] is None
    assert codes(made) == [[], []]


def test_a_held_run_is_not_erased_until_it_is_released(made: Tape) -> None:
    run, other = record(made), record(made)
    made.writer.hold(HoldSet(run=run, by="operator", reason="a dispute")).result(30)
    with pytest.raises(ErasureRefused, match="a dispute"):
        erase(made, run)
    erase(made, other)
    assert None not in bodies(made, run)
    made.writer.hold(HoldReleased(run=run, by="operator", reason="it is settled")).result(30)
    erase(made, run)
    assert set(bodies(made, run)) == {None}
    assert codes(made) == [[], []]


@pytest.mark.parametrize("reason", ["", "  ", "x" * 2000])
def test_an_erasure_says_why_in_a_few_words(reason: str) -> None:
    with pytest.raises(ErasureRefused, match="reason"):
        Erasure("run", None, "operator", reason)


def test_nothing_is_erased_where_a_body_that_stays_would_be_lost(made: Tape) -> None:
    run = record(made)
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        connection.execute("DROP TRIGGER blocks_no_update")
        connection.execute("UPDATE blocks SET stored = x'00' WHERE run = ?", (run,))
        connection.commit()
    with pytest.raises(ErasureRefused, match="would be lost"):
        erase(made, run, 3)
    assert "PAYLOADS_ERASED" not in dict(verify(made.folder, made.keys).flags)
    erase(made, run)  # all of it: nothing stays
    assert codes(made) == [[], []]


def test_old_bytes_are_spoken_of_while_somebody_reads(made: Tape) -> None:
    run, other = record(made), made.run([Call()], close=False)
    made.note(other, b"still open").result(30)
    with Reader.open(made.folder, made.keys) as reader:
        walking = reader.events(other)
        next(walking)
        with pytest.raises(ErasureRefused, match="in use"):
            erase(made, run)
        list(walking)
    assert set(bodies(made, run)) == {None}
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        erasure.tidy(connection)
    assert found(made) == set()


@pytest.mark.parametrize("kept", ["openings", "payloads", "both"])
def test_t27_what_is_erased_on_record_and_still_there_is_found(kept: str, made: Tape) -> None:
    run = record(made)
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        opening = openings.of_event(connection, run, 3)[0]
    erase(made, run, 3)
    attacker = Attacker(made.folder)
    if kept != "payloads":
        key = (run, 3, opening.pointer)
        attacker.db.execute(
            "INSERT INTO openings VALUES (?, ?, ?, ?, ?, ?)", (*key, opening.salt, opening.sha256, opening.length)
        )
    if kept != "openings":
        attacker.db.execute("INSERT INTO payloads VALUES (?, 3, ?, 0)", (run, opening.pointer))
    attacker.db.close()
    assert codes(made) == [[("V606", 3)], [("V606", 3)]]


def test_t26_an_erasure_of_another_event_excuses_nothing(made: Tape) -> None:
    run = record(made)
    erase(made, run, 3)
    attacker = Attacker(made.folder)
    for each in ("openings", "payloads"):
        attacker.db.execute(f"DELETE FROM {each} WHERE run = ? AND seq = 4", (run,))
    attacker.db.close()
    assert codes(made) == [[("V601", 4)], [("V601", 4)]]

"""Runs that leave the store: on record, whole, and without a trace; what is held or open stays."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from store import retention, schema
from store.bundle.intake import take_in
from store.core.draft import Sheet
from store.core.leaf import HoldReleased, HoldSet
from store.core.model import Note
from store.core.redact import stored
from store.core.retention import Subject
from store.database import FILE_NAME
from store.erasure import Erasure
from store.reader import Reader
from store.retention import Pruning, PruningRefused
from store.verify import verify
from tests.store.bundle.parcel import export
from tests.store.verify.attacker import Attacker
from tests.support.tape import Call, Tape, tape
from tests.support.verifier import verify as second

CANARY = b"CANARY-PRUNED-8812"
FOR_EVER = "9999-12-31T00:00:00.000000Z"


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Tape]:
    with tape(tmp_path) as opened:
        yield opened


def record(made: Tape, name: str = "", *, close: bool = True) -> str:
    return made.run([Call(body=CANARY + b"asked"), Call(path=b"/" + CANARY, answer=CANARY)], name, close=close)


def prune(made: Tape, run: str) -> None:
    retention.prune(made.writer, Pruning(run, "operator", "its time is over")).result(30)
    retention.tidy(made.writer).result(30)
    made.writer.checkpoint().result(30)


def codes(made: Tape, run: str | None = None) -> list[list[str]]:
    """What both verifiers find."""
    found = verify(made.folder, made.keys, run).findings, second(made.folder, made.keys, run).findings
    return [[each.code for each in findings] for findings in found]


def tables(made: Tape) -> dict[str, list[str]]:
    """The columns of every table of a store."""
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        named = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: [row[1] for row in connection.execute(f"PRAGMA table_info({name})")] for name in named}


def test_a_pruned_run_is_gone_on_record_and_the_store_verifies_with_a_count(made: Tape) -> None:
    run, other = record(made, "old"), made.run([Call(body=b"stays")], "new")
    prune(made, run)
    verdict = verify(made.folder, made.keys)
    assert (verdict.word, dict(verdict.flags)["RUNS_PRUNED"]) == ("VERIFIED", 1)
    assert codes(made) == [[], []]
    assert second(made.folder, made.keys).counts["RUNS_PRUNED"] == 1
    with Reader.open(made.folder, made.keys) as reader:
        assert [each.id for each in reader.runs()] == [other]
    everything = [path.read_bytes() for path in made.folder.rglob("*") if path.is_file()]
    assert not [raw for raw in everything if CANARY in raw]
    assert codes(made, run) == [["V001"], ["V001"]]
    assert codes(made, other) == [[], []]


def test_every_table_that_has_rows_of_a_run_is_emptied_of_it(made: Tape) -> None:
    assert {name for name, columns in tables(made).items() if "run" in columns} == set(schema.OF_RUNS)


def test_a_store_of_which_every_run_was_pruned_verifies(made: Tape) -> None:
    prune(made, record(made))
    assert codes(made) == [[], []]
    assert verify(made.folder, made.keys).exit_code == second(made.folder, made.keys).exit_status == 0


def test_t12_a_run_that_was_cut_out_without_a_record_is_found(made: Tape) -> None:
    run, other = record(made), record(made)
    prune(made, other)
    attacker = Attacker(made.folder)
    attacker.drop(run, 0, 99)
    attacker.db.execute("DELETE FROM blocks WHERE run = ?", (run,))
    attacker.db.execute("DELETE FROM runs WHERE id = ?", (run,))
    attacker.db.close()
    assert codes(made) == [["V210"], ["V210"]]


@pytest.mark.parametrize("table", ["opening_blocks", "blocks"])
def test_what_is_left_of_a_pruned_run_is_found(table: str, made: Tape) -> None:
    run = record(made)
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        row = connection.execute(f"SELECT * FROM {table} WHERE run = ? LIMIT 1", (run,)).fetchone()
        prune(made, run)
        connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        connection.commit()
    ours, theirs = codes(made)
    assert ours == theirs
    assert set(ours) in ({"V606"}, {"V605"})


def test_an_open_run_and_one_that_is_held_stay(made: Tape) -> None:
    run, held = record(made, close=False), record(made)
    made.writer.hold(HoldSet(run=held, by="operator", reason="a dispute")).result(30)
    for each, why in ((run, "open"), (held, "held: a dispute"), ("0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", "not there")):
        with pytest.raises(PruningRefused, match=why):
            prune(made, each)
    assert codes(made) == [[], []]
    made.writer.hold(HoldReleased(run=held, by="operator", reason="it is settled")).result(30)
    prune(made, held)
    assert dict(verify(made.folder, made.keys).flags)["RUNS_PRUNED"] == 1


@pytest.mark.parametrize("reason", ["", "  ", "x" * 2000])
def test_a_run_leaves_with_a_reason_in_a_few_words(reason: str) -> None:
    with pytest.raises(PruningRefused, match="reason"):
        Pruning("run", "operator", reason)


def test_t40_no_event_is_deleted_but_behind_the_leaf_of_its_run(made: Tape) -> None:
    run, other = record(made), record(made)
    with closing(sqlite3.connect(made.folder / FILE_NAME, isolation_level=None)) as connection:
        with pytest.raises(sqlite3.IntegrityError, match="never changed"):
            connection.execute("DELETE FROM event_blocks WHERE run = ?", (run,))
        connection.execute("BEGIN IMMEDIATE")
        said = f'"type":"retention.pruned","run":"{other}"'
        retention.remove(connection, Pruning(run, "operator", said), made.writer.vault, FOR_EVER)
        with pytest.raises(sqlite3.IntegrityError, match="never changed"):
            connection.execute("DELETE FROM event_blocks WHERE run = ?", (other,))
        connection.execute("ROLLBACK")
    assert codes(made) == [[], []]


def bundle(made: Tape, run: str, path: Path) -> Path:
    made.writer.checkpoint().result(30)
    path.write_bytes(export(made.folder, run))
    return path


def test_a_bundle_that_was_made_before_verifies_and_comes_in_elsewhere_again_and_again(
    made: Tape, tmp_path: Path
) -> None:
    run = record(made, "old")
    packed = bundle(made, run, tmp_path / "old.zip")
    prune(made, run)
    with tape(tmp_path / "other") as elsewhere:
        for _ in range(2):
            verdict, runs = take_in(packed, elsewhere.writer)
            assert (verdict.exit_code, runs) == (0, [run])
            elsewhere.writer.erase(Erasure(run, None, "operator", "asked for")).result(30)
            assert codes(elsewhere) == [[], []]
            prune(elsewhere, run)
        take_in(packed, elsewhere.writer)
        assert codes(elsewhere) == codes(elsewhere, run) == [[], []]


def test_receipts_are_told_from_other_bodies(made: Tape) -> None:
    run = made.open("paid")
    asked = made.request(run, Call(body=b"pay"))
    made.answer(run, Call(answer=b"paid"), asked)
    sheet = Sheet()
    made.writer.append(run, sheet.draft(Note(kind="effect", body=sheet.apart(stored(b"done")))))
    made.note(run, b"a state")
    made.writer.close_run(run, "normal").result(30)
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        (found,) = retention.subjects(connection, FOR_EVER)
        assert (found.receipts, found.others) == ((3,), (1, 2, 4))
        (early,) = retention.subjects(connection, "2000-01-01T00:00:00.000000Z")
        assert early == Subject(run, "record", found.closed)


def test_a_run_that_cannot_be_read_is_damaged_and_hides_no_other(made: Tape) -> None:
    run, _ = record(made), record(made)
    attacker = Attacker(made.folder)
    attacker.put(run, 1, b"junk")
    attacker.db.close()
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        assert [each.damaged for each in retention.subjects(connection, FOR_EVER)] == [False, True]


def test_a_copy_made_before_keeps_what_it_had(made: Tape, tmp_path: Path) -> None:
    """The documented limit: what was copied is out of reach."""
    run = record(made)
    made.writer.checkpoint().result(30)
    shutil.copytree(made.folder, tmp_path / "backup")
    prune(made, run)
    with suppress(OSError):
        assert verify(tmp_path / "backup", tmp_path / "keys", run).exit_code == 0

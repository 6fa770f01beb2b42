"""The guards: what is recorded cannot be changed or taken out by any statement that leaves the triggers in place."""

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from store.database import FILE_NAME
from store.verify import verify
from tests.support.tape import Call, tape

APPEND_ONLY = {
    "events": "run, seq, hash, event",
    "event_blocks": "run, first, hashes, digits, text",
    "leaves": "position, leaf",
    "nodes": "level, position, hash",
    "checkpoints": "size, note",
}
ERASABLE = {
    "openings": "run, seq, pointer, salt, sha256, length",
    "payloads": "run, seq, pointer, place",
    "opening_blocks": "run, first, digests, rows",
    "blocks": "run, number, start, length, frame, stored",
    "keys": "run, kind, wrapped",
}
GUARDED = APPEND_ONLY | ERASABLE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A closed run, whose rows are in blocks, and an open one, whose rows are rows."""
    with tape(tmp_path) as made:
        made.run([Call(body=b"x")])
        made.run([Call(body=b"x")], close=False)
        made.writer.checkpoint().result(30)
        shutil.copytree(made.folder, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def store(folder: Path) -> Iterator[sqlite3.Connection]:
    """A connection as any program with the file may have it."""
    connection = sqlite3.connect(folder / FILE_NAME, isolation_level=None)
    yield connection
    connection.close()
    assert verify(folder, folder.parent / "keys").exit_code == 0


def refused(store: sqlite3.Connection, statement: str) -> None:
    before = list(store.iterdump())
    with pytest.raises(sqlite3.IntegrityError, match="never changed"):
        store.execute(statement)
    assert list(store.iterdump()) == before


@pytest.mark.parametrize("table", GUARDED)
def test_t40_a_row_is_never_changed(store: sqlite3.Connection, table: str) -> None:
    for column in GUARDED[table].split(", "):
        refused(store, f"UPDATE {table} SET {column} = {column}")
        refused(store, f"UPDATE OR REPLACE {table} SET {column} = {column}")


@pytest.mark.parametrize("table", GUARDED)
@pytest.mark.parametrize("verb", ["INSERT", "INSERT OR REPLACE", "REPLACE", "INSERT OR FAIL"])
def test_t40_a_row_is_never_replaced(store: sqlite3.Connection, table: str, verb: str) -> None:
    columns = GUARDED[table]
    refused(store, f"{verb} INTO {table} ({columns}) SELECT {columns} FROM {table} LIMIT 1")
    key = {"leaves": "position", "checkpoints": "size"}.get(table)
    other = columns.replace("run", "'other'", 1).replace("level", "level + 40", 1)
    if key is None:
        # By its rowid, under another key: REPLACE would delete the row that has this rowid.
        refused(store, f"{verb} INTO {table} (rowid, {columns}) SELECT rowid, {other} FROM {table} LIMIT 1")


@pytest.mark.parametrize("table", GUARDED)
def test_t40_a_conflict_clause_does_not_help(store: sqlite3.Connection, table: str) -> None:
    columns = GUARDED[table]
    first = columns.partition(",")[0]
    refused(
        store,
        f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {table} WHERE true"
        f" ON CONFLICT DO UPDATE SET {first} = {first}",
    )


@pytest.mark.parametrize("table", APPEND_ONLY)
def test_a_row_is_never_deleted(store: sqlite3.Connection, table: str) -> None:
    refused(store, f"DELETE FROM {table}")
    refused(store, f"DELETE FROM {table} WHERE rowid = (SELECT MAX(rowid) FROM {table})")


@pytest.mark.parametrize("table", ERASABLE)
def test_a_body_can_be_erased(store: sqlite3.Connection, table: str) -> None:
    store.execute("BEGIN")
    assert store.execute(f"DELETE FROM {table}").rowcount > 0
    store.execute("ROLLBACK")


@pytest.mark.parametrize("table", GUARDED)
def test_values_have_their_types(store: sqlite3.Connection, table: str) -> None:
    columns = GUARDED[table].split(", ")
    values = ", ".join("'text'" for _ in columns)
    with pytest.raises(sqlite3.IntegrityError):
        store.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})")
    with pytest.raises(sqlite3.IntegrityError):
        store.execute(f"INSERT INTO {table} DEFAULT VALUES")


def test_t40_no_event_is_written_where_a_block_has_one(store: sqlite3.Connection) -> None:
    for seq in (0, 2):
        refused(store, f"INSERT INTO events SELECT run, {seq}, substr(hashes, 1, 32), x'7b7d' FROM event_blocks")


def test_an_event_goes_only_where_a_block_keeps_its_hash_in_its_place(store: sqlite3.Connection) -> None:
    (run, kept) = store.execute("SELECT run, group_concat(hex(hash), '') FROM events ORDER BY seq").fetchone()
    table = bytes.fromhex(kept)
    for hashes in (bytes(len(table)), table[32:], table[:32]):
        store.execute("BEGIN")
        store.execute("INSERT INTO event_blocks VALUES (?, 0, ?, x'', x'')", (run, hashes))
        with pytest.raises(sqlite3.IntegrityError, match="never changed"):
            store.execute("DELETE FROM events")
        store.execute("ROLLBACK")
    store.execute("BEGIN")
    store.execute("INSERT INTO event_blocks VALUES (?, 0, ?, x'', x'')", (run, table))
    assert store.execute("DELETE FROM events").rowcount == len(table) // 32
    store.execute("ROLLBACK")


def test_the_guards_do_not_scan_the_table(store: sqlite3.Connection) -> None:
    plan = store.execute(
        "EXPLAIN QUERY PLAN SELECT 1 FROM events WHERE (run = 'r' AND seq = 1) OR rowid = 1"
    ).fetchall()
    plan += store.execute(
        "EXPLAIN QUERY PLAN SELECT 1 FROM event_blocks b WHERE b.run = 'r' AND b.first <= 1"
        " AND 1 < b.first + length(b.hashes) / 32"
    ).fetchall()
    assert not any("SCAN" in str(step[3]) for step in plan)

"""Every byte of the blocks of a closed run: none can be changed, and no block taken out, unseen."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from store.database import FILE_NAME
from store.verify import verify_records
from store.verify.records import SqliteRecords
from store.verify.verdict import Verdict
from tests.support.sample import Sample
from tests.support.tape import Call, tape

COLUMNS = {"event_blocks": ("hashes", "digits", "text"), "opening_blocks": ("digests", "rows")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small sealed store with a closed run."""
    base = tmp_path_factory.mktemp("blocks")
    with tape(base) as made:
        made.run([Call(b"/\xff", body=b'{"q":1}', answer=b"answer", query=b"n=1")], "small")
    return base / "store"


@pytest.fixture
def store(folder: Path, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A copy of it without guards."""
    shutil.copytree(folder, tmp_path / "copy")
    shutil.copytree(folder.parent / "keys", tmp_path / "keys")
    with closing(sqlite3.connect(tmp_path / "copy" / FILE_NAME, isolation_level=None)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        assert verdict(connection).exit_code == 0
        yield connection


def verdict(connection: sqlite3.Connection) -> Verdict:
    ((_, _, file),) = connection.execute("PRAGMA database_list").fetchall()
    return verify_records(SqliteRecords(connection, Path(file).parents[1] / "keys"))


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("table, column", [(table, each) for table, names in COLUMNS.items() for each in names])
def test_no_byte_of_a_block_can_be_changed(table: str, column: str, store: sqlite3.Connection, sample: Sample) -> None:
    source = sample.source(f"{table} {column}")
    ((rowid, value),) = store.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
    assert len(value) >= 32
    for _ in range(sample.count(1, 20)):
        for at in range(len(value)):
            changed = value[:at] + bytes([value[at] ^ source.randrange(1, 256)]) + value[at + 1 :]
            store.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (changed, rowid))
            assert verdict(store).exit_code == 20, at


@pytest.mark.parametrize("table", COLUMNS)
def test_a_block_stands_where_it_was_put(table: str, store: sqlite3.Connection) -> None:
    for bit in range(62):
        store.execute("SAVEPOINT before")
        store.execute(f"UPDATE {table} SET first = first + ?", (1 << bit,))
        assert verdict(store).exit_code == 20, bit
        store.execute("ROLLBACK TO before")
    store.execute(f"UPDATE {table} SET run = 'another'")
    assert verdict(store).exit_code == 20


@pytest.mark.parametrize("table", COLUMNS)
def test_no_block_can_be_taken_out_or_put_in(table: str, store: sqlite3.Connection) -> None:
    names = ", ".join(COLUMNS[table])
    nothing = ", ".join("x''" for _ in COLUMNS[table])
    for change in (
        f"DELETE FROM {table}",
        f"INSERT INTO {table} (run, first, {names}) SELECT run, first + 1, {names} FROM {table}",
        f"INSERT INTO {table} (run, first, {names}) SELECT run, first + 1, {nothing} FROM {table}",
        f"INSERT INTO {table} (run, first, {names}) SELECT run, first + 100, {nothing} FROM {table}",
    ):
        store.execute("SAVEPOINT before")
        store.execute(change)
        assert verdict(store).exit_code == 20, change
        store.execute("ROLLBACK TO before")


@pytest.mark.parametrize(
    "table, column, seqs", [("event_blocks", "hashes", [0, 1, 2, 3]), ("opening_blocks", "digests", [1, 1, 2])]
)
def test_a_changed_hash_or_digest_names_its_event(
    table: str, column: str, seqs: list[int], store: sqlite3.Connection
) -> None:
    ((value,),) = store.execute(f"SELECT {column} FROM {table}").fetchall()
    for at, seq in enumerate(seqs):
        changed = bytearray(value)
        changed[at * 32 + 7] ^= 1
        store.execute(f"UPDATE {table} SET {column} = ?", (bytes(changed),))
        assert {each.seq for each in verdict(store).findings} == {seq}

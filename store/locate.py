"""Where a stored record lies in the SQLite file: for tests of tampering, and for people who look for themselves.

The bytes of a value are looked for in the file, and each place where they stand is tried on a copy in memory: the one
whose change changes the value is the one. Nothing needs to be known of SQLite's pages.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from store import database
from store.core.digest import HASH_BYTES
from store.core.errors import StoreUnusable, UnknownRun
from store.database.connection import Connection
from store.openings import of_run
from store.sealed import envelopes, openings
from store.sealed.envelopes import EventBlock
from store.sealed.openings import OpeningBlock

_ROWS = (("events", "event", "''"), ("openings", "salt", "pointer"), ("openings", "sha256", "pointer"))
_WAL_HEADER_BYTES = 32
_WAL_FRAME_HEADER_BYTES = 24
_JOURNAL_MODE_AT = slice(18, 20)


@dataclass(frozen=True, slots=True)
class Place:
    """One stored value, or a part of one that is about nothing else: its table, column, rowid and length.

    `offset` is where it begins in the file; None when it does not lie there in one piece, or the write-ahead log holds
    a newer copy of its page.
    """

    table: str
    column: str
    rowid: int
    pointer: str
    bytes: int
    offset: int | None


def locate(folder: Path, run: str, seq: int) -> list[Place]:
    """Every stored record of one event: the event, its openings, the blocks that hold its bodies. Where the run is
    closed, these are its hash, its digits and its digests in the blocks of the run.

    Raises UnknownRun when there is none.
    """
    if database.is_served(folder):
        raise StoreUnusable(
            f"the store {database.shown(folder)} has no file to point into", hint="this is for stores in SQLite"
        )
    path = folder / database.FILE_NAME
    connection = database.open_for_reading(folder)
    try:
        with database.explained(folder):
            image = path.read_bytes()
            newer = _pages_in_wal(path.with_name(path.name + "-wal"))
            found = [_place(image, newer, value) for value in _values(connection, run, seq)]
    finally:
        connection.close()
    if not found:
        raise UnknownRun(
            f"run {run} has no event {seq}", hint="`edgetape show RUN` lists its steps; events count from 0"
        )
    return found


@dataclass(frozen=True, slots=True)
class _Value:
    """The bytes of a column from `start` on."""

    table: str
    column: str
    rowid: int
    pointer: str
    content: bytes
    start: int = 0

    @property
    def query(self) -> str:
        """What asks a database for them."""
        return f"SELECT substr({self.column}, {self.start + 1}, {len(self.content)}) FROM {self.table} WHERE rowid = ?"


def _values(connection: Connection, run: str, seq: int) -> Iterator[_Value]:
    for table, column, pointer in (
        ("events", "event", "''"),
        ("openings", "salt", "pointer"),
        ("openings", "sha256", "pointer"),
    ):
        query = f"SELECT rowid, {pointer}, {column} FROM {table} WHERE run = ? AND seq = ? ORDER BY 2"
        for rowid, name, value in connection.execute(query, (run, seq)).fetchall():
            yield _Value(table, column, rowid, name, bytes(value))
    yield from _in_event_block(connection, run, seq)
    yield from _in_opening_block(connection, run, seq)
    yield from _in_blocks(connection, run, seq)


def _in_event_block(connection: Connection, run: str, seq: int) -> Iterator[_Value]:
    query = (
        "SELECT rowid, run, first, hashes, digits, text FROM event_blocks WHERE run = ? AND first <= ?"
        " ORDER BY first DESC LIMIT 1"
    )
    for rowid, *columns in connection.execute(query, (run, seq)).fetchall():
        block = EventBlock(*columns)
        if seq < block.first + block.count:
            at = (seq - block.first) * HASH_BYTES
            yield _Value("event_blocks", "hashes", rowid, "", block.hashes[at : at + HASH_BYTES], at)
            begin, end = envelopes.digits_of(block, seq)
            if end > begin:
                yield _Value("event_blocks", "digits", rowid, "", block.digits[begin:end], begin)


def _in_opening_block(connection: Connection, run: str, seq: int) -> Iterator[_Value]:
    query = (
        "SELECT rowid, run, first, digests, rows FROM opening_blocks WHERE run = ? AND first <= ?"
        " ORDER BY first DESC LIMIT 1"
    )
    for rowid, *columns in connection.execute(query, (run, seq)).fetchall():
        for at, row in enumerate(openings.restored(OpeningBlock(*columns))):
            if row.seq == seq:
                yield _Value("opening_blocks", "digests", rowid, row.pointer, row.sha256, at * HASH_BYTES)


def _in_blocks(connection: Connection, run: str, seq: int) -> Iterator[_Value]:
    """The blocks that hold bytes of a piece: from its place on to the next one's."""
    placed = {(at, row.pointer): row.place for at, row in of_run(connection, run) if row.place is not None}
    for (at, pointer), place in sorted(placed.items()):
        if at == seq:
            end = min((other for other in placed.values() if other > place), default=place + 1)
            query = (
                "SELECT rowid, stored FROM blocks WHERE run = ? AND start + length > ? AND start < ? ORDER BY number"
            )
            for rowid, stored in connection.execute(query, (run, place, end)).fetchall():
                yield _Value("blocks", "stored", rowid, pointer, bytes(stored))


def _place(image: bytes, newer: frozenset[int], value: _Value) -> Place:
    page_bytes = int.from_bytes(image[16:18], "big")
    page_bytes = 65_536 if page_bytes == 1 else page_bytes  # as the file format spells what two bytes cannot
    fitting = (
        offset
        for offset in _occurrences(image, value.content)
        if offset // page_bytes + 1 not in newer and _changed(image, offset, value) != value.content
    )
    return Place(value.table, value.column, value.rowid, value.pointer, len(value.content), next(fitting, None))


def _changed(image: bytes, offset: int, value: _Value) -> bytes | None:
    """The value when the byte at `offset` is another one."""
    changed = bytearray(image)
    changed[offset] ^= 0xFF
    changed[_JOURNAL_MODE_AT] = b"\x01\x01"  # a copy in memory has no write-ahead log
    with contextlib.closing(sqlite3.connect(":memory:")) as copy:
        copy.deserialize(bytes(changed))
        with contextlib.suppress(sqlite3.DatabaseError):
            row = copy.execute(value.query, (value.rowid,)).fetchone()
            return None if row is None else bytes(row[0])
    return None


def _occurrences(image: bytes, value: bytes) -> Iterator[int]:
    offset = image.find(value) if value else -1
    while offset >= 0:
        yield offset
        offset = image.find(value, offset + 1)


def _pages_in_wal(path: Path) -> frozenset[int]:
    """The numbers of the pages of which the write-ahead log has a copy (SQLite file format, section 4.1)."""
    log = path.read_bytes() if path.is_file() else b""
    page_bytes = int.from_bytes(log[8:12], "big")
    frames = range(_WAL_HEADER_BYTES, len(log), _WAL_FRAME_HEADER_BYTES + page_bytes)
    return frozenset(int.from_bytes(log[at : at + 4], "big") for at in frames)

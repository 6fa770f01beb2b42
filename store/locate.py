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
from store.core.errors import UnknownRun

_COLUMNS = (
    ("events", "event", "''"),
    ("openings", "salt", "pointer"),
    ("openings", "sha256", "pointer"),
)
# The blocks that hold bytes of a piece: from its place on to the next one's.
_BLOCKS = (
    "SELECT b.rowid, p.pointer, b.stored FROM payloads p JOIN blocks b ON b.run = p.run"
    " AND b.start + b.length > p.place AND b.start < COALESCE("
    "(SELECT MIN(place) FROM payloads WHERE run = p.run AND place > p.place), b.start + 1)"
    " WHERE p.run = ? AND p.seq = ? ORDER BY p.pointer, b.number"
)
_WAL_HEADER_BYTES = 32
_WAL_FRAME_HEADER_BYTES = 24
_JOURNAL_MODE_AT = slice(18, 20)


@dataclass(frozen=True, slots=True)
class Place:
    """One stored value: its table, column, rowid and length.

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
    """Every stored record of one event: the event, its openings, the blocks that hold its bodies.

    Raises UnknownRun when there is none.
    """
    path = folder / database.FILE_NAME
    connection = database.open_for_reading(folder)
    try:
        with database.explained(folder):
            image = path.read_bytes()
            newer = _pages_in_wal(path.with_name(path.name + "-wal"))
            found = [_place(image, newer, *value) for value in _values(connection, run, seq)]
    finally:
        connection.close()
    if not found:
        raise UnknownRun(
            f"run {run} has no event {seq}", hint="`edgetape show RUN` lists its steps; events count from 0"
        )
    return found


def _values(connection: sqlite3.Connection, run: str, seq: int) -> Iterator[tuple[str, str, int, str, bytes]]:
    for table, column, pointer in _COLUMNS:
        query = f"SELECT rowid, {pointer}, {column} FROM {table} WHERE run = ? AND seq = ? ORDER BY 2"
        for rowid, name, value in connection.execute(query, (run, seq)).fetchall():
            yield table, column, rowid, name, bytes(value)
    for rowid, name, value in connection.execute(_BLOCKS, (run, seq)).fetchall():
        yield "blocks", "stored", rowid, name, bytes(value)


def _place(
    image: bytes, newer: frozenset[int], table: str, column: str, rowid: int, pointer: str, value: bytes
) -> Place:
    page_bytes = int.from_bytes(image[16:18], "big")
    page_bytes = 65_536 if page_bytes == 1 else page_bytes  # as the file format spells what two bytes cannot
    query = f"SELECT {column} FROM {table} WHERE rowid = ?"
    fitting = (
        offset
        for offset in _occurrences(image, value)
        if offset // page_bytes + 1 not in newer and _changed(image, offset, query, rowid) != value
    )
    return Place(table, column, rowid, pointer, len(value), next(fitting, None))


def _changed(image: bytes, offset: int, query: str, rowid: int) -> bytes | None:
    """The value when the byte at `offset` is another one."""
    changed = bytearray(image)
    changed[offset] ^= 0xFF
    changed[_JOURNAL_MODE_AT] = b"\x01\x01"  # a copy in memory has no write-ahead log
    with contextlib.closing(sqlite3.connect(":memory:")) as copy:
        copy.deserialize(bytes(changed))
        with contextlib.suppress(sqlite3.DatabaseError):
            row = copy.execute(query, (rowid,)).fetchone()
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

"""The events of the runs as they are stored: the one room that asks for them, and appends (docs/format.md, section 8).

Those of a run that is written stand one in a row; those of a closed run are moved into blocks. What is read here is as
it lies there, believed by nobody.
"""

import heapq
from collections.abc import Iterator
from operator import attrgetter

from store.additions import Additions
from store.cells import blob, exact, number, text
from store.core import digest
from store.database.connection import Connection
from store.sealed import envelopes as sealed
from store.sealed.envelopes import Envelope, EventBlock
from store.sealed.order import ordered

__all__ = ["Envelope", "append", "first", "in_order", "last", "one", "row_bytes", "rows", "runs", "seal"]

_ROWS = (
    f"SELECT {text('run')}, {number('seq')}, {blob('hash')}, {blob('event')} FROM events WHERE run = CAST(?1 AS TEXT)"
)
_BLOCKS = (
    f"SELECT {text('run')}, {number('first')}, {blob('hashes')}, {blob('digits')}, {blob('text')} FROM event_blocks"
    " WHERE run = CAST(?1 AS TEXT)"
)
_LAST_BLOCK = "ORDER BY first DESC LIMIT 1"


def in_order(connection: Connection, run: str) -> Iterator[Envelope]:
    """The events of a run, in order of seq."""
    return heapq.merge(rows(connection, run), _from_blocks(connection, run), key=attrgetter("seq"))


def rows(connection: Connection, run: str) -> Iterator[Envelope]:
    """Those of them that stand in rows of their own, in order of seq."""
    for row in connection.execute(f"{_ROWS} ORDER BY seq", (exact(run),)):
        yield Envelope(*row)


def one(connection: Connection, run: str, seq: int) -> Envelope | None:
    """The event `seq` of a run."""
    found = _row(connection, f"{_ROWS} AND seq = ?2", exact(run), seq)
    return found or _of_block(_block(connection, f"{_BLOCKS} AND first <= ?2 {_LAST_BLOCK}", exact(run), seq), seq)


def first(connection: Connection, run: str) -> Envelope | None:
    """The event of a run that has the smallest seq; None when there is no such run."""
    in_row = _row(connection, f"{_ROWS} ORDER BY seq LIMIT 1", exact(run))
    block = _block(connection, f"{_BLOCKS} ORDER BY first LIMIT 1", exact(run))
    if block is None or (in_row is not None and in_row.seq <= block.first):
        return in_row
    return _of_block(block, block.first)


def last(connection: Connection, run: str) -> Envelope | None:
    """The event of a run that has the greatest seq; None when there is no such run."""
    in_row = _row(connection, f"{_ROWS} ORDER BY seq DESC LIMIT 1", exact(run))
    block = _block(connection, f"{_BLOCKS} {_LAST_BLOCK}", exact(run))
    if block is None or (in_row is not None and in_row.seq >= block.first + block.count):
        return in_row
    return _of_block(block, block.first + block.count - 1)


def row_bytes(connection: Connection, run: str) -> int:
    """How many bytes the events of a run take that stand in rows of their own."""
    query = "SELECT COALESCE(SUM(LENGTH(event)), 0) FROM events WHERE run = ?"
    return int(connection.execute(query, (run,)).fetchone()[0])


def runs(connection: Connection) -> set[str]:
    """The ids of the runs that have events."""
    query = f"SELECT {text('run')} FROM events UNION SELECT {text('run')} FROM event_blocks"
    return {run for (run,) in connection.execute(query)}


def append(additions: Additions, run: str, seq: int, raw: bytes) -> bytes:
    """Adds an event behind those of its run; its event_hash (32 bytes)."""
    hashed = digest.event_hash(raw)
    additions.add("INSERT INTO events (run, seq, hash, event) VALUES (?, ?, ?, ?)", run, seq, hashed, raw)
    return hashed


def seal(connection: Connection, block: EventBlock) -> None:
    """Puts a block in the place of the rows that it covers, in the caller's transaction."""
    connection.execute(
        "INSERT INTO event_blocks (run, first, hashes, digits, text) VALUES (?, ?, ?, ?, ?)",
        (block.run, block.first, block.hashes, block.digits, block.text),
    )
    connection.execute(
        "DELETE FROM events WHERE run = ? AND seq BETWEEN ? AND ?",
        (block.run, block.first, block.first + block.count - 1),
    )


def _from_blocks(connection: Connection, run: str) -> Iterator[Envelope]:
    found = (EventBlock(*row) for row in connection.execute(f"{_BLOCKS} ORDER BY first", (exact(run),)))
    return ordered((block.first, sealed.restored(block)) for block in found)


def _row(connection: Connection, query: str, *values: bytes | int) -> Envelope | None:
    row = connection.execute(query, values).fetchone()
    return None if row is None else Envelope(*row)


def _block(connection: Connection, query: str, *values: bytes | int) -> EventBlock | None:
    row = connection.execute(query, values).fetchone()
    return None if row is None else EventBlock(*row)


def _of_block(block: EventBlock | None, seq: int) -> Envelope | None:
    if block is None or not block.first <= seq < block.first + block.count:
        return None
    return Envelope(block.run, seq, block.hash_at(seq - block.first), sealed.event(block, seq))

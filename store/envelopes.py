"""The events of the runs as they are stored: the one room that asks for them, and appends (docs/format.md, section 8).

What is read here is as it lies there, believed by nobody.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from store.cells import blob, exact, number, text
from store.core import digest

_SELECT = f"SELECT {text('run')}, {number('seq')}, {blob('hash')}, {blob('event')} FROM events"
_OF_RUN = f"{_SELECT} WHERE run = CAST(? AS TEXT)"


@dataclass(frozen=True, slots=True)
class Envelope:
    """One stored event: where it says it stands, the hash kept with it (32 bytes), its canonical bytes."""

    run: str
    seq: int
    hash: bytes
    raw: bytes


def in_order(connection: sqlite3.Connection, run: str) -> Iterator[Envelope]:
    """The events of a run, in order of seq."""
    for row in connection.execute(f"{_OF_RUN} ORDER BY seq", (exact(run),)):
        yield Envelope(*row)


def one(connection: sqlite3.Connection, run: str, seq: int) -> Envelope | None:
    """The event `seq` of a run."""
    return _first(connection, f"{_OF_RUN} AND seq = ?", exact(run), seq)


def first(connection: sqlite3.Connection, run: str) -> Envelope | None:
    """The event of a run that has the smallest seq; None when there is no such run."""
    return _first(connection, f"{_OF_RUN} ORDER BY seq LIMIT 1", exact(run))


def last(connection: sqlite3.Connection, run: str) -> Envelope | None:
    """The event of a run that has the greatest seq; None when there is no such run."""
    return _first(connection, f"{_OF_RUN} ORDER BY seq DESC LIMIT 1", exact(run))


def runs(connection: sqlite3.Connection) -> set[str]:
    """The ids of the runs that have events."""
    return {run for (run,) in connection.execute(f"SELECT DISTINCT {text('run')} FROM events")}


def append(connection: sqlite3.Connection, run: str, seq: int, raw: bytes) -> bytes:
    """Writes an event behind those of its run, in the caller's transaction; its event_hash (32 bytes)."""
    hashed = digest.event_hash(raw)
    connection.execute("INSERT INTO events (run, seq, hash, event) VALUES (?, ?, ?, ?)", (run, seq, hashed, raw))
    return hashed


def _first(connection: sqlite3.Connection, query: str, *values: bytes | int) -> Envelope | None:
    row = connection.execute(query, values).fetchone()
    return None if row is None else Envelope(*row)

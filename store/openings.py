"""The openings of the bodies, and where in the log of their run the bodies stand: the one room that asks for them.

docs/format.md, sections 5 and 8. What is read here is as it lies there, believed by nobody.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from store.cells import blob, exact, number, text
from store.core import digest
from store.core.draft import Opening

_OPENINGS = (
    f"SELECT {number('o.seq')}, {text('o.pointer')}, {blob('o.salt')}, {blob('o.sha256')},"
    f" {number('o.length')}, CAST(p.place AS INTEGER) FROM openings o"
    " LEFT JOIN payloads p ON p.run = o.run AND p.seq = o.seq AND p.pointer = o.pointer"
    " WHERE o.run = CAST(? AS TEXT)"
)


@dataclass(frozen=True, slots=True)
class OpeningRow:
    """One stored opening, and where its body stands among those of the run; None when nothing is stored."""

    pointer: str
    salt: bytes
    sha256: bytes
    length: int
    place: int | None

    @property
    def is_sound(self) -> bool:
        """Whether salt, digest and length are such as a commitment is made of."""
        sized = len(self.salt) == digest.SALT_BYTES and len(self.sha256) == digest.HASH_BYTES
        return sized and 0 <= self.length < 1 << 63


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a body stands: which it is, and the place in the log of its run at which it begins."""

    seq: int
    pointer: str
    place: int


def of_run(connection: sqlite3.Connection, run: str) -> Iterator[tuple[int, OpeningRow]]:
    """(seq, opening) of all bodies of a run, in order of seq; one with several places comes as often."""
    for seq, *row in connection.execute(f"{_OPENINGS} ORDER BY o.seq, o.pointer", (exact(run),)):
        yield seq, OpeningRow(*row)


def of_event(connection: sqlite3.Connection, run: str, seq: int) -> list[OpeningRow]:
    """The openings of the bodies of one event."""
    rows = connection.execute(f"{_OPENINGS} AND o.seq = ?", (exact(run), seq)).fetchall()
    return [OpeningRow(*row) for _, *row in rows]


def places(connection: sqlite3.Connection, run: str) -> list[Placed]:
    """Where the bodies of a run stand, also of those that have no opening, in order of place."""
    query = (
        f"SELECT {number('seq')}, {text('pointer')}, {number('place')} FROM payloads WHERE run = CAST(? AS TEXT)"
        " ORDER BY 3, 1, 2"
    )
    return [Placed(*row) for row in connection.execute(query, (exact(run),))]


def place(connection: sqlite3.Connection, run: str, seq: int, pointer: str) -> int | None:
    """Where the body of one commitment begins in the log of its run; None when nothing is stored."""
    query = f"SELECT {number('place')} FROM payloads WHERE run = CAST(? AS TEXT) AND seq = ? AND pointer = ?"
    row = connection.execute(query, (exact(run), seq, pointer)).fetchone()
    return None if row is None else int(row[0])


def strays(connection: sqlite3.Connection, run: str) -> list[tuple[int, str]]:
    """(seq, pointer) of stored bodies that have no opening."""
    query = (
        f"SELECT {number('seq')}, {text('pointer')} FROM payloads WHERE run = CAST(?1 AS TEXT)"
        f" EXCEPT SELECT {number('seq')}, {text('pointer')} FROM openings WHERE run = CAST(?1 AS TEXT)"
    )
    return connection.execute(query, (exact(run),)).fetchall()


def runs(connection: sqlite3.Connection) -> set[str]:
    """The ids of the runs that have openings, or bodies."""
    query = f"SELECT {text('run')} FROM openings UNION SELECT {text('run')} FROM payloads"
    return {run for (run,) in connection.execute(query)}


def add(connection: sqlite3.Connection, run: str, seq: int, opening: Opening, place: int) -> None:
    """Writes the opening of a body that stands at `place`, in the caller's transaction."""
    key = (run, seq, opening.pointer)
    connection.execute(
        "INSERT INTO openings (run, seq, pointer, salt, sha256, length) VALUES (?, ?, ?, ?, ?, ?)",
        (*key, opening.salt, opening.sha256, len(opening.content)),
    )
    connection.execute("INSERT INTO payloads (run, seq, pointer, place) VALUES (?, ?, ?, ?)", (*key, place))


def delete(connection: sqlite3.Connection, run: str, seqs: Sequence[int] | None) -> None:
    """Deletes the openings and places of the events `seqs`, or of all events for None, in the caller's transaction."""
    listed = None if seqs is None else json.dumps(list(seqs))
    for table in ("openings", "payloads"):
        connection.execute(
            f"DELETE FROM {table} WHERE run = ?1 AND (?2 IS NULL OR seq IN (SELECT value FROM json_each(?2)))",
            (run, listed),
        )


def move(connection: sqlite3.Connection, run: str, kept: Sequence[Placed], moved: Mapping[int, int]) -> None:
    """Writes the places of the bodies `kept` anew, all that a run has: `moved` gives the new one by the old one."""
    connection.execute("DELETE FROM payloads WHERE run = ?", (run,))
    connection.executemany(
        "INSERT INTO payloads (run, seq, pointer, place) VALUES (?, ?, ?, ?)",
        [(run, each.seq, each.pointer, moved[each.place]) for each in kept],
    )

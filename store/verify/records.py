"""The read-only seam of verification: the stored rows as they are, believed by nobody."""

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from store.core.inclusion import Proof
from store.payloads import Bodies
from store.splices.guard import Check
from store.splices.stream import Span


@dataclass(frozen=True, slots=True)
class EventRow:
    """One row of `events`: where it says it stands, the hash stored with it, its bytes."""

    run: str
    seq: int
    hash: bytes
    raw: bytes


@dataclass(frozen=True, slots=True)
class OpeningRow:
    """One row of `openings`, and where its body stands among those of the run; None when nothing is stored."""

    pointer: str
    salt: bytes
    sha256: bytes
    length: int
    place: int | None


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a store the records are: all of it, or what a bundle claims to hold.

    `runs` are the runs that are to be there (None: every run that the log knows); without `bodies` commitments stay
    unopened; without `whole_log` the leaves come with inclusion proofs instead of their neighbours.
    """

    runs: tuple[str, ...] | None = None
    bodies: bool = True
    whole_log: bool = True


@dataclass(frozen=True, slots=True)
class CatalogueRow:
    """What the catalogue says of one run: it is derived from the events, and people find runs by it."""

    name: str
    mode: str
    workflow: str
    parent: str
    opened: str
    closed: str
    events: int
    steps: int


class StoredBodies(Protocol):
    """The bodies of one run, read in the order of their places."""

    def body(self, place: int, length: int) -> bytes:
        """The body at `place`, `length` bytes long by its opening. Raises Malformed (payloads.Oversize)."""

    @property
    def exact(self) -> bool:
        """Whether the bodies that were read are all that is stored."""


class Records(Protocol):
    """What verification reads; SQLite stores and bundles give the same."""

    @property
    def extent(self) -> Extent:
        """How much of a store this is."""

    def proofs(self) -> Iterator[Proof]:
        """Leaves with their inclusion proofs, in order, where the log is not there as a whole."""

    def leaves(self) -> Iterator[tuple[int, bytes]]:
        """(position, bytes), in order."""

    def nodes(self) -> Iterator[tuple[int, int, bytes]]:
        """(level, position, hash) of every node that is kept."""

    def checkpoints(self) -> list[tuple[int, bytes]]:
        """(size, note), smallest first."""

    def runs(self) -> list[str]:
        """The ids of the runs that have events or bodies."""

    def events(self, run: str) -> Iterator[EventRow]:
        """In order of seq."""

    def openings(self, run: str) -> Iterator[tuple[int, OpeningRow]]:
        """(seq, opening), in order of place."""

    def bodies(self, run: str, origin: str) -> StoredBodies:
        """The bodies of a run of the store `origin`."""

    def strays(self, run: str) -> list[tuple[int, str]]:
        """(seq, pointer) of stored bodies that have no opening."""

    def catalogue(self) -> Mapping[str, CatalogueRow] | None:
        """The catalogue by run; None where none is kept."""


# The types that the tables were made with can be unmade: each value is asked for as what it ought to be.


def _exact(text: str) -> bytes:
    """The bytes of a text that was read, also of one that is no UTF-8, for CAST(? AS TEXT)."""
    return text.encode("utf-8", "surrogateescape")


def _blob(column: str) -> str:
    return f"CASE typeof({column}) WHEN 'blob' THEN {column} ELSE x'' END"


def _text(column: str) -> str:
    return f"COALESCE(CAST({column} AS TEXT), '')"


def _number(column: str) -> str:
    return f"COALESCE(CAST({column} AS INTEGER), -1)"


class SqliteRecords:
    """The records of a SQLite store, all of one moment: `connection` is in a read transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.extent = Extent()

    def proofs(self) -> Iterator[Proof]:
        """See Records."""
        yield from ()

    def leaves(self) -> Iterator[tuple[int, bytes]]:
        """See Records."""
        yield from self._connection.execute(
            f"SELECT {_number('position')}, {_blob('leaf')} FROM leaves ORDER BY position"
        )

    def nodes(self) -> Iterator[tuple[int, int, bytes]]:
        """See Records."""
        yield from self._connection.execute(
            f"SELECT {_number('level')}, {_number('position')}, {_blob('hash')} FROM nodes"
        )

    def checkpoints(self) -> list[tuple[int, bytes]]:
        """See Records."""
        return self._connection.execute(
            f"SELECT {_number('size')}, {_blob('note')} FROM checkpoints ORDER BY size"
        ).fetchall()

    def runs(self) -> list[str]:
        """See Records."""
        tables = ("events", "openings", "payloads", "blocks")
        union = " UNION ".join(f"SELECT {_text('run')} AS run FROM {table}" for table in tables)
        return [run for (run,) in self._connection.execute(f"{union} ORDER BY 1")]

    def events(self, run: str) -> Iterator[EventRow]:
        """See Records."""
        query = (
            f"SELECT {_text('run')}, {_number('seq')}, {_blob('hash')}, {_blob('event')} FROM events"
            " WHERE run = CAST(? AS TEXT) ORDER BY seq"
        )
        for row in self._connection.execute(query, (_exact(run),)):
            yield EventRow(*row)

    def openings(self, run: str) -> Iterator[tuple[int, OpeningRow]]:
        """See Records."""
        query = (
            f"SELECT {_number('o.seq')}, {_text('o.pointer')}, {_blob('o.salt')}, {_blob('o.sha256')},"
            f" {_number('o.length')}, CAST(p.place AS INTEGER) FROM openings o"
            " LEFT JOIN payloads p ON p.run = o.run AND p.seq = o.seq AND p.pointer = o.pointer"
            " WHERE o.run = CAST(? AS TEXT) ORDER BY 6, o.seq, o.pointer"
        )
        for seq, *row in self._connection.execute(query, (_exact(run),)):
            yield seq, OpeningRow(*row)

    def bodies(self, run: str, origin: str) -> Bodies:
        """See Records."""

        def fetch(first: int, last: int) -> list[bytes]:
            query = (
                f"SELECT {_blob('stored')} FROM blocks WHERE run = CAST(? AS TEXT) AND number BETWEEN ? AND ?"
                " ORDER BY number"
            )
            return [stored for (stored,) in self._connection.execute(query, (_exact(run), first, last))]

        columns = ", ".join(_number(column) for column in ("number", "start", "length", "frame"))
        query = f"SELECT {columns} FROM blocks WHERE run = CAST(? AS TEXT) ORDER BY 1"
        spans = [Span(*row) for row in self._connection.execute(query, (_exact(run),))]
        return Bodies(spans, fetch, Check(origin, run))

    def strays(self, run: str) -> list[tuple[int, str]]:
        """See Records."""
        query = (
            f"SELECT {_number('seq')}, {_text('pointer')} FROM payloads WHERE run = CAST(?1 AS TEXT)"
            f" EXCEPT SELECT {_number('seq')}, {_text('pointer')} FROM openings WHERE run = CAST(?1 AS TEXT)"
        )
        return self._connection.execute(query, (_exact(run),)).fetchall()

    def catalogue(self) -> Mapping[str, CatalogueRow]:
        """See Records."""
        texts = ", ".join(_text(column) for column in ("id", "name", "mode", "workflow", "parent", "opened", "closed"))
        query = f"SELECT {texts}, {_number('events')}, {_number('steps')} FROM runs"
        return {run: CatalogueRow(*row) for run, *row in self._connection.execute(query)}

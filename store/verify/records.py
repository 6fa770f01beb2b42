"""The read-only seam of verification: the stored rows as they are, believed by nobody."""

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from store import envelopes, openings
from store.cells import blob, exact, number, text
from store.core.inclusion import Proof
from store.envelopes import Envelope
from store.openings import OpeningRow
from store.payloads import Bodies
from store.splices.guard import Check
from store.splices.stream import Span


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a store the records are: all of it, or what a bundle claims to hold.

    `runs` are the runs that are to be there (None: every run that the log knows); without `bodies` commitments stay
    unopened; without `whole_log` the leaves come with inclusion proofs instead of their neighbours; `ordered` says that
    the events of a run come in order of seq, whatever they are; `expected` is about how many there are in all, for a
    person who waits.
    """

    runs: tuple[str, ...] | None = None
    bodies: bool = True
    whole_log: bool = True
    ordered: bool = True
    expected: int = 0


@dataclass(frozen=True, slots=True)
class Outside:
    """What those outside gave, by the position of its leaf; and notes that it is of, by their size, which are not kept
    anyway.

    `paths` prove, by size, that the log only adds to so many of its first leaves, where it is not there as a whole.
    """

    given: Mapping[int, bytes] = field(default_factory=dict)
    notes: Mapping[int, bytes] = field(default_factory=dict)
    paths: Mapping[int, tuple[bytes, ...]] = field(default_factory=dict)


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
    """The bodies of one run; whoever reads them in about the order of their places reads each byte once."""

    def body(self, place: int, length: int) -> bytes:
        """The body at `place`, `length` bytes long by its opening. Raises Malformed (payloads.Oversize)."""

    @property
    def exact(self) -> bool:
        """Whether the bodies that were read, each once, are all that is stored."""


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

    def events(self, run: str) -> Iterator[Envelope]:
        """In order of seq."""

    def openings(self, run: str) -> Iterator[tuple[int, OpeningRow]]:
        """(seq, opening), in order of seq; one that has several places comes as often."""

    def bodies(self, run: str, origin: str) -> StoredBodies:
        """The bodies of a run of the store `origin`."""

    def strays(self, run: str) -> list[tuple[int, str]]:
        """(seq, pointer) of stored bodies that have no opening."""

    def outside(self) -> Outside:
        """The anchors that are kept."""

    def catalogue(self) -> Mapping[str, CatalogueRow] | None:
        """The catalogue by run; None where none is kept."""


class SqliteRecords:
    """The records of a SQLite store, all of one moment: `connection` is in a read transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        ((events,),) = connection.execute(f"SELECT TOTAL({number('events')}) FROM runs").fetchall()
        self.extent = Extent(expected=int(events))

    def proofs(self) -> Iterator[Proof]:
        """See Records."""
        yield from ()

    def leaves(self) -> Iterator[tuple[int, bytes]]:
        """See Records."""
        yield from self._connection.execute(
            f"SELECT {number('position')}, {blob('leaf')} FROM leaves ORDER BY position"
        )

    def nodes(self) -> Iterator[tuple[int, int, bytes]]:
        """See Records."""
        yield from self._connection.execute(
            f"SELECT {number('level')}, {number('position')}, {blob('hash')} FROM nodes"
        )

    def checkpoints(self) -> list[tuple[int, bytes]]:
        """See Records."""
        return self._connection.execute(
            f"SELECT {number('size')}, {blob('note')} FROM checkpoints ORDER BY size"
        ).fetchall()

    def runs(self) -> list[str]:
        """See Records."""
        found = envelopes.runs(self._connection) | openings.runs(self._connection)
        query = f"SELECT DISTINCT {text('run')} FROM blocks"
        return sorted(found.union(run for (run,) in self._connection.execute(query)))

    def events(self, run: str) -> Iterator[Envelope]:
        """See Records."""
        return envelopes.in_order(self._connection, run)

    def openings(self, run: str) -> Iterator[tuple[int, OpeningRow]]:
        """See Records."""
        return openings.of_run(self._connection, run)

    def bodies(self, run: str, origin: str) -> Bodies:
        """See Records."""

        def fetch(first: int, last: int) -> list[bytes]:
            query = (
                f"SELECT {blob('stored')} FROM blocks WHERE run = CAST(? AS TEXT) AND number BETWEEN ? AND ?"
                " ORDER BY number"
            )
            return [stored for (stored,) in self._connection.execute(query, (exact(run), first, last))]

        columns = ", ".join(number(column) for column in ("number", "start", "length", "frame"))
        query = f"SELECT {columns} FROM blocks WHERE run = CAST(? AS TEXT) ORDER BY 1"
        spans = [Span(*row) for row in self._connection.execute(query, (exact(run),))]
        return Bodies(spans, fetch, Check(origin, run))

    def strays(self, run: str) -> list[tuple[int, str]]:
        """See Records."""
        return openings.strays(self._connection, run)

    def outside(self) -> Outside:
        """See Records. A store that was not written since there are anchors has no table of them."""
        known = self._connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'anchors'")
        query = f"SELECT {number('position')}, {blob('content')} FROM anchors ORDER BY 1"
        rows = self._connection.execute(query) if known.fetchone() else ()
        return Outside(dict(rows))

    def catalogue(self) -> Mapping[str, CatalogueRow]:
        """See Records."""
        texts = ", ".join(text(column) for column in ("id", "name", "mode", "workflow", "parent", "opened", "closed"))
        query = f"SELECT {texts}, {number('events')}, {number('steps')} FROM runs"
        return {run: CatalogueRow(*row) for run, *row in self._connection.execute(query)}

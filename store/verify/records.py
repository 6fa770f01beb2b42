"""The read-only seam of verification: the stored rows as they are, believed by nobody."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from store import annotations, envelopes, loans, openings, vault
from store.cells import blob, exact, number, text
from store.core.annotation import Kept
from store.core.errors import EdgetapeError, KeyUnavailable, Malformed
from store.core.inclusion import Proof
from store.database import has_table
from store.database.connection import Connection
from store.envelopes import Envelope
from store.openings import OpeningRow
from store.payloads import Bodies
from store.splices.guard import Guard, Shut
from store.splices.stream import Span
from store.vault import RunKeys, Vault

_LENDERS_KEPT = 2


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a store the records are: all of it, or what a bundle claims to hold.

    `runs` are the runs that are to be there (None: every run that the log knows); without `bodies` commitments stay
    unopened; without `whole_log` the leaves come with inclusion proofs instead of their neighbours; `ordered` says that
    the events of a run come in order of seq, whatever they are; `expected` is about how many there are in all, for a
    person who waits; `keys` says whether each run is to have keys.
    """

    runs: tuple[str, ...] | None = None
    bodies: bool = True
    whole_log: bool = True
    ordered: bool = True
    expected: int = 0
    keys: bool = False


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


@dataclass(frozen=True, slots=True)
class Lent:
    """A body that is kept in another run: where, None for nowhere, and the bodies of that run."""

    bodies: StoredBodies
    place: int | None


@dataclass(frozen=True, slots=True)
class Content:
    """What is stored of the bodies of one run: (seq, opening) in order of seq, one that has several places as often;
    and the bodies.

    `lent` says where a body is kept, by seq and pointer, that is kept in another run.
    `failure` is why none of it can be opened: KeyUnavailable where the store key is not here, Malformed where the keys
    of the run are gone or damaged. `keyed` says whether the run has keys in the store.
    """

    openings: Iterator[tuple[int, OpeningRow]]
    bodies: StoredBodies
    failure: EdgetapeError | None = None
    keyed: bool = False
    lent: Callable[[int, str], Lent | None] = lambda _seq, _pointer: None


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

    def content(self, run: str, origin: str | None) -> Content:
        """What is stored of the bodies of a run, by the store `origin`; None where that cannot be read."""

    def strays(self, run: str) -> list[tuple[int, str]]:
        """(seq, pointer) of stored bodies that have no opening."""

    def outside(self) -> Outside:
        """The anchors that are kept."""

    def annotations(self, run: str, origin: str | None) -> list[Kept]:
        """The annotations of a run in order of number, their words opened as far as that can be done."""

    def annotated(self) -> set[str]:
        """The ids of the runs that have annotations, or words of some."""

    def catalogue(self) -> Mapping[str, CatalogueRow] | None:
        """The catalogue by run; None where none is kept."""


class SqliteRecords:
    """The records of a SQLite store, all of one moment: `connection` is in a read transaction.

    `keys` is the folder in which the store key is looked for.
    """

    def __init__(self, connection: Connection, keys: Path) -> None:
        self._connection = connection
        self._keys = keys
        self._vault: Vault | None = None
        counts = f"CAST({number('events')} AS DOUBLE PRECISION)"  # which no count is too great for
        ((events,),) = connection.execute(f"SELECT COALESCE(SUM({counts}), 0) FROM runs").fetchall()
        self.extent = Extent(expected=int(events), keys=True)

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
        found = envelopes.runs(self._connection) | openings.runs(self._connection) | vault.runs(self._connection)
        found |= loans.runs(self._connection)
        query = f"SELECT DISTINCT {text('run')} FROM blocks"
        return sorted(found.union(run for (run,) in self._connection.execute(query)))

    def events(self, run: str) -> Iterator[Envelope]:
        """See Records."""
        return envelopes.in_order(self._connection, run)

    def content(self, run: str, origin: str | None) -> Content:
        """See Records."""
        rows = openings.of_run(self._connection, run)
        keyed = bool(vault.wrapped(self._connection, run))
        try:
            keys = self._opened(run, origin)
        except EdgetapeError as error:
            return Content(rows, self._bodies(run, Shut()), error, keyed, self._lending(run, origin))
        shown = ((seq, row.shown(seq, keys.veil)) for seq, row in rows)
        return Content(shown, self._bodies(run, keys.guard), None, keyed, self._lending(run, origin))

    def _lending(self, run: str, origin: str | None) -> Callable[[int, str], Lent | None]:
        """What says where the bodies are kept that a run has borrowed."""
        if next(loans.of_run(self._connection, run), None) is None:
            return lambda _seq, _pointer: None

        @lru_cache(_LENDERS_KEPT)
        def bodies(lender: str) -> Bodies:
            try:
                return self._bodies(lender, self._opened(lender, origin).guard)
            except EdgetapeError:
                return self._bodies(lender, Shut())

        def lent(seq: int, pointer: str) -> Lent | None:
            found = loans.one(self._connection, run, seq, pointer)
            return None if found is None else Lent(bodies(found.run), loans.place(self._connection, found))

        return lent

    def _opened(self, run: str, origin: str | None) -> RunKeys:
        if vault.wrapped(self._connection, run).keys() != {vault.PAYLOAD, vault.SALT}:
            raise Malformed("they are not there as two")
        if origin is None:
            raise KeyUnavailable("whose store key it takes is not known: leaf 0 cannot be read")
        if self._vault is None:
            self._vault = Vault(self._keys, origin)
        return self._vault.of(self._connection, run)

    def _bodies(self, run: str, guard: Guard) -> Bodies:
        def fetch(first: int, last: int) -> list[bytes]:
            query = (
                f"SELECT {blob('stored')} FROM blocks WHERE run = CAST(? AS TEXT) AND number BETWEEN ? AND ?"
                " ORDER BY number"
            )
            return [stored for (stored,) in self._connection.execute(query, (exact(run), first, last))]

        columns = ", ".join(number(column) for column in ("number", "start", "length", "frame"))
        query = f"SELECT {columns} FROM blocks WHERE run = CAST(? AS TEXT) ORDER BY 1"
        spans = [Span(*row) for row in self._connection.execute(query, (exact(run),))]
        return Bodies(spans, fetch, guard)

    def strays(self, run: str) -> list[tuple[int, str]]:
        """See Records."""
        return openings.strays(self._connection, run) + loans.strays(self._connection, run)

    def outside(self) -> Outside:
        """See Records. A store that was not written since there are anchors has no table of them."""
        query = f"SELECT {number('position')}, {blob('content')} FROM anchors ORDER BY 1"
        rows = self._connection.execute(query) if has_table(self._connection, "anchors") else ()
        return Outside(dict(rows))

    def annotations(self, run: str, origin: str | None) -> list[Kept]:
        """See Records."""
        self._vault = self._vault or Vault(self._keys, origin or "")
        return list(annotations.of_run(self._connection, run, self._vault))

    def annotated(self) -> set[str]:
        """See Records."""
        return annotations.runs(self._connection)

    def catalogue(self) -> Mapping[str, CatalogueRow]:
        """See Records."""
        texts = ", ".join(text(column) for column in ("id", "name", "mode", "workflow", "parent", "opened", "closed"))
        query = f"SELECT {texts}, {number('events')}, {number('steps')} FROM runs"
        return {run: CatalogueRow(*row) for run, *row in self._connection.execute(query)}

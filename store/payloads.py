"""How the bodies of a run come out of its blocks: a room of its own, since no hash covers the stored form.

docs/format.md, sections 5 and 8. What a body is made of is `store/splices`; here are the rows.
"""

from collections.abc import Iterable, Sequence

from store.core.errors import Malformed
from store.core.ranges import Ranges
from store.database.connection import Connection
from store.splices.blocklog import FRAMES_KEPT, BlockLog, Fetch
from store.splices.guard import Guard
from store.splices.livelog import Stored
from store.splices.resolver import Resolver
from store.splices.stream import Span

# For those that copy from them: enough that reading all bodies in order costs about what they are long.
KEPT_BYTES_MAX = 32 << 20
# For whoever is given a body now and then. Room that was in use before is quicker than new room, which the system has
# to clear: what is kept without a reason costs more than to read it again.
_KEPT_BYTES = 8 << 20
_FRAMES_KEPT = 4


class Oversize(Malformed):
    """A stored body that is longer than its opening tells."""


class Bodies:
    """Reads the bodies of one run. `spans` are its blocks, in order; `fetch` gives what is stored of some of them."""

    def __init__(
        self,
        spans: Sequence[Span],
        fetch: Fetch,
        guard: Guard,
        kept_bytes_max: int = KEPT_BYTES_MAX,
        frames_kept: int = FRAMES_KEPT,
    ) -> None:
        self._read = Ranges()
        self._apart = True
        self._log: BlockLog | None = None
        self._resolver: Resolver | None = None
        try:
            self._log = log = BlockLog(spans, fetch, guard, frames_kept)
        except Malformed as error:
            self._damage = str(error)
        else:
            self._end = log.end
            self._resolver = Resolver(log.read, log.end, kept_bytes_max)

    @property
    def held_bytes(self) -> int:
        """How much is kept of what was read."""
        return sum(each.held_bytes for each in (self._log, self._resolver) if each is not None)

    def body(self, place: int, length: int) -> bytes:
        """The body at `place`, `length` bytes long by its opening. Raises Malformed (Oversize)."""
        if self._resolver is None:
            raise Malformed(self._damage)
        piece = self._resolver.piece(place)
        if piece.coded:
            raise Malformed("a stored body is coded in a way that this version does not write")
        if piece.length > length:
            raise Oversize(f"a stored body has a length of {piece.length} where {length} is known")
        body = self._resolver.body(place, length)
        self._apart = self._read.add(place, piece.end) and self._apart
        return body

    @property
    def exact(self) -> bool:
        """Whether the bodies that were read so far, each once, are all that the blocks hold."""
        return self._resolver is not None and self._apart and self._read.is_all(self._end)


def spans(connection: Connection, run: str) -> tuple[Span, ...]:
    """Where the blocks of a run stand now; a writer may put others in the place of these at any time."""
    query = "SELECT number, start, length, frame FROM blocks WHERE run = ? ORDER BY number"
    return tuple(Span(*row) for row in connection.execute(query, (run,)))


def fetching(connection: Connection, run: str) -> Fetch:
    """What gives the stored blocks of a run from one number to another."""

    def fetch(first: int, last: int) -> list[bytes]:
        query = "SELECT stored FROM blocks WHERE run = ? AND number BETWEEN ? AND ? ORDER BY number"
        return [bytes(stored) for (stored,) in connection.execute(query, (run, first, last))]

    return fetch


def bodies(connection: Connection, run: str, guard: Guard) -> Bodies:
    """The bodies of a run, to be read in any order."""
    return Bodies(spans(connection, run), fetching(connection, run), guard, _KEPT_BYTES, _FRAMES_KEPT)


def insert(connection: Connection, run: str, blocks: Iterable[Stored]) -> None:
    """Stores blocks of a run, in the caller's transaction."""
    connection.executemany(
        "INSERT INTO blocks (run, number, start, length, frame, stored) VALUES (?, ?, ?, ?, ?, ?)",
        ((run, each.span.number, each.span.start, each.span.length, each.span.frame, each.stored) for each in blocks),
    )


def replace_all(connection: Connection, run: str, blocks: Iterable[Stored]) -> None:
    """Stores these blocks in the place of all those of a run, in the caller's transaction."""
    delete(connection, run)
    insert(connection, run, blocks)


def delete(connection: Connection, run: str) -> None:
    """Deletes all blocks of a run, in the caller's transaction."""
    connection.execute("DELETE FROM blocks WHERE run = ?", (run,))

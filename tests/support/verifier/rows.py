"""Section 8: reads the rows of the SQLite store, and never writes."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.verifier.sealed import SealedOpening, events_of, openings_of

type Cell = bytes | str | int | float | None

RUNS = ("events", "openings", "payloads", "event_blocks", "opening_blocks", "blocks", "keys")
TABLES = (*RUNS, "leaves", "nodes", "checkpoints")


class CouldNotRunError(Exception):
    """There is no store that can be read."""


def as_bytes(cell: Cell) -> bytes:
    """Take a cell for bytes; what is none becomes bytes that nothing equals."""
    return cell if isinstance(cell, bytes) else b""


def _bound(text: str) -> bytes:
    """Give the bytes of a text that was read, also where they are no UTF-8, for CAST(? AS TEXT)."""
    return text.encode(errors="surrogateescape")


@dataclass(frozen=True)
class EventRow:
    seq: int
    hash: bytes
    data: bytes
    damaged: bool = False


@dataclass(frozen=True)
class Opening:
    salt: bytes
    digest: bytes
    length: int
    damaged: bool = False


@dataclass(frozen=True)
class Block:
    number: int
    start: int
    length: int
    frame: int
    stored: bytes


type Place = tuple[int, str]


class Rows:
    """The rows of one snapshot of a store."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Read from a connection that is open in one transaction."""
        self._connection = connection

    def _select(self, query: str, *values: Cell) -> Iterator[tuple[Cell, ...]]:
        yield from self._connection.execute(query, values)

    def runs(self) -> list[str]:
        """List the runs that have events, openings, payloads, blocks or keys."""
        tables = (*RUNS, "loans") if self._has("loans") else RUNS
        query = " UNION ".join(f"SELECT run FROM {table}" for table in tables) + " ORDER BY run"
        return [run for (run,) in self._select(query) if isinstance(run, str) and run]

    def events(self, run: str) -> Iterator[EventRow]:
        """Read a run's events in order."""
        query = "SELECT seq, hash, event FROM events WHERE run = CAST(? AS TEXT)"
        rows = [
            EventRow(seq, as_bytes(kept), as_bytes(data))
            for seq, kept, data in self._select(query, _bound(run))
            if isinstance(seq, int)
        ]
        query = "SELECT first, hashes, digits, text FROM event_blocks WHERE run = CAST(? AS TEXT) ORDER BY first"
        for first, hashes, digits, text in self._select(query, _bound(run)):
            if isinstance(first, int):
                found = events_of(run, first, as_bytes(hashes), as_bytes(digits), as_bytes(text))
                rows += [EventRow(*each) for each in found]
        yield from sorted(rows, key=lambda row: row.seq)

    def openings(self, run: str) -> dict[Place, Opening]:
        """Read a run's openings by place."""
        found: dict[Place, Opening] = {}
        query = "SELECT seq, pointer, salt, sha256, length FROM openings WHERE run = CAST(? AS TEXT)"
        for seq, pointer, salt, digest, length in self._select(query, _bound(run)):
            if isinstance(seq, int) and isinstance(pointer, str):
                size = length if isinstance(length, int) else -1
                found[seq, pointer] = Opening(as_bytes(salt), as_bytes(digest), size)
        for each in self._sealed(run):
            opening = Opening(each.salt, each.digest, each.length, each.damaged)
            found.setdefault((each.seq, each.pointer), opening)
        return found

    def _sealed(self, run: str) -> list[SealedOpening]:
        query = "SELECT first, digests, rows FROM opening_blocks WHERE run = CAST(? AS TEXT) ORDER BY first"
        return [
            each
            for first, digests, rows in self._select(query, _bound(run))
            if isinstance(first, int)
            for each in openings_of(run, first, as_bytes(digests), as_bytes(rows))
        ]

    def payloads(self, run: str) -> dict[Place, int]:
        """Read where a run's bodies stand in its log."""
        query = "SELECT seq, pointer, place FROM payloads WHERE run = CAST(? AS TEXT)"
        sealed = reversed(self._sealed(run))  # of two for one commitment the first counts, as its opening does
        found = {(each.seq, each.pointer): each.place for each in sealed if each.place is not None}
        return found | {
            (seq, pointer): place
            for seq, pointer, place in self._select(query, _bound(run))
            if isinstance(seq, int) and isinstance(pointer, str) and isinstance(place, int)
        }

    def loans(self, run: str) -> dict[Place, tuple[str, Place]]:
        """Read which bodies of a run are kept in which other one, and as what."""
        if not self._has("loans"):
            return {}
        query = "SELECT seq, pointer, lender, lender_seq, lender_pointer FROM loans WHERE run = CAST(? AS TEXT)"
        return {
            (seq, pointer): (
                lender if isinstance(lender, str) else "",
                (lender_seq if isinstance(lender_seq, int) else -1, name if isinstance(name, str) else ""),
            )
            for seq, pointer, lender, lender_seq, name in self._select(query, _bound(run))
            if isinstance(seq, int) and isinstance(pointer, str)
        }

    def blocks(self, run: str) -> list[Block]:
        """Read a run's blocks in order."""
        query = "SELECT number, start, length, frame, stored FROM blocks WHERE run = CAST(? AS TEXT) ORDER BY number"
        return [
            Block(number, start, length, frame, as_bytes(stored))
            for number, start, length, frame, stored in self._select(query, _bound(run))
            if isinstance(number, int) and isinstance(start, int) and isinstance(length, int) and isinstance(frame, int)
        ]

    def keys(self, run: str) -> dict[str, bytes]:
        """Read the wrapped keys of a run, or what stands for the store key, by kind."""
        rows = list(self._select("SELECT kind, wrapped FROM keys WHERE run = CAST(? AS TEXT)", _bound(run)))
        found = {kind: as_bytes(cell) for kind, cell in rows if isinstance(kind, str)}
        return found if len(found) == len(rows) else {"twice": b""}

    def leaves(self) -> list[tuple[int, bytes]]:
        """Read the leaves with their positions, in order."""
        rows = self._select("SELECT position, leaf FROM leaves ORDER BY position")
        return [(position, as_bytes(leaf)) for position, leaf in rows if isinstance(position, int)]

    def nodes(self) -> list[tuple[tuple[int, int], bytes]]:
        """Read the nodes with their levels and positions, in order."""
        rows = self._select("SELECT level, position, hash FROM nodes ORDER BY level, position")
        return [
            ((level, position), as_bytes(kept))
            for level, position, kept in rows
            if isinstance(level, int) and isinstance(position, int)
        ]

    def doubled(self, run: str) -> set[Place]:
        """List the places of a run's openings that are there more than once, or have several payloads."""
        query = (
            "SELECT o.seq, o.pointer FROM openings o LEFT JOIN payloads p ON p.run = o.run AND p.seq = o.seq"
            " AND p.pointer = o.pointer WHERE o.run = CAST(? AS TEXT) GROUP BY 1, 2 HAVING COUNT(*) > 1"
        )
        rows = self._select(query, _bound(run))
        found = {(seq, pointer) for seq, pointer in rows if isinstance(seq, int) and isinstance(pointer, str)}
        query = "SELECT seq, pointer FROM openings WHERE run = CAST(? AS TEXT)"
        places = Counter([*self._select(query, _bound(run)), *((each.seq, each.pointer) for each in self._sealed(run))])
        return found | {
            (seq, pointer)
            for (seq, pointer), count in places.items()
            if count > 1 and isinstance(seq, int) and isinstance(pointer, str)
        }

    def doubled_checkpoints(self) -> int:
        """Count the sizes of which there are several checkpoints."""
        return sum(1 for _ in self._select("SELECT size FROM checkpoints GROUP BY size HAVING COUNT(*) > 1"))

    def checkpoints(self) -> dict[int, bytes]:
        """Read the checkpoints by size, in order."""
        rows = self._select("SELECT size, note FROM checkpoints ORDER BY size")
        return {size: as_bytes(note) for size, note in rows if isinstance(size, int)}

    def anchors(self) -> dict[int, bytes]:
        """Read what those outside gave, by position, in order; a store without anchors may lack the table."""
        if not self._has("anchors"):
            return {}
        rows = self._select("SELECT position, content FROM anchors ORDER BY position")
        return {position: as_bytes(content) for position, content in rows if isinstance(position, int)}

    def annotations(self, run: str) -> list[tuple[int, bytes]]:
        """Read a run's annotations with their numbers, in order."""
        return list(self._said("annotations", "annotation", run))

    def annotation_texts(self, run: str) -> dict[int, bytes]:
        """Read what is stored of the texts of a run's annotations, by number."""
        return dict(self._said("annotation_texts", "stored", run))

    def annotated(self) -> set[str]:
        """List the runs that have annotations, or texts of some."""
        if not self._has("annotation_texts"):
            return set()
        rows = self._select("SELECT run FROM annotations UNION SELECT run FROM annotation_texts")
        return {run for (run,) in rows if isinstance(run, str)}

    def _said(self, table: str, column: str, run: str) -> Iterator[tuple[int, bytes]]:
        if self._has("annotation_texts"):
            query = f"SELECT number, {column} FROM {table} WHERE run = CAST(? AS TEXT) ORDER BY number"
            for number, cell in self._select(query, _bound(run)):
                if isinstance(number, int):
                    yield number, as_bytes(cell)

    def _has(self, table: str) -> bool:
        return bool(list(self._select("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", table)))


@contextmanager
def opened(folder: Path) -> Iterator[Rows]:
    """Open a store for reading; CouldNotRunError when there is none."""
    path = folder / "edgetape.db"
    if not path.is_file() or path.is_symlink():
        raise CouldNotRunError("no edgetape.db in the folder")
    # without a write-ahead log nothing is being written, and only "immutable" makes no file beside the database
    still = "" if path.with_name("edgetape.db-wal").exists() else "&immutable=1"
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro{still}", uri=True)) as connection:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.text_factory = lambda data: data.decode(errors="surrogateescape")
            connection.execute("BEGIN")
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            if missing := set(TABLES) - tables:
                raise CouldNotRunError(f"no table {', '.join(sorted(missing))}")
            yield Rows(connection)
    except sqlite3.Error as error:
        raise CouldNotRunError(str(error)) from error

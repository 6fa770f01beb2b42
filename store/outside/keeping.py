"""Anchors in a store: what those outside gave, kept with a leaf each, so that every later leaf is younger.

docs/format.md, section 6.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from store import database, journal, log, sealing
from store.core import cosignature, digest, leaf
from store.core.checkpoint import Checkpoint
from store.core.errors import EdgetapeError
from store.core.event import timestamp
from store.core.leaf import Anchored, AnchorKind
from store.database.connection import Connection
from store.founding import signer_of
from store.outside import token


@dataclass(frozen=True, slots=True)
class Given:
    """What somebody outside gave for the checkpoint over `size` leaves."""

    kind: AnchorKind
    size: int
    by: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Kept:
    """An anchor of a store: the position of its leaf, and what it says."""

    position: int
    facts: Anchored


def newest(folder: Path, keys: Path) -> tuple[Checkpoint, bytes]:
    """A checkpoint over all that the store holds, made if need be, and its note. Raises StoreUnusable,
    KeyUnavailable.
    """
    stated, note, _ = sealing.seal(folder, keys)
    return stated, note


def keep(folder: Path, keys: Path, given: Sequence[Given]) -> list[Kept]:
    """Keeps anchors, each with its leaf, and signs the log over them. Raises StoreUnusable, KeyUnavailable."""
    with contextlib.closing(database.open_for_writing(folder)) as connection, database.explained(folder):
        signer = signer_of(connection, keys)
        with database.transaction(connection):
            now = timestamp(datetime.now(UTC))
            kept = [_append(connection, now, each) for each in given]
            journal.note_heads(connection, now)
        sealing.sign(connection, signer)
    return kept


def listed(connection: Connection) -> Iterator[Kept]:
    """The anchors of a store, oldest first. Raises Malformed for a leaf that is none."""
    query = "SELECT position, leaf FROM anchors JOIN leaves USING (position) ORDER BY position"
    for position, raw in connection.execute(query):
        _, facts = leaf.decode(bytes(raw))
        if isinstance(facts, Anchored):
            yield Kept(position, facts)


def when(kept: Kept, content: bytes) -> datetime | None:
    """The time that an anchor says itself, whoever made it; None where it says none."""
    try:
        if kept.facts.kind == "rfc3161":
            return token.read(content).time
        seconds = int.from_bytes(cosignature.parse(content)[0].signature[:8])
        return datetime.fromtimestamp(seconds, UTC)
    except (EdgetapeError, ValueError, OverflowError, OSError):
        return None


def contents(folder: Path, keys: Path) -> list[tuple[Kept, bytes]]:
    """Every anchor of a store with what was given, oldest first; `keys` is the folder of its keys. Raises
    StoreUnusable.
    """
    with contextlib.closing(database.open_for_reading(folder)) as connection, database.explained(folder):
        from store.verify.records import SqliteRecords  # all of the verifier, which no recorder should wait for

        given = SqliteRecords(connection, keys).outside().given
        return [(each, given[each.position]) for each in listed(connection)] if given else []


def last_size(folder: Path, kind: AnchorKind, by: str) -> int:
    """How many leaves the newest anchor of this kind and name is over; 0 when there is none."""
    with contextlib.closing(database.open_for_reading(folder)) as connection, database.explained(folder):
        sizes = [each.facts.size for each in listed(connection) if (each.facts.kind, each.facts.by) == (kind, by)]
    return max(sizes, default=0)


def has_grown(folder: Path, kind: AnchorKind, by: str) -> bool:
    """Whether the log has more than anchors that the newest one of this kind and name is not over."""
    seen = last_size(folder, kind, by)
    with contextlib.closing(database.open_for_reading(folder)) as connection, database.explained(folder):
        others = "SELECT 1 FROM leaves WHERE position >= ? AND position NOT IN (SELECT position FROM anchors)"
        return bool(connection.execute(f"SELECT EXISTS ({others})", (seen,)).fetchone()[0])


def prove(folder: Path, old: int, new: int) -> list[bytes]:
    """The proof that the log's first `new` leaves only add to its first `old`. Raises StoreUnusable."""
    with contextlib.closing(database.open_for_reading(folder)) as connection, database.explained(folder):
        return log.consistency(connection, old, new)


def _append(connection: Connection, ts: str, given: Given) -> Kept:
    facts = Anchored(given.kind, given.size, digest.body_digest(given.content).hex(), given.by)
    position = log.append(connection, ts, facts)
    connection.execute("INSERT INTO anchors (position, content) VALUES (?, ?)", (position, given.content))
    return Kept(position, facts)

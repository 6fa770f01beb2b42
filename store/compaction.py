"""The blocks of a run that is closed, packed tighter: the same log, so nothing that proves anything is touched.

docs/format.md, section 5.

Rules kept here:
- Compressing is done outside any transaction; the swap is one, and happens only when the blocks, and the keys that they
  are closed under, are still those that were read.
- What cannot be read stays as it is.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from store import condensation, database, journal, payloads, vault
from store.core.errors import EdgetapeError
from store.database.connection import Connection
from store.founding import founding
from store.payloads import fetching, spans
from store.pile import Pile
from store.splices import stream
from store.splices.blocklog import BlockLog
from store.splices.livelog import Stored
from store.splices.stream import Span
from store.vault import Vault, Wrapped

AT_ONCE_BYTES_MAX = 1 << 16  # what a writer seals at once, for it takes some 50 ms
_HELD = {
    "blocks": "LENGTH(stored)",
    "events": "LENGTH(hash) + LENGTH(event)",
    "event_blocks": "LENGTH(hashes) + LENGTH(digits) + LENGTH(text)",
    "openings": "LENGTH(salt) + LENGTH(sha256)",
    "opening_blocks": "LENGTH(digests) + LENGTH(rows)",
}


@dataclass(frozen=True, slots=True)
class Sealed:
    """A run's blocks as they were, under which keys, and those that say the same in fewer bytes."""

    run: str
    wrapped: Wrapped
    before: tuple[Span, ...]
    before_bytes: int
    blocks: Pile


def sealed(connection: Connection, run: str, vault: Vault, folder: Path) -> Sealed | None:
    """A run's blocks as tight as they get; None when they are that already. Many wait in a file in `folder`.

    Raises Malformed for a damaged log, KeyUnavailable, StoreUnusable.
    """
    with database.snapshot(connection):
        found = spans(connection, run)
        if _is_sealed(found):
            return None
        keys = vault.of(connection, run)
        log = BlockLog(found, fetching(connection, run), keys.guard, frames_kept=2)
        packed = stream.sealed(log.read, log.end, stream.level_for(log.end))
        blocks = Pile((Stored(each.span, keys.guard.close(each)) for each in packed), folder)
        query = "SELECT COALESCE(SUM(LENGTH(stored)), 0) FROM blocks WHERE run = ?"
        ((before_bytes,),) = connection.execute(query, (run,)).fetchall()
    tight = Sealed(run, keys.wrapped, found, int(before_bytes), blocks)
    return tight if blocks.stored_bytes < tight.before_bytes or len(blocks) < len(found) else None


def swap(connection: Connection, found: Sealed) -> bool:
    """Puts the tighter blocks in the place of the others, in the caller's transaction; whether it could."""
    if spans(connection, found.run) != found.before or vault.wrapped(connection, found.run) != found.wrapped:
        return False
    payloads.replace_all(connection, found.run, found.blocks)
    return True


def log_bytes(connection: Connection, run: str) -> int:
    """The length of a run's log."""
    query = "SELECT COALESCE(MAX(start + length), 0) FROM blocks WHERE run = ?"
    return int(connection.execute(query, (run,)).fetchone()[0])


@dataclass(frozen=True, slots=True)
class Compacted:
    """What became of one run's blocks: bytes before and after, or why they stay."""

    run: str
    before_bytes: int
    after_bytes: int
    failure: str = ""


def compact(folder: Path, keys: Path, runs: list[str], told: Callable[[Compacted], None]) -> bool:
    """Packs the closed ones of these runs tighter, and gives freed space back; whether that could be done.

    It cannot while somebody uses the store. `told` hears of each run that changed or could not be read. Raises
    StoreUnusable.
    """
    connection = database.open_for_writing(folder)
    try:
        with database.explained(folder):
            known = founding(connection)
            opener = Vault(keys, known.origin if known else "")
            for run in runs if known else []:
                for done in _compacted(connection, run, opener, folder):
                    told(done)
            return _give_back(connection)
    finally:
        connection.close()


def _compacted(connection: Connection, run: str, vault: Vault, folder: Path) -> Iterator[Compacted]:
    last = journal.head(connection, run)
    if last is None or last.type != "run.close":
        return
    before, failure = _held_bytes(connection, run), ""
    try:
        found = sealed(connection, run, vault, folder)
        if found is not None:
            with database.transaction(connection):
                swap(connection, found)
        for step in condensation.steps(connection, run):
            with database.transaction(connection):
                step(connection)
    except EdgetapeError as error:
        failure = str(error)
    after = _held_bytes(connection, run)
    if failure or after != before:
        yield Compacted(run, before, after, failure)


def _held_bytes(connection: Connection, run: str) -> int:
    """What the values of all rows of a run take."""
    return sum(
        int(connection.execute(f"SELECT COALESCE(SUM({lengths}), 0) FROM {table} WHERE run = ?", (run,)).fetchone()[0])
        for table, lengths in _HELD.items()
    )


def _give_back(connection: Connection) -> bool:
    database.hurry(connection)
    return database.write_anew(connection)


def _is_sealed(found: tuple[Span, ...]) -> bool:
    """By their lengths; a single block may be of either form, and is soon packed again."""
    return not found or (len(found) > 1 and all(span.length == stream.SLICE_BYTES for span in found[:-1]))

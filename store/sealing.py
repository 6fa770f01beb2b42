"""Makes checkpoints: notes the head of every run that has grown, signs the log, keeps the note.

docs/format.md, section 6. Order: commit the leaves, remember (size, root) beside the key, sign, keep the checkpoint.
"""

import contextlib
from datetime import UTC, datetime
from pathlib import Path

from store import database, journal, log
from store.core import checkpoint
from store.core.checkpoint import Checkpoint
from store.core.errors import InvalidEvent
from store.core.event import timestamp
from store.database.connection import Connection
from store.founding import bring_up_to_date, signer_of
from store.keys import Signer


def sign(connection: Connection, signer: Signer) -> tuple[Checkpoint, bytes]:
    """Signs the log as it is and keeps the note; both. Raises KeyUnavailable."""

    def state() -> Checkpoint:
        bring_up_to_date(connection, signer.keys)
        leaves = signer.keys.seen
        root = log.root_at(connection, leaves)
        if root is None:
            raise InvalidEvent("the log shrank while it was signed")
        return Checkpoint(signer.origin, leaves, root)

    statement, note = signer.sign(state, lambda leaves: log.root_at(connection, leaves))
    with database.transaction(connection):
        log.add_checkpoint(connection, statement.size, note)
    return statement, note


def is_sealed(connection: Connection) -> bool:
    """Whether the newest checkpoint covers every leaf."""
    return log.sealed_size(connection) == log.size(connection)


def seal(folder: Path, keys: Path) -> tuple[Checkpoint, bytes, bool]:
    """A checkpoint over everything that an existing store holds, its note, and whether it had to be made.

    Raises StoreUnusable, KeyUnavailable.
    """
    database.demand(folder)
    with contextlib.closing(database.open_for_writing(folder)) as connection, database.explained(folder):
        signer = signer_of(connection, keys)
        with database.transaction(connection):
            journal.note_heads(connection, timestamp(datetime.now(UTC)))
        note = log.newest_checkpoint(connection)
        if note is not None and is_sealed(connection):
            return checkpoint.parse(note).checkpoint, note, False
        return *sign(connection, signer), True

"""Has the store log say who took what out of the store (docs/format.md, section 6)."""

import contextlib
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from store import database, log, sealing
from store.core.event import timestamp
from store.core.leaf import AccessExport
from store.founding import signer_of


def note_exports(folder: Path, keys: Path, exports: Iterable[AccessExport]) -> None:
    """Notes exports in the log of an existing store, and signs it. Raises StoreUnusable, KeyUnavailable."""
    database.demand(folder)
    with contextlib.closing(database.open_for_writing(folder)) as connection, database.explained(folder):
        signer = signer_of(connection, keys)
        with database.transaction(connection):
            for each in exports:
                log.append(connection, timestamp(datetime.now(UTC)), each)
        sealing.sign(connection, signer)

"""Seals the runs that a writer closes: small ones at once, long ones in a thread of its own.

Where sealing fails the bodies stay as they are, which is right too: `edgetape compact` tries again, and says why not.
"""

import contextlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from store import compaction, condensation, database, envelopes, journal
from store.commit import Committer
from store.condensation import Step
from store.core.errors import EdgetapeError
from store.database.connection import FAULTS, Connection
from store.vault import Vault


class Compactor:
    """Reads for itself; what it found is swapped by the committer."""

    def __init__(self, folder: Path, vault: Vault, committer: Committer) -> None:
        self._folder = folder
        self._vault = vault
        self._committer = committer
        self._thread = ThreadPoolExecutor(1, "edgetape-compactor")

    def seal(self, connection: Connection, run: str) -> None:
        """Seals a closed run; in the committer's thread, between its transactions."""
        with contextlib.suppress(*FAULTS, EdgetapeError):
            if not database.may_delete(connection):
                return
            bodies, events = compaction.log_bytes(connection, run), envelopes.row_bytes(connection, run)
            if bodies > compaction.AT_ONCE_BYTES_MAX or events > condensation.AT_ONCE_BYTES_MAX:
                with contextlib.suppress(RuntimeError):  # the writer is being closed
                    self._thread.submit(self._seal_aside, run)
                return
            found = compaction.sealed(connection, run, self._vault, self._folder)
            if found is not None:
                with database.transaction(connection):
                    compaction.swap(connection, found)
            with database.transaction(connection):
                for step in condensation.steps(connection, run):
                    step(connection)

    def seal_closed(self, connection: Connection, runs: Iterable[str]) -> None:
        """Seals those of these runs that are closed; as `seal` does."""
        for run in runs:
            last = journal.head(connection, run)
            if last is not None and last.type == "run.close":
                self.seal(connection, run)

    def stop(self) -> None:
        """Returns when all runs that were closed so far are sealed, or handed to the committer as such."""
        with contextlib.suppress(EdgetapeError):
            self._committer.submit(lambda: lambda _: None).result()
        self._thread.shutdown()

    def _seal_aside(self, run: str) -> None:
        with contextlib.suppress(*FAULTS, EdgetapeError):
            connection = database.open_for_reading(self._folder)
            try:
                # One of its own: the other is in use by the committer's thread.
                vault = Vault(self._vault.folder, self._vault.origin)
                found = compaction.sealed(connection, run, vault, self._folder)
                if found is not None:
                    self._commit(partial(compaction.swap, found=found))
                for step in condensation.steps(connection, run):
                    self._commit(step)
            finally:
                connection.close()

    def _commit(self, step: Step) -> None:
        """Returns when it is on disk."""

        def apply(connection: Connection) -> None:
            step(connection)

        self._committer.submit(lambda: apply).result()

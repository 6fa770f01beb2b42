"""The one way out: runs, events and bodies of a store, read-only.

Rules kept here:
- Never writes, and never makes a writer wait.
- A body that is given out is what was committed (revealing.py).
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from store import annotations, database, envelopes, naming, standing
from store.annotations import Said
from store.core import digest, event
from store.core.errors import EdgetapeError, Malformed, UnknownRun
from store.core.event import Event
from store.core.model import Parent, RunClose, RunOpen
from store.core.text import Apart, Headers, Text, pairs_in, text_bytes
from store.database.connection import Connection
from store.founding import founding
from store.linkage import linked
from store.revealing import BodyUnavailable, OpeningInfo, Revealer
from store.standing import Standing
from store.vault import Vault

__all__ = ["BodyUnavailable", "OpeningInfo", "Reader", "RunInfo"]


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One line of a list of runs. `opened` is a timestamp; `reason` and `exit_code` are known once it is closed;
    `origin` is the store that it was recorded in: another one than the reader's for a run that was imported.
    """

    id: str
    name: str
    mode: str
    workflow: str
    parent: Parent | None
    opened: str
    closed: str
    reason: str | None
    exit_code: int | None
    events: int
    steps: int
    origin: str = ""


class Reader:
    """Reads one store; use it as a context manager."""

    def __init__(self, folder: Path, connection: Connection, vault: Vault) -> None:
        self.folder = folder
        self.origin = vault.origin
        self.vault = vault
        self._connection = connection
        self._reading = threading.RLock()
        self._revealer = Revealer(folder, connection, vault, self._reading)

    @classmethod
    def open(cls, folder: Path, keys: Path) -> "Reader":
        """`keys` is the folder of the store key: without it only bodies cannot be read.

        Raises StoreUnusable when there is no store that this program can read.
        """
        connection = database.open_for_reading(folder)
        try:
            with database.explained(folder):
                known = founding(connection)
            if known is None:
                raise database.without_log(folder, "record a run first")
        except EdgetapeError:
            connection.close()
            raise
        return cls(folder, connection, Vault(keys, known.origin))

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the file back."""
        self._connection.close()

    def runs(self, mode: str | None = None) -> list[RunInfo]:
        """All runs, or those of one mode, newest first. A damaged one has the reason `damaged`, and hides no other."""
        query = (
            "SELECT id, name, mode, opened, events, steps FROM runs WHERE CAST(?1 AS TEXT) IS NULL OR mode = ?1"
            " ORDER BY opened DESC, id DESC"
        )
        with database.explained(self.folder):
            rows = self._connection.execute(query, (mode,)).fetchall()
        return [self._listed(*row) for row in rows]

    def _listed(self, run: str, name: str, mode: str, opened: str, events: int, steps: int) -> RunInfo:
        try:
            return self.run(run)
        except (Malformed, UnknownRun):
            # What the catalogue says of it is all that there is.
            return RunInfo(run, name, mode, "", None, opened, opened, "damaged", None, events, steps, self.origin)

    def run(self, run: str) -> RunInfo:
        """What the first and last events of a run say. Raises UnknownRun."""
        with database.explained(self.folder):
            row = self._connection.execute("SELECT steps, closed FROM runs WHERE id = ?", (run,)).fetchone()
            ends = envelopes.first(self._connection, run), envelopes.last(self._connection, run)
        if row is None or ends[0] is None or ends[1] is None:
            raise UnknownRun(f"there is no run {run} in this store")
        try:
            first, last = event.decode(ends[0].raw), event.decode(ends[1].raw)
        except Malformed as error:
            raise Malformed(f"run {run} is damaged: {error}", hint=f"run `edgetape verify {run}`") from error
        opened = first.facts
        if not isinstance(opened, RunOpen):
            raise Malformed(f"run {run} is damaged: it does not begin with run.open", hint=f"`edgetape verify {run}`")
        closed = last.facts if isinstance(last.facts, RunClose) else None
        return RunInfo(
            id=run,
            name=opened.name if isinstance(opened.name, str) else "",
            mode=opened.mode,
            workflow=opened.workflow if isinstance(opened.workflow, str) else "",
            parent=opened.parent,
            opened=first.place.ts,
            closed=last.place.ts if closed else "",
            reason=closed.reason if closed else None,
            exit_code=closed.exit_code if closed else None,
            events=last.seq + 1,
            steps=row[0],
            origin=opened.origin,
        )

    def find(self, word: str) -> RunInfo:
        """The run that a person means: `last`, `last:MODE`, a name (its newest run), an id or a unique beginning of
        one.

        Raises UnknownRun, saying what comes near.
        """
        return self.run(self.identify(word))

    def identify(self, word: str) -> str:
        """The id of the run that `find` finds. Raises UnknownRun."""
        with database.explained(self.folder):
            return naming.identify(self._connection, word)

    def standing(self, run: str) -> Standing:
        """What the log says was done to a run: held, erased, pruned."""
        with database.explained(self.folder):
            return standing.of_run(self._connection, run)

    def standings(self) -> Mapping[str, Standing]:
        """The same of all runs of which something is said, also of those that have left the store."""
        with database.explained(self.folder):
            return standing.of_all(self._connection)

    def events(self, run: str) -> Iterator[Event]:
        """The events of a run in order. Raises Malformed at one that is none."""
        with database.explained(self.folder):
            for envelope in envelopes.in_order(self._connection, run):
                yield event.decode(envelope.raw)

    def linked_events(self, run: str) -> Iterator[Event]:
        """The same, each held against its hash and the event before it. Raises Unlinked, Malformed."""
        with database.explained(self.folder):
            yield from linked(envelopes.in_order(self._connection, run), run)

    def annotations(self, run: str) -> list[Said]:
        """What people said about the events of a run, in order."""
        with self._reading, database.explained(self.folder), database.snapshot(self._connection):
            return annotations.said(list(annotations.of_run(self._connection, run, self.vault)))

    def event(self, run: str, seq: int) -> Event:
        """One event. Raises UnknownRun when the run has no such event."""
        return event.decode(self._envelope(run, seq))

    def event_hash(self, run: str, seq: int) -> bytes:
        """The event_hash of one event, recomputed (32 bytes)."""
        return digest.event_hash(self._envelope(run, seq))

    def demand_key(self) -> None:
        """Raises KeyUnavailable unless the store key is there, without which no body can be read."""
        with self._reading, database.explained(self.folder):
            self.vault.store_key(self._connection)

    def moment(self) -> AbstractContextManager[None]:
        """What is asked for inside is of one moment, in which the keys of each run are read once."""
        return self._revealer.moment()

    def opening(self, happened: Event, apart: Apart) -> OpeningInfo:
        """What is known of the body that `apart` names. Raises BodyUnavailable when its opening is gone or forged, or
        the store key is not there.
        """
        return self._revealer.opening(happened, apart)

    def body(self, happened: Event, apart: Apart | None) -> bytes:
        """The body that `apart` names, or nothing for None. Raises BodyUnavailable when it is gone or is not what was
        committed.
        """
        return b"" if apart is None else self._revealer.body(happened, apart)

    def text(self, happened: Event, value: Text | None) -> bytes:
        """The bytes of a text, wherever it is kept."""
        if isinstance(value, str):  # as by far the most are
            return value.encode()
        if value is None:
            return b""
        if value.body is not None:
            return self.body(happened, value)
        return text_bytes(value)

    def pairs(self, happened: Event, headers: Headers | None) -> list[tuple[bytes, bytes]]:
        """Ordered pairs of names and values, wherever they are kept."""
        if headers is None:
            return []
        if isinstance(headers, Apart):
            try:
                return pairs_in(self.body(happened, headers))
            except Malformed as error:
                raise BodyUnavailable(f"a header list of event {happened.seq} cannot be read: {error}") from error
        return [(self.text(happened, name), self.text(happened, value)) for name, value in headers]

    def _envelope(self, run: str, seq: int) -> bytes:
        with database.explained(self.folder):
            found = envelopes.one(self._connection, run, seq)
        if found is None:
            raise UnknownRun(f"run {run} has no event {seq}")
        return found.raw

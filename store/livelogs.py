"""The logs of the runs that a writer writes, in step with its transactions (docs/format.md, sections 5 and 8).

Rules kept here:
- What a log remembers only makes it smaller. Whether its end and its keys are still the stored ones is read in each
  transaction that touches it, unless nobody else has committed since they were (`Recall`); where they are not (another
  writer, or an erasure, was there), it begins anew behind what is stored.
- A log that nobody wrote into for a while gives its memory back.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from store import additions, payloads
from store.additions import Additions
from store.core.draft import Bytes
from store.core.errors import StoreUnusable
from store.core.redact import Long
from store.database import changes
from store.database.connection import Connection
from store.labels.describe import plural
from store.loans import Lender
from store.recall import Recall
from store.splices.livelog import LiveLog
from store.splices.splicer import Mark, Splicer
from store.splices.stream import Span
from store.vault import RunKeys, Vault, Wrapped

LOGS_MAX = 64
LENDERS_MAX = 64
IDLE_S_MAX = 600.0
_FLUSH_BYTES = 1 << 20  # of a long body: what a frame holds


class Marks(msgspec.Struct, frozen=True):
    """A state of all logs, and of what was added."""

    logs: Mapping[str, Mark]
    additions: additions.Mark


@dataclass(slots=True)
class _Live:
    """One log, the keys that it is written with, its last block as it is stored, and when it was last written into."""

    log: LiveLog
    wrapped: Wrapped
    last: Span | None
    used_s: float


class LiveLogs:
    """Used by the writer's thread alone. `vault` has the keys of the runs."""

    def __init__(self, vault: Vault) -> None:
        self.recall = Recall()
        self.additions = Additions()
        self._vault = vault
        self._live: dict[str, _Live] = {}
        self._touched: dict[str, Mark] = {}  # and how each was when the transaction came to it
        self._flushed: dict[str, Span] = {}
        self._lenders: dict[str, Lender] = {}

    def __len__(self) -> int:
        return len(self._live)

    def keys(self, connection: Connection, run: str) -> RunKeys:
        """The keys of a run as they are now. Raises KeyUnavailable; Malformed where they are gone or damaged."""
        known = self.recall.keys.get(run)
        if known is None:
            known = self._vault.of(connection, run)
            if connection.in_transaction:
                self.recall.keys[run] = known
        return known

    def lender(self, connection: Connection, run: str) -> Lender:
        """A run of whose bodies others are the same. Raises KeyUnavailable; Malformed where its keys are gone."""
        keys, known = self.keys(connection, run), self._lenders.get(run)
        if known is None or known.keys is not keys:
            while len(self._lenders) >= LENDERS_MAX:
                del self._lenders[next(iter(self._lenders))]
            known = self._lenders[run] = Lender(keys)
        return known

    def found(self, connection: Connection, run: str) -> RunKeys:
        """The keys of a new run, which it is given here. Raises KeyUnavailable."""
        self._vault.make(connection, run)
        return self._vault.of(connection, run)

    def add(self, connection: Connection, run: str, shelf: str, body: Bytes) -> int:
        """Adds a body of `run`; its place. Of a long one most is stored at once: then only a rollback undoes it.

        Raises StoreUnusable for one that is not as long as it said.
        """
        if run not in self._touched:
            live = self._current(connection, run)
            self._touched[run] = live.log.mark()
        log = self._live[run].log
        return self._add_long(connection, run, body) if isinstance(body, Long) else log.add(body, shelf)

    def begin(self, connection: Connection) -> None:
        """A transaction has begun: what was read in the one before counts if nobody else has committed since."""
        self.recall.begin(changes(connection))

    @property
    def is_flushed(self) -> bool:
        """Whether something of this transaction can only be rolled back."""
        return bool(self._flushed)

    def mark(self) -> Marks:
        """The state now, for `undo` in the same transaction."""
        return Marks({run: self._live[run].log.mark() for run in self._touched}, self.additions.mark())

    def undo(self, marks: Marks) -> None:
        """Forgets what was added since."""
        self.recall.forget()
        self.additions.undo(marks.additions)
        for run, first in self._touched.items():
            self._live[run].log.undo(marks.logs.get(run, first))

    def flush(self, connection: Connection, *, hurried: bool = False) -> None:
        """Stores what was added, before the commit; `hurried` when much more waits already."""
        self.additions.write(connection)
        for run in self._touched:
            self._flush(connection, run, hurried=hurried)

    def commit(self, *, appended: bool = False) -> None:
        """All that was flushed is on disk; `appended` when the transaction has only appended to runs that are there."""
        if appended:
            self.recall.pieces.clear()
        else:
            self.recall.forget()
        now_s = time.monotonic()
        for run in self._touched:
            live = self._live.pop(run)
            live.log.commit()
            live.last, live.used_s = self._flushed.get(run, live.last), now_s
            self._live[run] = live  # the newest stands last
        self._touched, self._flushed = {}, {}
        for run in list(self._live):
            if len(self._live) <= LOGS_MAX and now_s - self._live[run].used_s < IDLE_S_MAX:
                break
            del self._live[run]

    def rollback(self) -> None:
        """Nothing since the last commit is."""
        self.recall.forget()
        self.additions.forget()
        for run in self._touched:
            self._live[run].log.rollback()
        self._touched, self._flushed = {}, {}

    def drop(self, run: str) -> None:
        """Forgets a run, when no transaction is open: nothing more is written into it."""
        self._live.pop(run, None)

    def _add_long(self, connection: Connection, run: str, body: Long) -> int:
        log, left, waiting = self._live[run].log, body.length, 0
        self._flush(connection, run)
        place = log.begin(body.length)
        for piece in body.pieces():
            log.extend(piece)
            left, waiting = left - len(piece), waiting + len(piece)
            if waiting >= _FLUSH_BYTES:
                self._flush(connection, run)
                waiting = 0
        if left:
            raise StoreUnusable(f"a long body differs by {plural(left, 'byte')} from what it was")
        return place

    def _flush(self, connection: Connection, run: str, *, hurried: bool = False) -> None:
        change = self._live[run].log.flush(hurried=hurried)
        if change.gone:
            connection.executemany(
                "DELETE FROM blocks WHERE run = ? AND number = ?", [(run, number) for number in change.gone]
            )
        payloads.insert(connection, run, change.blocks)
        if change.blocks:
            self._flushed[run] = change.blocks[-1].span

    def _current(self, connection: Connection, run: str) -> _Live:
        live = self._live.get(run)
        if live is not None and run in self.recall.ends:
            return live
        row = connection.execute(
            "SELECT number, start, length, frame FROM blocks WHERE run = ? ORDER BY number DESC LIMIT 1", (run,)
        ).fetchone()
        last = None if row is None else Span(*row)
        keys = self.keys(connection, run)
        if live is None or live.last != last or live.wrapped != keys.wrapped:
            log = LiveLog(keys.guard, Splicer(last.end if last else 0), last.number + 1 if last else 0)
            live = self._live[run] = _Live(log, keys.wrapped, last, time.monotonic())
        self.recall.ends.add(run)
        return live

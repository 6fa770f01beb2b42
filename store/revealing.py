"""Bodies as a reader reveals them: each held against its opening, and that against the commitment in its event.

Rules kept here:
- The keys of a run are read in the moment in which a body is given out. As long as they are the same, nothing of the
  run was erased, for an erasure changes them: what was read and held against its commitment need not be read again.
  Whoever asks for several bodies for one purpose may ask for all in one moment.
- Where the bodies of a run were is remembered only as a shortcut: where it does not fit any more, it is read anew.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from store import database, loans, openings, payloads, standing
from store.core import digest
from store.core.errors import EdgetapeError, KeyUnavailable, Malformed
from store.core.event import Event
from store.core.text import Apart
from store.database.connection import Connection
from store.openings import OpeningRow
from store.payloads import Bodies
from store.vault import RunKeys, Vault

BYTES_KEPT_MAX = 8 << 20
_OPENINGS_KEPT = 4096
_BLOCKS_KEPT = 4
_RUNS_KEPT = 256
_HELD_BYTES_MAX = 64 << 20  # of all runs but the one that is read

type _Name = tuple[int, str]
"""The seq of an event, and a commitment in it (64 hex)."""


class BodyUnavailable(EdgetapeError):
    """A body that is committed but not there any more, or not what was committed."""


class OpeningInfo(msgspec.Struct, frozen=True):
    """What is known of a body without reading it: where its event names it, its SHA-256, its length in bytes, and where
    it is stored in the log of its run (not there: None).
    """

    pointer: str
    sha256: bytes
    length: int
    place: int | None = None


@dataclass(slots=True)
class _Run:
    """What is remembered of a run while its keys are these."""

    keys: RunKeys
    bodies: Bodies | None = None
    _near: list[Mapping[int, Sequence[OpeningRow]]] = field(default_factory=list)
    _openings: dict[_Name, OpeningInfo] = field(default_factory=dict)
    _read: OrderedDict[_Name, bytes] = field(default_factory=OrderedDict)
    _read_bytes: int = 0
    held_bytes: int = 0

    def opening(self, name: _Name) -> OpeningInfo | None:
        """The opening of a body, as far as it was seen."""
        seq, _ = name
        if name not in self._openings:
            self.learn(seq, next((rows[seq] for rows in self._near if seq in rows), ()))
        return self._openings.get(name)

    def content(self, name: _Name) -> bytes | None:
        """A body that was read lately."""
        return self._read.get(name)

    def learn(
        self, seq: int, rows: Iterable[OpeningRow], near: Mapping[int, Sequence[OpeningRow]] | None = None
    ) -> None:
        """Keeps the openings of an event, and those that stand near: who reads a run asks for one after another."""
        if near:
            self._near = [near, *self._near[: _BLOCKS_KEPT - 1]]
        if len(self._openings) > _OPENINGS_KEPT:
            self._openings.clear()
        for stored in rows:
            row = stored.shown(seq, self.keys.veil)
            if row.is_sound:
                name = seq, digest.commitment(row.salt, row.sha256, row.length).hex()
                self._openings.setdefault(name, OpeningInfo(row.pointer, row.sha256, row.length, row.place))

    def keep(self, name: _Name, content: bytes) -> None:
        """Keeps a body that is what was committed."""
        self._read_bytes += len(content) - len(self._read.pop(name, b""))
        self._read[name] = content
        while self._read_bytes > BYTES_KEPT_MAX:
            self._read_bytes -= len(self._read.popitem(last=False)[1])

    def grown_bytes(self) -> int:
        """By how much it holds more than when it was asked last."""
        before = self.held_bytes
        self.held_bytes = self._read_bytes + (self.bodies.held_bytes if self.bodies is not None else 0)
        return self.held_bytes - before


class Revealer:
    """Of one store. Used by one thread at a time, which `lock` sees to."""

    def __init__(self, folder: Path, connection: Connection, vault: Vault, lock: threading.RLock) -> None:
        self._folder = folder
        self._connection = connection
        self._vault = vault
        self._lock = lock
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._held_bytes = 0
        self._moment: dict[str, _Run] | None = None

    @contextmanager
    def moment(self) -> Iterator[None]:
        """What is given out inside is of one moment: which keys a run has is asked once."""
        with self._lock:
            outer = self._moment
            self._moment = {} if outer is None else outer
            try:
                yield
            finally:
                self._moment = outer

    def opening(self, happened: Event, apart: Apart) -> OpeningInfo:
        """What is known of the body that `apart` names. Raises BodyUnavailable when its opening is gone or forged, or
        the store key is not there.
        """
        with self._lock, database.explained(self._folder):
            name = happened.seq, apart.body or ""
            known = self._runs.get(happened.run)
            found = None if known is None else known.opening(name)
            if found is not None and self._current(happened.run) is known:
                return found
            with database.snapshot(self._connection):
                return self._opening(happened, name)[1]

    def body(self, happened: Event, apart: Apart) -> bytes:
        """The body that `apart` names. Raises BodyUnavailable when it is gone or is not what was committed."""
        with self._lock, database.explained(self._folder):
            name = happened.seq, apart.body or ""
            known = self._current(happened.run)
            read = None if known is None else known.content(name)
            if read is not None:
                return read
            opening = None if known is None else known.opening(name)
            if known is not None and opening is not None:
                # What was changed since the keys were read does not open with them, or is not what was committed.
                with suppress(Malformed):
                    return self._stored(happened, name, known, opening)
            with database.snapshot(self._connection):
                return self._body(happened, name)

    def _body(self, happened: Event, name: _Name) -> bytes:
        known, opening = self._opening(happened, name)
        try:
            return self._stored(happened, name, known, opening)
        except Malformed:
            while self._runs:  # it may stand elsewhere by now
                self._forget()
        known, opening = self._opening(happened, name)
        try:
            return self._stored(happened, name, known, opening)
        except Malformed as error:
            said = f"the body {opening.pointer} of event {happened.seq} cannot be read: {error}"
            raise BodyUnavailable(said) from error

    def _opening(self, happened: Event, name: _Name) -> tuple[_Run, OpeningInfo]:
        run, seq = happened.run, happened.seq
        known = self._current(run)
        found = None if known is None else known.opening(name)
        if found is None:
            rows, near = openings.around(self._connection, run, seq)
            if rows:
                known = known or self._demanded(run, seq)
                known.learn(seq, rows, near)
                found = known.opening(name)
        if known is not None and found is not None:
            return known, found
        erased = standing.erased(self._connection, run, seq)
        if erased is None:
            raise BodyUnavailable(f"a body of event {seq} is missing or damaged", hint="`edgetape verify` says which")
        raise BodyUnavailable(f"the bodies of event {seq} were erased at {erased[0]}: {erased[1].reason}")

    def _stored(self, happened: Event, name: _Name, known: _Run, opening: OpeningInfo) -> bytes:
        run, place, lender = happened.run, opening.place, known
        if place is None:
            run, place = loans.kept(self._connection, run, happened.seq, opening.pointer)
            lender = self._demanded(run, happened.seq)
        if lender.bodies is None:
            lender.bodies = payloads.bodies(self._connection, run, lender.keys.guard)
        content = lender.bodies.body(place, opening.length)
        if digest.body_digest(content) != opening.sha256:
            raise Malformed("it is not what was committed")
        known.keep(name, content)
        self._held_bytes += known.grown_bytes() + (0 if lender is known else lender.grown_bytes())
        while self._held_bytes - known.held_bytes > _HELD_BYTES_MAX:
            self._forget()
        return content

    def _current(self, run: str) -> _Run | None:
        """What is remembered of a run, if its keys are still the same; else nothing yet, and None where it has none."""
        try:
            return self._of(run)
        except (KeyUnavailable, Malformed):
            return None

    def _demanded(self, run: str, seq: int) -> _Run:
        try:
            return self._of(run)
        except KeyUnavailable as error:
            raise BodyUnavailable(f"no body of this store can be read: {error}", hint=error.hint) from error
        except Malformed as error:
            raise BodyUnavailable(f"the bodies of event {seq} cannot be read: {error}") from error

    def _of(self, run: str) -> _Run:
        if self._moment is not None and run in self._moment:
            return self._moment[run]
        keys = self._vault.of(self._connection, run)
        known = self._runs.get(run)
        if known is None or known.keys is not keys:
            if known is not None:
                self._forget(run)
            known = self._runs[run] = _Run(keys)
        self._runs.move_to_end(run)
        if len(self._runs) > _RUNS_KEPT:
            self._forget()
        if self._moment is not None:
            self._moment[run] = known
        return known

    def _forget(self, run: str = "") -> None:
        """Forgets a run, or the one that was not read for the longest time."""
        name = run or next(iter(self._runs))
        self._held_bytes -= self._runs.pop(name).held_bytes
        if self._moment is not None:
            self._moment.pop(name, None)

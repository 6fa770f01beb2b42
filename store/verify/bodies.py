"""Holds openings against commitments, and payloads against openings (docs/format.md, section 7, rule 9); pure.

Rules kept here:
- Openings are met with the events that they belong to, so nothing is held for longer than an event.
- A fault is one of its event: what was found of the events themselves is said elsewhere, and once.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from store.core import digest
from store.core.errors import EdgetapeError, KeyUnavailable, Malformed
from store.openings import OpeningRow
from store.payloads import Oversize
from store.verify.chain import Walk
from store.verify.ledger import Erasures, Ledger
from store.verify.records import Content, Records, StoredBodies
from store.verify.verdict import Tally

type Contents = Mapping[str, bytes]


@dataclass(slots=True)
class BodyCheck:
    """Checks the bodies of one run, whose events come one after the other."""

    run: str
    log: Ledger
    records: Records
    tally: Tally = field(default_factory=Tally)
    count: int = 0
    _content: Content = field(init=False)
    _openings: Iterator[tuple[int, OpeningRow]] = field(init=False)
    _next: tuple[int, OpeningRow] | None = field(init=False)
    _waiting: dict[int, list[OpeningRow]] = field(default_factory=dict)
    _unopened: dict[int, set[str]] = field(default_factory=dict)
    _erased: Erasures = field(init=False)
    _strays: bool = False
    _shut: bool = False

    def __post_init__(self) -> None:
        self._content = self.records.content(self.run, self.log.origin)
        self._openings = self._content.openings
        self._next = next(self._openings, None)
        for seq, pointer in self.records.strays(self.run):
            self._unopened.setdefault(seq, set()).add(pointer)
        self._erased = self.log.erased.get(self.run, Erasures())

    def event(self, seq: int, named: Mapping[str, str] | None) -> Contents:
        """Checks the bodies of an event that commits to `named` (None: it cannot be read); those that are sound."""
        rows, unopened = self._rows(seq), self._unopened.pop(seq, set())
        if named is None:
            self._strays = self._strays or bool(rows or unopened)
            return {}
        if not (named or rows or unopened):
            return {}
        self.count += len(named)
        found: dict[str, OpeningRow] = {}
        doubled: set[str] = set()
        for row in rows:
            if found.setdefault(row.pointer, row) is not row:
                doubled.add(row.pointer)
            if row.place is not None and self._content.lent(seq, row.pointer) is not None:
                doubled.add(row.pointer)
        for pointer in sorted(doubled & named.keys()):
            self.tally.find("V204", f"{pointer} has more than one opening or place", self.run, seq)
        contents = {}
        for row in sorted(found.values(), key=_place):
            if row.pointer not in named:
                self._stray(seq, row.pointer)
            elif seq in self._erased:
                self.tally.find("V606", f"{row.pointer} is erased on record, and still there", self.run, seq)
            elif (body := self._body(seq, row, named[row.pointer])) is not None:
                contents[row.pointer] = body
        for pointer in sorted(unopened - named.keys()):
            self._stray(seq, pointer)
        for pointer in sorted(named.keys() - found.keys()):
            self._miss(seq, pointer, kept=pointer in unopened)
        return contents

    def end(self, found: Walk) -> None:
        """Finds what belongs to no event, once all of them were there."""
        if self.records.extent.keys:
            self._check_keys(found)
        promised = self.log.runs[self.run].promised if self.run in self.log.runs else 0

        def strays(seq: int, pointers: Iterable[str]) -> None:
            self._strays = True
            if not found.is_gap(seq) and not found.last < seq < promised:
                for pointer in sorted(pointers):
                    self._stray(seq, pointer)

        for seq, rows in sorted(self._waiting.items()):
            strays(seq, {row.pointer for row in rows})
        for seq, pointers in sorted(self._unopened.items()):
            strays(seq, pointers)
        while self._next is not None:
            seq, row = self._next
            strays(seq, [row.pointer])
            self._next = next(self._openings, None)
        if not (self._shut or self._strays or self.tally.findings or self._content.bodies.exact):
            self.tally.find("V605", "its blocks hold more than its bodies, or a body twice", self.run)

    def _check_keys(self, found: Walk) -> None:
        """A run has its two keys until all of it is erased: what they closed is gone when they are."""
        if self._erased.whole or not found.count:
            if self._content.keyed:
                said = "its keys are erased on record, or of no run, and still there"
                self.tally.find("V606", said, self.run)
        elif isinstance(self._content.failure, Malformed):
            self.tally.find("V604", f"its keys: {self._content.failure}", self.run)

    def _rows(self, seq: int) -> list[OpeningRow]:
        """The openings of an event; those of others that come before are kept until their event comes."""
        while self._next is not None and self._next[0] <= seq:
            self._waiting.setdefault(self._next[0], []).append(self._next[1])
            self._next = next(self._openings, None)
        return self._waiting.pop(seq, [])

    def _stray(self, seq: int, pointer: str) -> None:
        self._strays = True
        self.tally.find("V606", f"{pointer} is kept, no event commits to it", self.run, seq)

    def _miss(self, seq: int, pointer: str, *, kept: bool) -> None:
        """A commitment without an opening; `kept` says that it has a payload all the same."""
        if seq not in self._erased:
            self.tally.find("V601", f"{pointer} has no opening", self.run, seq)
        elif kept:
            self.tally.find("V606", f"{pointer} is erased on record, and still stored", self.run, seq)
        else:
            self.tally.counts["PAYLOADS_ERASED"] += 1

    def _leave(self, seq: int, row: OpeningRow, failure: EdgetapeError) -> None:
        """Says what can be said of a body that cannot be opened: whether it is there."""
        self._shut = True
        if self._kept(seq, row)[1] is None:
            self.tally.find("V603", row.pointer, self.run, seq)
        elif isinstance(failure, KeyUnavailable):
            self.tally.counts["PAYLOADS_LOCKED"] += 1
            self.tally.locked = failure

    def _kept(self, seq: int, row: OpeningRow) -> tuple[StoredBodies, int | None]:
        """The bodies among which one is kept, of its own run or of another one, and its place there."""
        lent = self._content.lent(seq, row.pointer) if row.place is None else None
        return (self._content.bodies, row.place) if lent is None else (lent.bodies, lent.place)

    def _body(self, seq: int, row: OpeningRow, named: str) -> bytes | None:
        """The body that an opening opens, if it is what the event commits to."""
        if row.damage:
            self.tally.find("V602", f"{row.pointer}: {row.damage}", self.run, seq)
            return None
        if self._content.failure is not None:
            self._leave(seq, row, self._content.failure)
            return None
        if not row.is_sound or digest.commitment(row.salt, row.sha256, row.length).hex() != named:
            self.tally.find("V602", row.pointer, self.run, seq)
            return None
        bodies, place = self._kept(seq, row)
        if place is None:
            self.tally.find("V603", row.pointer, self.run, seq)
            return None
        try:
            body = bodies.body(place, row.length)
        except Oversize as error:
            self.tally.find("V607", f"{row.pointer}: {error}", self.run, seq)
        except Malformed as error:
            self.tally.find("V604", f"{row.pointer}: {error}", self.run, seq)
        else:
            if digest.body_digest(body) == row.sha256:
                return body
            self.tally.find("V604", row.pointer, self.run, seq)
        return None


def _place(row: OpeningRow) -> int:
    return -1 if row.place is None else row.place

"""Reads the events of one run on their own: their bytes, their order, their links.

Pure; docs/format.md, section 7, rules 1-4.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import assert_never

from store.core import canonical, digest, event, merkle
from store.core.errors import Malformed
from store.core.event import Event
from store.core.model import Gap, LogPoint, Parent, RunClose, RunOpen, RunSpawn, is_step
from store.core.ranges import Ranges
from store.core.shape import UnknownShape, UnknownVersion
from store.core.text import plain
from store.envelopes import Envelope
from store.verify.family import Spawned
from store.verify.ledger import Ledger
from store.verify.records import CatalogueRow
from store.verify.verdict import Tally

type Taken = Callable[[Envelope, Event | None], None]

# Where an event has one of these, the root over all events is not to be compared.
_BREAKS_ROOT = frozenset(("V201", "V202", "V203", "V204", "V206", "V207"))


@dataclass(slots=True)
class Walk:
    """What was found of one run.

    `hashes` are, by seq, the hash kept with an event and the one that its bytes give, for the last event and those
    that are `wanted` (for all where that is None); `close` is the first readable run.close, with the root of the events
    before it; `after` the seqs behind it; `clock` is (seq, mono_us) of the last event that can be trusted; `told` what
    the catalogue should say.
    """

    run: str
    tally: Tally
    wanted: set[int] | None = None
    count: int = 0
    steps: int = 0
    last: int = -1
    next_seq: int = 0
    hashes: dict[int, tuple[bytes, bytes]] = field(default_factory=dict)
    seen: Ranges = field(default_factory=Ranges)
    unread: set[int] = field(default_factory=set)
    whole: bool = True
    point: LogPoint | None = None
    close: tuple[int, RunClose, bytes] | None = None
    after: list[int] = field(default_factory=list)
    said: set[tuple[str, int | None]] = field(default_factory=set)
    told: CatalogueRow | None = None
    parent: Parent | None = None
    spawned: list[Spawned] = field(default_factory=list)
    clock: tuple[int, int] | None = None
    tree: merkle.Tree = field(default_factory=merkle.Tree)

    def find(self, code: str, sentence: str, seq: int | None = None) -> None:
        """Adds a finding, once though two rules come upon it."""
        if code in _BREAKS_ROOT:
            self.whole = False
        if (code, seq) not in self.said:
            self.said.add((code, seq))
            self.tally.find(code, sentence, self.run, seq)

    def is_gap(self, seq: int) -> bool:
        """Whether an event is missing between others, which is a finding of its own."""
        return 0 <= seq < self.last and seq not in self.seen

    def is_head(self, head: str, seq: int) -> bool:
        """Whether `head` is the hash of the event `seq`; true of one that was found missing already."""
        return self.is_gap(seq) or bytes.fromhex(head) in self.hashes.get(seq, ())


def walk(run: str, rows: Iterator[Envelope], log: Ledger, tally: Tally, taken: Taken, *, ordered: bool) -> Walk:
    """Reads all rows of a run; where they are `ordered` by seq, in little room.

    `taken` is given each row, and its event if it is readable.
    """
    found = Walk(run, tally, log.runs[run].ends if run in log.runs else set())
    if not ordered:
        found.wanted = None
    for row in rows:
        found.count += 1
        if not found.seen.add(row.seq, row.seq + 1):
            found.find("V204", "this seq occurs twice", row.seq)
            continue
        if row.seq > found.next_seq:
            found.find("V202", f"event {found.next_seq} is missing", found.next_seq)
        found.next_seq = max(row.seq + 1, 0)
        before, found.last = found.last, row.seq
        taken(row, _take(found, row, log))
        found.tree.append(row.raw)
        if found.wanted is not None and before not in found.wanted:
            found.hashes.pop(before, None)
    found.told = found.told and replace(found.told, events=found.count, steps=found.steps)
    return found


def _take(found: Walk, row: Envelope, log: Ledger) -> Event | None:
    if row.damage:
        found.find("V201", row.damage, row.seq)
    hashed = digest.event_hash(row.raw)
    found.hashes[row.seq] = (row.hash, hashed)
    clock, found.clock = found.clock, None
    happened = None
    try:
        happened = _read(row)
    except UnknownVersion as error:
        found.tally.newer.append(f"run {found.run} seq {row.seq}: {error}")
        found.whole = False
        found.unread.add(row.seq)
        return None
    except Malformed as error:
        found.unread.add(row.seq)
        _check_hash(found, row, hashed)
        found.find(_code(error), str(error), row.seq)
    else:
        _check_hash(found, row, hashed)
        _check_place(found, row, happened, log)
        now = happened.place.mono_us
        if clock is not None and clock[0] == row.seq - 1 and now < clock[1]:
            found.find("V205", f"{now} us after {clock[1]} us", row.seq)
        if ("V203", row.seq) not in found.said:
            found.clock = (row.seq, now)
        _note(found, row.seq, happened)
    if found.close is not None and row.seq > found.close[0]:
        found.after.append(row.seq)
    return happened


def _read(row: Envelope) -> Event:
    happened = event.decode(row.raw)
    if isinstance(happened.facts, RunOpen) != (row.seq == 0):
        raise UnknownShape("a run begins with run.open, which comes nowhere else")
    return happened


def _code(error: Malformed) -> str:
    match error:
        case canonical.TooLarge():
            return "V207"
        case UnknownShape():
            return "V206"
        case Malformed():
            return "V201"
    assert_never(error)


def _check_hash(found: Walk, row: Envelope, hashed: bytes) -> None:
    if hashed != row.hash:
        found.find("V203", "its bytes do not give the hash that is kept with it", row.seq)


def _check_place(found: Walk, row: Envelope, happened: Event, log: Ledger) -> None:
    place = happened.place
    if (place.run, place.seq) != (row.run, row.seq):
        found.find("V202", f"the record says that it is event {place.seq} of run {place.run}", row.seq)
    if row.seq == 0:
        origin = log.origin_of(row.run)
        if origin is not None and not _begins_in(origin, row.run, happened):
            found.find("V212", "it does not begin in this store", 0)
    elif row.seq - 1 in found.hashes and bytes.fromhex(place.prev) not in found.hashes[row.seq - 1]:
        found.find("V203", "the event before it has another hash", row.seq)


def _begins_in(origin: str, run: str, first: Event) -> bool:
    stated = first.facts.origin if isinstance(first.facts, RunOpen) else None
    return stated == origin and first.place.prev == digest.genesis_prev(origin, run).hex()


def _note(found: Walk, seq: int, happened: Event) -> None:
    match happened.facts:
        case RunOpen() as opened:
            found.point, found.parent = opened.checkpoint, opened.parent
            found.tally.counts["IMPORTED"] += opened.mode == "import"
            found.told = _told(opened, happened.place.ts)
        case RunClose() as closed if found.close is None:
            found.close = seq, closed, found.tree.root
            if found.wanted is not None:
                found.wanted.add(seq - 1)
            found.told = found.told and replace(found.told, closed=happened.place.ts)
        case RunSpawn() as spawn:
            found.spawned.append(Spawned(seq, spawn.child, spawn.genesis))
        case facts if is_step(facts):
            found.steps += 1
        case Gap():
            found.tally.counts["GAPS"] += 1


def _told(opened: RunOpen, ts: str) -> CatalogueRow:
    """What the catalogue has to say of a run that begins so."""
    name, workflow = plain(opened.name), plain(opened.workflow)
    parent = opened.parent.run if opened.parent else ""
    return CatalogueRow(name, opened.mode, workflow, parent, ts, "", 0, 0)

"""Checks the store log: leaves, the tree over them, checkpoints; and gathers what the log committed to.

Pure; docs/format.md, section 7, rules 6-8.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from store.core import checkpoint, leaf
from store.core.checkpoint import SignedCheckpoint, VerifierKey
from store.core.errors import Malformed
from store.core.keyring import Keyring
from store.core.merkle import Forest
from store.core.proof import is_extension
from store.core.shape import UnknownVersion
from store.verify.annotations import Annotated
from store.verify.records import Outside, Records
from store.verify.verdict import Tally


@dataclass(slots=True)
class Commitment:
    """What the log says of one run. Of several leaves that open or close it the first counts.

    `heads` are (number of events, hash of the last) of its run.head leaves; `covered` (position, events) of all.
    A leaf that it was pruned takes the place of all that was said before.
    """

    opened: leaf.RunOpened | None = None
    heads: list[tuple[int, str]] = field(default_factory=list)
    closed: leaf.RunClosed | None = None
    imported: leaf.RunImported | None = None
    pruned: bool = False
    covered: list[tuple[int, int]] = field(default_factory=list)

    @property
    def promised(self) -> int:
        """How many events the run had at least."""
        return 0 if self.pruned else max((events for _, events in self.covered), default=0)

    @property
    def ends(self) -> set[int]:
        """The seqs of the events whose hashes it names."""
        return {events - 1 for _, events in self.covered}

    def sealed(self, size: int) -> int:
        """How many of its events a checkpoint of `size` leaves covers."""
        return max((events for position, events in self.covered if position < size), default=0)


@dataclass(slots=True)
class Erasures:
    """Which bodies of one run the log says are erased: those of the events `seqs`, or all."""

    seqs: set[int] = field(default_factory=set)
    whole: bool = False

    def add(self, seq: int | None) -> None:
        """Takes in a leaf: of one event, or of all for None."""
        self.whole = self.whole or seq is None
        self.seqs |= {seq} if seq is not None else set()

    def __contains__(self, seq: int) -> bool:
        return self.whole or seq in self.seqs


@dataclass(slots=True)
class Ledger:
    """What the log says once it is checked.

    `keys` are those that its leaves bring into force; they and `origin` are None where leaf 0 cannot be read;
    `length` counts positions; `tree` holds the leaves before the first one that is missing; `checkpoint` is the size
    and time of the newest sound one, `sound` are the sizes of all; `newer` says that there are leaves which this
    program cannot read, `unread` are the positions of those that it could not; `anchors` are by position, `outside` is
    what is kept of them, `notes` are the checkpoints that they name. Where the log is not there as a whole, `root` is
    that of all of it.
    """

    keys: Keyring | None = None
    origin: str | None = None
    length: int = 0
    checkpoint: tuple[int, str] | None = None
    runs: dict[str, Commitment] = field(default_factory=dict)
    erased: dict[str, Erasures] = field(default_factory=dict)
    annotated: dict[str, Annotated] = field(default_factory=dict)
    newer: bool = False
    tree: Forest = field(default_factory=Forest)
    times: dict[int, str] = field(default_factory=dict)
    sound: set[int] = field(default_factory=set)
    notes: dict[int, bytes] = field(default_factory=dict)
    unread: set[int] = field(default_factory=set)
    anchors: dict[int, leaf.Anchored] = field(default_factory=dict)
    outside: Outside = field(default_factory=Outside)
    root: bytes = b""

    def origin_of(self, run: str) -> str | None:
        """The store in which a run began: this one, or the one that it was imported from."""
        imported = self.runs[run].imported if run in self.runs else None
        return imported.origin if imported else self.origin

    def root_at(self, size: int) -> bytes | None:
        """The root of the first `size` leaves, which no negative number has; None where they are not all there."""
        if size > self.tree.size:
            return None
        return b"" if size < 0 else self.tree.root(size)

    def about(self, run: str) -> "Ledger":
        """What the log says of one run: all that is needed to verify that run, and small."""
        runs = {run: self.runs[run]} if run in self.runs else {}
        erased = {run: self.erased[run]} if run in self.erased else {}
        told = {run: self.annotated[run]} if run in self.annotated else {}
        return Ledger(None, self.origin, self.length, self.checkpoint, runs, erased, told, self.newer)

    def confirms(self, size: int, root: bytes) -> bool | None:
        """Whether the first `size` leaves have this root; None where that is not to be known."""
        path = self.outside.paths.get(size)
        if self.root and path is not None:
            return is_extension(size, root, self.length, self.root, path)
        known = self.root_at(size)
        return None if known is None else known == root

    def accepts(self, signed: SignedCheckpoint, what: str, tally: Tally) -> bool:
        """Whether a checkpoint is signed by the key that is in force at its size; else that is a finding."""
        if self.keys is None:
            if self.origin is not None:
                tally.find("V401", f"{what} bears no true signature of a key that the store names")
            return False  # else leaf 0 cannot be read: who signs is not known
        wrong = self.keys.judge(signed)
        if wrong is not None:
            tally.find(wrong[0], f"{what} {wrong[1]}")
        return wrong is None


def check(records: Records, tally: Tally, pins: Sequence[VerifierKey]) -> Ledger:
    """Checks the log of `records` against itself, its checkpoints and, if given, keys that the verifier trusts."""
    log = Ledger(outside=records.outside())
    notes = records.checkpoints()
    wanted = {size for size, _ in notes}
    for position, raw in records.leaves():
        if position != log.length:
            tally.find("V403", f"leaf {log.length} is missing: the next one is {position}")
        if position < 0:
            continue
        written = take(log, position, raw, tally)
        if position == log.tree.size:
            log.tree.append(raw)
        log.length = position + 1
        if log.length in wanted:
            log.times[log.length] = written
    _check_nodes(log, records.nodes(), tally)
    check_pins(log, pins, tally)
    for size, count in Counter(size for size, _ in notes).items():
        if count > 1:
            tally.find("V204", f"checkpoint {size} is there {count} times")
    for size, note in notes:
        if check_note(log, size, note, tally):
            log.checkpoint = (size, log.times.get(size, ""))
    check_older(log, notes, tally)
    if log.length and not notes:
        tally.find("V001", "no checkpoint signs anything of it")
    return log


def check_pins(log: Ledger, pins: Sequence[VerifierKey], tally: Tally) -> None:
    """One of the pinned keys has to be one of the log's; where none is, the first is the only one that counts."""
    if pins and not any(log.keys is not None and log.keys.term(pin) for pin in pins):
        if log.origin is not None:
            named = log.keys.current.label if log.keys else "none"
            others = ", ".join(pin.label for pin in pins)
            tally.find("V431", f"the store names {named}, the pinned key is {others}")
        log.keys = Keyring.of(pins[0])


def take(log: Ledger, position: int, raw: bytes, tally: Tally) -> str:
    """Takes in one leaf; the time it was written, if it can be read."""
    try:
        written, facts = leaf.decode(raw)
    except UnknownVersion as error:
        tally.newer.append(f"leaf {position}: {error}")
        log.newer = True
        log.unread.add(position)
        return ""
    except Malformed as error:
        tally.find("V301", f"leaf {position}: {error}")
        log.unread.add(position)
        return ""
    if isinstance(facts, leaf.StoreCreated) != (position == 0):
        log.unread.add(position)
        tally.find("V301", f"leaf {position}: a log begins with store.created, which comes nowhere else")
    else:
        _gather(log, position, facts)
        _take_key(log, position, facts, tally)
    return written


def _take_key(log: Ledger, position: int, facts: object, tally: Tally) -> None:
    if log.keys is None:
        return
    try:
        log.keys.take(position, facts)
    except Malformed as error:
        tally.find("V401", f"leaf {position}: {error}")


def _gather(log: Ledger, position: int, facts: object) -> None:
    match facts:
        case leaf.StoreCreated():
            log.origin = facts.origin
            log.keys = _keys(facts.vkey)
        case leaf.RunOpened():
            run = log.runs.setdefault(facts.run, Commitment())
            if run.opened is None:
                run.opened, run.pruned = facts, False
                run.covered.append((position, 1))
        case leaf.RunHead():
            run = log.runs.setdefault(facts.run, Commitment())
            run.heads.append((facts.n, facts.head))
            run.covered.append((position, facts.n))
        case leaf.PayloadErased():
            log.erased.setdefault(facts.run, Erasures()).add(facts.seq)
            log.annotated.setdefault(facts.run, Annotated()).erase(facts.seq)
        case leaf.AnnotationHead():
            log.annotated.setdefault(facts.run, Annotated()).heads.append((position, facts.n, facts.head))
        case leaf.RunClosed():
            run = log.runs.setdefault(facts.run, Commitment())
            if run.closed is None:
                run.closed = facts
                run.covered.append((position, facts.n))
        case leaf.RunImported():
            run = log.runs.setdefault(facts.run, Commitment())
            if run.imported is None:
                run.imported, run.pruned = facts, False
                run.covered.append((position, facts.n))
        case leaf.RetentionPruned():
            log.runs[facts.run] = Commitment(pruned=True)
            log.erased.pop(facts.run, None)
            log.annotated.pop(facts.run, None)
        case leaf.Anchored():
            log.anchors[position] = facts


def _keys(vkey: str) -> Keyring | None:
    try:
        return Keyring.of(VerifierKey.parse(vkey))
    except Malformed:
        return None  # so no checkpoint bears a true signature of it, which is found there


def _check_nodes(log: Ledger, kept: Iterable[tuple[int, int, bytes]], tally: Tally) -> None:
    seen: dict[int, bytearray] = defaultdict(bytearray)
    broken = log.tree.size < log.length
    for level, index, node in kept:
        true = log.tree.node(level, index)
        if true is not None:
            row = seen[level] = seen[level] or bytearray(log.tree.width(level))
            first, row[index] = not row[index], True
            if first and true == node:
                continue
        beyond = level >= 0 and (index + 1) << min(level, 64) > log.tree.size
        if true is not None or not (broken and beyond):
            tally.find("V403", f"node {index} of level {level} of the tree is not what the leaves give")
    level = 0
    while width := log.tree.width(level):
        row = seen[level] or bytearray(width)
        for index in (at for at in range(width) if not row[at]):
            tally.find("V403", f"node {index} of level {level} of the tree is missing")
        level += 1


def check_older(log: Ledger, checked: Sequence[tuple[int, bytes]], tally: Tally) -> None:
    """Gathers the checkpoints that anchors name, and checks those that came with anchors."""
    named = {each.size for each in log.anchors.values()}
    log.notes = {size: note for size, note in checked if size in named}
    for size, note in sorted(log.outside.notes.items() - log.notes.items()):
        log.notes[size] = note
        check_note(log, size, note, tally)


def check_note(log: Ledger, size: int, note: bytes, tally: Tally) -> bool:
    """Checks one checkpoint against the leaves, and remembers a sound one."""
    try:
        signed = checkpoint.parse(note)
    except Malformed as error:
        tally.find("V401", f"checkpoint {size}: {error}")
        return False
    sound = log.accepts(signed, f"checkpoint {size}", tally)
    stated = signed.checkpoint
    if log.origin is not None and stated.origin != log.origin:
        tally.find("V404", f"checkpoint {size} is of the log {stated.origin}")
        sound = False
    if stated.size > log.length:
        tally.find("V402", f"checkpoint {size} covers {stated.size} leaves, the log has {log.length}")
        sound = False
    if stated.size != size or log.confirms(stated.size, stated.root) is False:
        tally.find("V403", f"checkpoint {size} does not state what its leaves give")
        sound = False
    if sound:
        log.sound.add(size)
    return sound

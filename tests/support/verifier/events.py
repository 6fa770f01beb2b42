"""Sections 4 and 7: the events of a run on their own (rules 1 to 4)."""

from dataclasses import dataclass, field

from tests.support.verifier.canonical import LONGEST, NotCanonicalError, Record, commitments, read
from tests.support.verifier.hashes import event_hash, genesis_prev, leaf_hash
from tests.support.verifier.kinds import is_event, is_newer
from tests.support.verifier.log import Log
from tests.support.verifier.outcome import Outcome
from tests.support.verifier.rows import EventRow, Rows


@dataclass
class Found:
    """What was found of one run. A row is known by its seq, and of two with one seq only the first counts."""

    run: str
    hashes: dict[int, set[str]] = field(default_factory=dict)
    rows: list[EventRow] = field(default_factory=list)
    records: dict[int, Record] = field(default_factory=dict)
    commitments: dict[int, dict[str, str]] = field(default_factory=dict)
    unreadable: set[int] = field(default_factory=set)
    newer: set[int] = field(default_factory=set)
    unhashed: set[int] = field(default_factory=set)
    said: set[tuple[str, int | None]] = field(default_factory=set)
    whole: bool = True
    promised: int = 0

    @property
    def last(self) -> int:
        """Give the last seq."""
        return self.rows[-1].seq if self.rows else -1

    def is_gap(self, seq: int) -> bool:
        """Say whether an event is missing between others."""
        return 0 <= seq < self.last and seq not in self.hashes

    def is_missing(self, seq: int) -> bool:
        """Say whether an event is missing between others, or behind the last though the log promised it."""
        return self.is_gap(seq) or self.last < seq < self.promised

    def leaf_hashes(self, end: int) -> list[bytes]:
        """Hash the events before a seq as leaves of the run's tree."""
        return [leaf_hash(row.data) for row in self.rows if row.seq < end]

    def report(self, outcome: Outcome, code: str, seq: int | None = None) -> None:
        """Keep a finding, once though two rules come upon it; without whole events no root is compared (rule 5)."""
        if code in {"V201", "V202", "V203", "V204", "V206", "V207"}:
            self.whole = False
        if (code, seq) not in self.said:
            self.said.add((code, seq))
            outcome.report(code, self.run, seq)


def _read(row: EventRow) -> Record | str:
    """Read an event, or name the first thing that is wrong with its bytes (rule 1); a newer one is as it is."""
    if len(row.data) > LONGEST:
        return "V207"
    try:
        record = read(row.data)
    except NotCanonicalError:
        return "V201"
    if is_newer(record):
        return record
    if not is_event(record) or (record["type"] == "run.open") is not (row.seq == 0):
        return "V206"
    return record


def _check_bytes(row: EventRow, found: Found, outcome: Outcome) -> None:
    """Take up one row: its hash, and its record if that is readable."""
    if row.damaged:
        found.report(outcome, "V201", row.seq)
    read_as = _read(row)
    hashed = event_hash(row.data)
    found.hashes[row.seq] = {row.hash.hex(), hashed.hex()}
    if not isinstance(read_as, str) and is_newer(read_as):
        outcome.newer += 1
        found.whole = False
        found.newer.add(row.seq)
        found.unreadable.add(row.seq)
        return
    if hashed != row.hash:
        found.unhashed.add(row.seq)
        found.report(outcome, "V203", row.seq)
    if isinstance(read_as, str):
        found.unreadable.add(row.seq)
        found.report(outcome, read_as, row.seq)
    else:
        found.records[row.seq] = read_as
        found.commitments[row.seq] = commitments(read_as)


def _check_first(record: Record, found: Found, log: Log, outcome: Outcome) -> None:
    """Hold event 0 against leaf 0."""
    if log.origin is None:
        return
    origin = log.origin_of(found.run)
    if record["prev"] != genesis_prev(origin, found.run) or record["origin"] != origin:
        found.report(outcome, "V212", 0)


def _check_order(seq: int, found: Found, log: Log, outcome: Outcome) -> None:
    """Hold a readable event against its row, and against the event before it."""
    record = found.records[seq]
    if record["run"] != found.run or record["seq"] != seq:
        found.report(outcome, "V202", seq)
    if seq == 0:
        _check_first(record, found, log, outcome)
    elif seq - 1 in found.hashes and record["prev"] not in found.hashes[seq - 1]:
        found.unhashed.add(seq)
        found.report(outcome, "V203", seq)
    before = found.records.get(seq - 1)
    if before is None or seq - 1 in found.unhashed:
        return
    now, then = record["mono_us"], before["mono_us"]
    if isinstance(now, int) and isinstance(then, int) and now < then:
        found.report(outcome, "V205", seq)


def check_events(run: str, rows: Rows, log: Log, outcome: Outcome) -> Found:
    """Verify the events of one run, as far as the log's leaf 0 is enough for that."""
    found = Found(run)
    expected = 0
    for row in rows.events(run):
        outcome.count("events")
        if row.seq in found.hashes:
            found.report(outcome, "V204", row.seq)
            continue
        if row.seq > expected:
            found.report(outcome, "V202", expected)
        expected = max(row.seq + 1, 0)
        found.rows.append(row)
        _check_bytes(row, found, outcome)
        if row.seq in found.records:
            _check_order(row.seq, found, log, outcome)
            if found.records[row.seq]["type"] == "gap":
                outcome.count("GAPS")
            if found.records[row.seq].get("mode") == "import":
                outcome.count("IMPORTED")
    return found

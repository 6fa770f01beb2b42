"""Sections 7 and 10: the annotations of a run, a verdict of their own (rule 16)."""

from collections.abc import Iterable
from hashlib import sha256

from tests.support.verifier.canonical import LONGEST, NotCanonicalError, Record, read
from tests.support.verifier.events import Found
from tests.support.verifier.hashes import annotation_hash, commitment, genesis_prev
from tests.support.verifier.kinds import is_annotation, is_newer
from tests.support.verifier.log import Log
from tests.support.verifier.opener import Opener, ShutError
from tests.support.verifier.outcome import Finding, Outcome
from tests.support.verifier.rows import Rows

type Head = tuple[int, str]


class _Run:
    """The annotations of one run, and what the log says of them."""

    def __init__(self, found: Found, log: Log, outcome: Outcome) -> None:
        self.found, self.log, self.outcome = found, log, outcome
        self.heads: list[Head] = []
        self.erasures: list[tuple[int, object]] = []
        for _, leaf in log.since_pruned(found.run):
            if leaf["type"] == "annotation.head" and isinstance(n := leaf["n"], int):
                self.heads.append((n, str(leaf["head"])))
            if leaf["type"] == "payload.erased":
                self.erasures.append((self.logged, leaf.get("seq")))

    @property
    def logged(self) -> int:
        """Give how many annotations the log knows."""
        return max((n for n, _ in self.heads), default=0)

    def report(self, code: str, seq: int | None = None) -> None:
        """Keep one finding, apart from those about the log."""
        self.outcome.remarks.append(Finding(code, self.found.run, seq))

    def is_erased(self, number: int, seq: int) -> bool:
        """Say whether the text of an annotation was there when the bodies of its event were erased."""
        return any(number < count and about in (None, seq) for count, about in self.erasures)

    def allowed(self, number: int, hashes: dict[int, str]) -> set[str] | None:
        """Give what may stand as `prev` of an annotation; none where that is not known."""
        if number == 0:
            known = self.log.origin is not None
            return {genesis_prev(self.log.origin_of(self.found.run), self.found.run)} if known else None
        if number - 1 not in hashes:
            return None
        return {hashes[number - 1]} | {head for n, head in self.heads if n == number}

    def is_fair(self, number: int, record: Record, hashes: dict[int, str]) -> bool:
        """Say whether an annotation is the one that the log committed to, in its place behind the one before it."""
        heads = {head for n, head in self.heads if n == number + 1}
        if heads and hashes[number] not in heads:
            return False
        if number >= self.logged and not self.log.newer:
            return False
        supersedes, allowed = record.get("supersedes", -1), self.allowed(number, hashes)
        placed = record["run"] == self.found.run and record["number"] == number
        follows = allowed is None or record["prev"] in allowed
        return placed and follows and isinstance(supersedes, int) and supersedes < number


def _is_committed(record: Record, salt: bytes, text: bytes) -> bool:
    named = record["text"]
    if len(salt) != 32 or not isinstance(named, dict):
        return False
    return commitment(salt, sha256(text).digest(), len(text)) == named["body"]


def _check_text(run: _Run, number: int, record: Record, stored: bytes | None, opener: Opener) -> None:
    seq = record["seq"]
    assert isinstance(seq, int)
    erased = run.is_erased(number, seq)
    if stored is None:
        if not erased:
            run.report("V704", seq)
    elif opener.key is None:
        run.outcome.unread_remarks += 1
    else:
        try:
            sound = not erased and _is_committed(record, *opener.text(run.found.run, number, stored))
        except ShutError:
            sound = False
        if not sound:
            run.report("V704", seq)


def _read(data: bytes) -> Record | None:
    if len(data) > LONGEST:
        return None
    try:
        record = read(data)
    except NotCanonicalError:
        return None
    return record if is_newer(record) or is_annotation(record) else None


def check_annotations(found: Found, rows: Rows, log: Log, opener: Opener, outcome: Outcome) -> None:
    """Hold the annotations of a run against one another, its events and the log."""
    run = _Run(found, log, outcome)
    texts = rows.annotation_texts(found.run)
    kept = rows.annotations(found.run)
    kept += [(number, b"") for number in texts.keys() - {number for number, _ in kept}]
    hashes: dict[int, str] = {}
    last = -1
    for number, data in sorted(kept):
        if number <= last:
            run.report("V701")
            continue
        if number > last + 1:
            run.report("V701")
        hashes[number], last = annotation_hash(data), number
        record = _read(data)
        if record is None:
            run.report("V701")
        elif is_newer(record):
            outcome.unread_remarks += 1
        elif isinstance(seq := record["seq"], int):
            if not run.is_fair(number, record, hashes):
                run.report("V701", seq)
            if record["event_hash"] not in found.hashes.get(seq, set()):
                run.report("V702", seq)
            _check_text(run, number, record, texts.get(number), opener)
    if run.logged > last + 1:
        run.report("V703")


def check_strays(rows: Rows, runs: Iterable[str], outcome: Outcome) -> None:
    """Report annotations of runs that are not there."""
    for run in sorted(rows.annotated() - set(runs)):
        outcome.remarks.append(Finding("V702", run, None))

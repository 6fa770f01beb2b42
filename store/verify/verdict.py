"""What a verification says: findings by code, flags, an exit status and one line (docs/format.md, sections 1 and 7)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from store.core.checkpoint import VerifierKey
from store.core.errors import EdgetapeError
from store.core.event import timestamp

CODES: Mapping[str, str] = {
    "V001": "nothing to verify",
    "V101": "manifest unreadable",
    "V102": "member not in the manifest",
    "V103": "missing member",
    "V104": "member differs from its digest",
    "V105": "unsafe container",
    "V106": "container too large",
    "V201": "not canonical",
    "V202": "sequence gap",
    "V203": "prev does not match",
    "V204": "duplicate",
    "V205": "monotonic clock runs backwards",
    "V206": "unknown type or field for its version",
    "V207": "too large",
    "V210": "run in the log but its events are absent",
    "V211": "run without an open leaf",
    "V212": "other genesis than the log committed to",
    "V213": "log committed to a head that is absent or different",
    "V214": "closed with another number of events than found",
    "V215": "events root differs",
    "V216": "events after close",
    "V217": "pruned on record but still present",
    "V220": "a parent that does not know its child's beginning",
    "V221": "a child that does not know its parent",
    "V301": "leaf not canonical",
    "V401": "signature does not verify",
    "V402": "log shorter than the checkpoint",
    "V403": "root differs",
    "V404": "origin differs",
    "V431": "unknown key",
    "V432": "retired key used",
    "V433": "old range signed only by a newer key",
    "V434": "revoked key",
    "V501": "rolled back below a checkpoint that you hold",
    "V502": "inconsistent with a checkpoint that you hold",
    "V510": "witness quorum not met",
    "V511": "bad cosignature",
    "V520": "time stamp is for other data",
    "V521": "authority not trusted",
    "V522": "time outside its bounds",
    "V601": "missing without an erasure record",
    "V602": "opening does not match the commitment",
    "V603": "payload missing",
    "V604": "payload differs from its digest",
    "V605": "stored bytes that belong to no body",
    "V606": "present without a commitment, or erased on record",
    "V607": "over the limit",
    "V620": "a derived fact differs from the body",
    "V701": "chain of annotations broken",
    "V702": "annotation of another event",
    "V703": "fewer annotations than the log has",
    "V704": "text of an annotation is not what it commits to",
}

LIMITS = (
    "Without anything kept outside the operator's reach, verification proves only that the store agrees with itself"
    " and with the holder of the key."
)

EXIT_VERIFIED = 0
EXIT_POLICY = 10
EXIT_INVALID = 20
EXIT_DIVERGED = 21
EXIT_INCOMPLETE = 30

_DIVERGED = frozenset(("V501", "V502"))
# What was recorded may be as it was: the verifier asks for more than is proved.
_POLICY = frozenset(("V510", "V521", "V522"))


@dataclass(frozen=True, slots=True)
class Bounds:
    """When something was written, as far as trusted time stamps show: each None where they do not."""

    no_earlier: datetime | None = None
    no_later: datetime | None = None

    @property
    def words(self) -> str:
        """Both for people; empty where nothing is shown."""
        told = [("no later than", self.no_later), ("no earlier than", self.no_earlier)]
        shown = [f"{what} {timestamp(when)}" for what, when in told if when is not None]
        return f"; existed {', '.join(shown)}" if shown else ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: its code, the run and event it concerns (if any), and a sentence about it."""

    code: str
    sentence: str
    run: str | None = None
    seq: int | None = None

    def __str__(self) -> str:
        where = "" if self.run is None else f" run {self.run}"
        where += "" if self.seq is None else f" seq {self.seq}"
        return f"{self.code}{where}: {CODES[self.code]}: {self.sentence}"

    @property
    def record(self) -> dict[str, object]:
        """The same as a JSON object."""
        return {
            "code": self.code,
            "meaning": CODES[self.code],
            "run": self.run,
            "seq": self.seq,
            "sentence": self.sentence,
        }


@dataclass(slots=True)
class Tally:
    """What a verification gathers on its way: it goes on after the first error. `locked` is why bodies stay
    unopened.
    """

    findings: list[Finding] = field(default_factory=list)
    newer: list[str] = field(default_factory=list)
    locked: EdgetapeError | None = None
    counts: Counter[str] = field(default_factory=Counter)

    def find(self, code: str, sentence: str, run: str | None = None, seq: int | None = None) -> None:
        """Adds a finding; what an attacker put into it for text can be printed."""
        shown = None if run is None else _printable(run)
        self.findings.append(Finding(code, _printable(sentence), shown, seq))

    def add(self, more: "Tally") -> None:
        """Adds what was gathered elsewhere."""
        self.findings += more.findings
        self.newer += more.newer
        self.locked = self.locked or more.locked
        self.counts += more.counts


@dataclass(frozen=True, slots=True)
class Remarks:
    """The verdict on annotations, beside that on the log: how many there are, and what is said of them."""

    count: int = 0
    findings: tuple[Finding, ...] = ()
    newer: tuple[str, ...] = ()
    counts: Counter[str] = field(default_factory=Counter)

    def __add__(self, more: "Remarks") -> "Remarks":
        counts = self.counts + more.counts
        return Remarks(self.count + more.count, self.findings + more.findings, self.newer + more.newer, counts)

    @property
    def word(self) -> str:
        """VERIFIED, INVALID or INCOMPLETE."""
        incomplete = self.newer or self.counts["ANNOTATIONS_LOCKED"]
        return "INVALID" if self.findings else "INCOMPLETE" if incomplete else "VERIFIED"

    @property
    def line(self) -> str:
        """The verdict in one line; empty where there is nothing to judge."""
        if not self.count and not self.findings:
            return ""
        flags = ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items()))
        return f"{self.word}{f' ({flags})' if flags else ''} annotations: {self.count}"

    @property
    def record(self) -> dict[str, object] | None:
        """The same as a JSON object."""
        if not self.line:
            return None
        return {
            "verdict": self.word,
            "count": self.count,
            "flags": dict(sorted(self.counts.items())),
            "findings": [each.record for each in self.findings],
            "newer": list(self.newer),
            "line": self.line,
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one verification. `flags` are printed with their counts; `checkpoint` is its size and time;
    `key` the one in force by the log, or the pinned one where that is none of the log's; `witnesses` are those whose
    cosignatures count; `unmet` are sentences about flags that the policy forbids; `locked` is why bodies could not be
    opened, if that was for want of the store key; `remarks` is the verdict on annotations, which changes none of this.
    """

    subject: str
    findings: tuple[Finding, ...]
    newer: tuple[str, ...]
    flags: tuple[tuple[str, int | None], ...]
    runs: int
    events: int
    bodies: int
    checkpoint: tuple[int, str] | None
    key: VerifierKey | None
    bounds: Bounds = Bounds()
    witnesses: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()
    locked: EdgetapeError | None = None
    remarks: Remarks = Remarks()

    @property
    def word(self) -> str:
        """VERIFIED, INVALID, DIVERGED or INCOMPLETE."""
        words = {EXIT_INVALID: "INVALID", EXIT_DIVERGED: "DIVERGED", EXIT_INCOMPLETE: "INCOMPLETE"}
        return words.get(self.exit_code, "VERIFIED")

    @property
    def exit_code(self) -> int:
        """0 verified, 10 the policy is not met, 20 invalid, 21 diverged, 30 incomplete (docs/format.md, section 7). An
        empty store is incomplete, never fine; so is one that says itself that something was not recorded, or whose
        bodies cannot be opened. Where only annotations are not as they ought to be, it is 10: the log is verified.
        """
        codes = {finding.code for finding in self.findings}
        wrong = codes - {"V001"} - _POLICY
        if wrong:
            return EXIT_INVALID if wrong - _DIVERGED else EXIT_DIVERGED
        if "V001" in codes or self.newer or self.locked or "GAPS" in dict(self.flags):
            return EXIT_INCOMPLETE
        return EXIT_POLICY if codes or self.unmet or self.remarks.word != "VERIFIED" else EXIT_VERIFIED

    @property
    def is_sound(self) -> bool:
        """Whether all that was recorded is as it was recorded; something may be said to have been lost before, or more
        may be asked for, or be wrong with what people said about it.
        """
        return not self.newer and all(each.code in _POLICY for each in self.findings)

    @property
    def line(self) -> str:
        """The verdict in one line."""
        flags = ", ".join(name if count is None else f"{name} {count}" for name, count in self.flags)
        sealed = "no checkpoint" if self.checkpoint is None else "checkpoint {} at {}".format(*self.checkpoint)
        key = self.key.label if self.key else "unknown"
        flagged = f" ({flags})" if flags else ""
        return (
            f"{self.word}{flagged} {self.subject}: {self.events} events, {self.bodies} bodies; {sealed}; key {key}"
            f"{self.bounds.words}"
        )

    @property
    def record(self) -> dict[str, object]:
        """The same as a JSON object."""
        return {
            "verdict": self.word,
            "exit_code": self.exit_code,
            "subject": self.subject,
            "runs": self.runs,
            "events": self.events,
            "bodies": self.bodies,
            "flags": dict(self.flags),
            "checkpoint": None if self.checkpoint is None else {"size": self.checkpoint[0], "at": self.checkpoint[1]},
            "key": self.key.label if self.key else "unknown",
            "vkey": str(self.key) if self.key else None,
            "no_earlier": self.bounds.no_earlier and timestamp(self.bounds.no_earlier),
            "no_later": self.bounds.no_later and timestamp(self.bounds.no_later),
            "witnesses": list(self.witnesses),
            "unmet": list(self.unmet),
            "findings": [each.record for each in self.findings],
            "newer": list(self.newer),
            "annotations": self.remarks.record,
            "locked": None if self.locked is None else str(self.locked),
            "limits": LIMITS,
            "line": self.line,
        }


def unread(code: str, sentence: str, unattributed: bool) -> Verdict:
    """The verdict on a bundle of which nothing can be read."""
    tally = Tally()
    tally.find(code, sentence)
    names = (["UNATTRIBUTED"] if unattributed else []) + ["UNWITNESSED", "UNTIMED"]
    flags = tuple((name, None) for name in names)
    return Verdict("bundle", tuple(tally.findings), (), flags, 0, 0, 0, None, None)


def _printable(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def first_bad(findings: Iterable[Finding]) -> Finding | None:
    """The finding with the lowest seq, or else the first one."""
    placed = sorted((each for each in findings if each.seq is not None), key=lambda each: each.seq or 0)
    return placed[0] if placed else next(iter(findings), None)

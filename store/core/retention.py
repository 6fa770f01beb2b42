"""How long what is kept: ages, the policy by data class, and what it asks for of the runs of a store. Pure.

Rules kept here:
- Age counts from a run's end. What is open, held or damaged stays.
- Nothing goes before its floor: six months unless the policy says otherwise.
- A run stays while a run stays that names it as its parent: what a replay or a worker goes on from is to be found.
- Envelopes go with all that belongs to them, so a run with receipts stays as long as these are to be kept.
"""

import re
from calendar import monthrange
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from store.core.errors import EdgetapeError
from store.core.event import timestamp

DataClass = Literal["envelopes", "payloads", "receipts"]
CLASSES: tuple[DataClass, ...] = get_args(DataClass)
DEFAULT = "default"

_PAYLOADS: DataClass = "payloads"
_RECEIPTS: DataClass = "receipts"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # nothing ended before
_AGE = re.compile(r"(\d{1,5})\s*(d|days?|w|weeks?|mo|months?|y|years?)", re.ASCII)


class BadPolicy(EdgetapeError):
    """A policy, or an age, that cannot be followed."""


@dataclass(frozen=True, slots=True)
class Age:
    """A span of calendar months and days, as a person spells it: `90d`, `12w`, `6mo`, `5y`."""

    months: int = 0
    days: int = 0
    text: str = field(default="", compare=False)

    @classmethod
    def parse(cls, text: str) -> "Age":
        """Raises BadPolicy."""
        found = _AGE.fullmatch(text.strip())
        if found is None:
            raise BadPolicy(f"{text!r} is no age", hint="a number and d, w, mo or y, such as 90d or 6mo")
        number, unit = int(found[1]), found[2][0]
        if unit in "my":
            return cls(months=number * (12 if unit == "y" else 1), text=text.strip())
        return cls(days=number * (7 if unit == "w" else 1), text=text.strip())

    def before(self, now: datetime) -> datetime:
        """That long before `now`; the last day of a shorter month stands for those that it lacks."""
        months = now.year * 12 + now.month - 1 - self.months
        if months < _EPOCH.year * 12:
            return _EPOCH
        year, month = months // 12, months % 12 + 1
        moved = now.replace(year=year, month=month, day=min(now.day, monthrange(year, month)[1]))
        return moved - min(timedelta(days=self.days), moved - _EPOCH)

    def __str__(self) -> str:
        return self.text


FLOOR = Age(months=6, text="6mo")


@dataclass(frozen=True, slots=True)
class Policy:
    """How long each class is kept; one that `ages` does not name is kept for ever. Nothing goes before its floor.

    `digest` is what the log names the policy by: the SHA-256 of its file, or `default`.
    """

    ages: Mapping[DataClass, Age] = field(default_factory=dict)
    floors: Mapping[DataClass, Age] = field(default_factory=dict)
    digest: str = DEFAULT

    def floor(self, kind: DataClass) -> Age:
        """The least age at which something of this class may go."""
        return self.floors.get(kind, FLOOR)

    def cutoff(self, kind: DataClass, now: datetime) -> str:
        """The moment before which a run must have ended for this class of it to go; as `ts` is spelled, or empty for
        never. Raises BadPolicy below the floor.
        """
        age = self.ages.get(kind)
        if age is None:
            return ""
        if age.before(now) > self.floor(kind).before(now):
            raise BadPolicy(
                f"{kind} are to be kept for {self.floor(kind)} at least, so not for {age} only",
                hint=f'floor = "{age}" under [retention] in the settings file says otherwise',
            )
        return timestamp(age.before(now))


@dataclass(frozen=True, slots=True)
class Subject:
    """One run, as far as its retention is concerned. `receipts` and `others` are the seqs that have bodies still."""

    run: str
    mode: str
    closed: str
    parent: str = ""
    hold: str = ""
    damaged: bool = False
    receipts: tuple[int, ...] = ()
    others: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """What is due: the whole run for None, or the bodies of the events `seqs`; and by which class and age."""

    run: str
    kind: DataClass
    age: str
    seqs: tuple[int, ...] | None = None

    @property
    def why(self) -> str:
        """As the log says it."""
        return f"retention: {self.kind} for {self.age}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is due of a store; `kept` are runs that are due and stay all the same, with the reason."""

    steps: tuple[Step, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()


def plan(policy: Policy, subjects: Sequence[Subject], now: datetime, keep_last: int = 0) -> Plan:
    """What is due at `now`. `subjects` are all runs of the store, newest first; of them the `keep_last` newest
    recorded ones stay. Raises BadPolicy.
    """
    cutoffs = {kind: policy.cutoff(kind, now) for kind in CLASSES}
    newest = {each.run for each in [each for each in subjects if each.mode == "record"][:keep_last]}
    due = {each.run: each for each in subjects if _is_due(each, cutoffs)}
    kept = {run: why for run, each in due.items() if (why := _stays(each)) or (why := _named(run, newest))}
    kept |= _parents(subjects, due.keys() - kept.keys())
    leaving = due.keys() - kept.keys()
    steps = [Step(run, "envelopes", str(policy.ages["envelopes"])) for run in due if run in leaving]
    for each in subjects:
        wanted = [] if each.run in leaving else list(_bodies(policy, each, cutoffs))
        if wanted and (why := _stays(each)):
            kept[each.run] = why
        else:
            steps += wanted
    return Plan(tuple(steps), tuple(kept.items()))


def _is_due(subject: Subject, cutoffs: Mapping[DataClass, str]) -> bool:
    if not _older(subject, cutoffs["envelopes"]):
        return False
    # Receipts that no age is named for go with the envelopes.
    return not subject.receipts or not cutoffs["receipts"] or _older(subject, cutoffs["receipts"])


def _bodies(policy: Policy, subject: Subject, cutoffs: Mapping[DataClass, str]) -> Iterable[Step]:
    """The bodies that are due; the last of them that a run has are all of them."""
    others, receipts = (
        seqs if _older(subject, cutoffs[kind]) else ()
        for kind, seqs in ((_PAYLOADS, subject.others), (_RECEIPTS, subject.receipts))
    )
    if others:
        yield Step(subject.run, "payloads", str(policy.ages["payloads"]), others if subject.receipts else None)
    if receipts:
        all_others = len(others) == len(subject.others)
        yield Step(subject.run, "receipts", str(policy.ages["receipts"]), None if all_others else receipts)


def _older(subject: Subject, cutoff: str) -> bool:
    return bool(subject.closed) and bool(cutoff) and subject.closed < cutoff


def _stays(subject: Subject) -> str:
    """Why nothing of a run may go, empty where it may."""
    if subject.hold:
        return f"held: {subject.hold}"
    return "damaged: edgetape verify says where" if subject.damaged else ""


def _named(run: str, newest: Set[str]) -> str:
    return "one of the newest" if run in newest else ""


def _parents(subjects: Sequence[Subject], leaving: Set[str]) -> dict[str, str]:
    """The runs that are leaving and that others, which stay, go on from; each with the reason."""
    parents = {each.run: each.parent for each in subjects}
    found: dict[str, str] = {}
    for each in parents.keys() - leaving:
        child = each
        while (parent := parents[child]) in leaving and parent not in found:
            found[parent] = f"run {child} goes on from it and stays"
            child = parent
    return found

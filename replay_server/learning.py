"""Learns from several recordings of one agent what differs by nature, and proposes the rules that allow it.

Rules kept here:
- The first recording is the measure; every other one is asked of it as a replay would be, with the rules there are.
- What came from an answer is no nature of the agent: where the recorded value stood in an earlier answer, nothing is
  proposed. Nor is anything for what one recording has and the other has not, but for requests that only read.
- A proposal is as small as it can be: the part of a text that an expression can tell, else the place. It is tried out:
  with all of them the recordings are compared again, and what still differs is said.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from replay_server import drift
from replay_server.drift import Change
from replay_server.grouping import Groups
from replay_server.match import Match, Matcher, Tier
from replay_server.normalise import Rules
from replay_server.provenance import Provenance
from replay_server.rules import Ignore, Optional
from replay_server.tape import Tape
from replay_server.transcript import Transcript
from store.core.compare import Absent
from store.core.form import Form
from store.core.jsontext import Inner, Node

_PART = re.compile(r"[A-Za-z0-9]+|[^A-Za-z0-9]+")
_CLASSES = (("digits", re.compile(r"[0-9]+"), "[0-9]+"), ("hex", re.compile(r"[0-9a-f]+"), "[0-9a-f]+"))
_CONTEXT_CHARS_MAX = 24
_ANSWERED_CHARS_MIN = 6
# What differs by nature wherever it stands, the longer forms first.
_NATURES = (
    "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?",
    "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?",
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One place where two recordings differ: their steps, and both values, folded."""

    step: int
    other: int
    recorded: str
    live: str


@dataclass(slots=True)
class Proposal:
    """A rule, `ignore` or `optional`, with what speaks for it."""

    table: str
    rule: str
    evidence: list[Evidence] = field(default_factory=list)
    why: str = ""


@dataclass(slots=True)
class Learned:
    """What several recordings have shown.

    `left` says what differs even with the proposals, in words; `pairs` counts the requests that were compared.
    """

    proposals: list[Proposal] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    pairs: int = 0


def learn(measure: Tape, others: Sequence[Tape]) -> Learned:
    """Compares the recordings, proposes, and compares again with the proposals. The tapes have the rules there are."""
    learned = Learned()
    for other in others:
        _compare(measure, other, learned)
    _visits(measure, others, learned)
    if learned.proposals:
        trial = Learned()
        rules = _with(measure.rules, learned.proposals)
        for other in others:
            _compare(measure.under(rules), other.under(rules), trial)
        learned.left = trial.left + [
            f"{each.rule}: {each.evidence[0].recorded} is {each.evidence[0].live}" for each in trial.proposals
        ]
    return learned


def _compare(measure: Tape, other: Tape, learned: Learned) -> None:
    """Walks `other` over `measure`, and files what differs."""
    transcript = Transcript(measure)
    provenance = Provenance(transcript.said, transcript.inputs())
    groups = Groups.of(measure)
    matcher = Matcher(groups.each, measure.form, provenance)
    seen: set[tuple[str, ...]] = set()
    for at in range(len(other.exchanges)):
        normal = other.normal(at)
        match = matcher.find(normal.form, groups.optional(normal), measure.run.id)
        if match.index is None or match.tier in (Tier.EXHAUSTED, Tier.UNEXPECTED):
            if match.tier is not Tier.OPTIONAL and not _is_read(normal.form):
                learned.left.append(f"step {other.step(at)} of {other.run.id} is in no way in {measure.run.id}")
            continue
        matcher.take(match.index, normal.form, match.tier)
        learned.pairs += 1
        if match.tier is Tier.DRIFTED:
            where = measure.step(match.index), other.step(at)
            _file(measure.form(match.index), normal.form, match, where, provenance, seen, learned)


def _file(
    was: Form,
    now: Form,
    match: Match,
    where: tuple[int, int],
    provenance: Provenance,
    seen: set[tuple[str, ...]],
    learned: Learned,
) -> None:
    assert match.index is not None
    for change in drift.changes(was, now):
        if change.identity in seen:
            continue
        seen.add(change.identity)
        recorded, live = change.values
        rule = _rule(change, was)
        answered = any(provenance.recorded_before(part, match.index) for part in _parts_apart(change))
        if not rule or isinstance(change.recorded, Absent) or isinstance(change.live, Absent) or answered:
            learned.left.append(f"step {where[0]}, {change.where}: {recorded} is {live}")
            continue
        known = next((each for each in learned.proposals if each.rule == rule), None)
        if known is None:
            known = Proposal("ignore", rule)
            learned.proposals.append(known)
        known.evidence.append(Evidence(*where, recorded, live))


def _visits(measure: Tape, others: Iterable[Tape], learned: Learned) -> None:
    """Requests that only read and come in different numbers may come or not."""
    counted = [_reads(tape) for tape in (measure, *others)]
    for place in sorted({place for counts in counted for place in counts}):
        numbers = [counts.get(place, 0) for counts in counted]
        if len(set(numbers)) > 1:
            why = "came " + ", ".join(map(str, numbers)) + " times"
            learned.proposals.append(Proposal("optional", place, why=why))


def _reads(tape: Tape) -> dict[str, int]:
    """How often each place was read, by the rule that would make it optional."""
    counts: dict[str, int] = {}
    for group, place in zip(Groups.of(tape).each, tape.places, strict=True):
        if place.method == "GET" and not group[1]:
            rule = f"GET {place.host}{place.path.decode('utf-8', 'backslashreplace')}"
            counts[rule] = counts.get(rule, 0) + 1
    return counts


def _rule(change: Change, was: Form) -> str:
    """The rule for a change, any item of a list for the one that it stands in."""
    if not change.rule or change.place != "body":
        return change.rule
    inside = f"#{_general(change.inside, None)}" if change.inside else ""
    rule = str(Ignore("body", _general(change.pointer, was.body) + inside))
    expression = _expression(change.recorded, change.live)
    return f"{rule} matches {expression}" if expression else rule


def _general(pointer: str, body: Node) -> str:
    tokens = []
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(body, Inner):
            body = body.value
        is_item = isinstance(body, list) and name.isdecimal()
        tokens.append("*" if is_item else token)
        if isinstance(body, list):
            body = body[int(name)] if is_item and int(name) < len(body) else None
        else:
            body = body.get(name) if isinstance(body, dict) else None
    return "".join(f"/{token}" for token in tokens)


def _expression(recorded: object, live: object) -> str:
    """What finds the one part in which two texts differ, "" where a place says it better."""
    if not isinstance(recorded, str) or not isinstance(live, str):
        return ""
    for natures in (*((one,) for one in _NATURES), *combinations(_NATURES, 2)):
        expression = "|".join(natures)
        if re.sub(expression, "", recorded) == re.sub(expression, "", live):
            return expression
    was, became = _PART.findall(recorded), _PART.findall(live)
    apart = [at for at, pair in enumerate(zip(was, became, strict=False)) if pair[0] != pair[1]]
    if len(was) != len(became) or not apart or len(was) == 1:
        return ""
    found = {_alternative(was, became, at) for at in apart}
    return "" if "" in found else "|".join(sorted(found))


def _parts_apart(change: Change) -> list[str]:
    """The parts of a recorded text that the live one does not have, if they are long enough to be known again."""
    if not isinstance(change.recorded, str):
        return []
    live = set(_PART.findall(change.live)) if isinstance(change.live, str) else set()
    parts = (part for part in _PART.findall(change.recorded) if part not in live)
    return [part for part in parts if len(part) >= _ANSWERED_CHARS_MIN]


def _alternative(was: list[str], became: list[str], at: int) -> str:
    """One part by its class, after the words that stand before it."""
    pattern = next((spelled for _, known, spelled in _CLASSES if _both(known, was[at], became[at])), "")
    before = "".join(was[:at])[-_CONTEXT_CHARS_MAX:]
    same = before if "".join(became[:at]).endswith(before) else was[at - 1] if at else ""
    return f"(?<={re.escape(same)}){pattern}" if pattern and same.strip() else ""


def _both(known: re.Pattern[str], one: str, other: str) -> bool:
    has_digit = any(letter.isdigit() for letter in one + other)
    return has_digit and bool(known.fullmatch(one)) and bool(known.fullmatch(other))


def _is_read(form: Form) -> bool:
    return form.endpoint.method == "GET"


def _with(rules: Rules, proposals: Iterable[Proposal]) -> Rules:
    listed = list(proposals)
    ignores = [Ignore.parse(each.rule) for each in listed if each.table == "ignore"]
    optionals = [Optional.parse(each.rule) for each in listed if each.table == "optional"]
    return replace(rules, ignores=(*rules.ignores, *ignores), optionals=(*rules.optionals, *optionals))

"""Holds what was proved about runs against what the verifier asks for; pure (docs/format.md, section 7, rule 13)."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from store.core.model import LogPoint
from store.labels.describe import plural
from store.verify.anchors import Attested
from store.verify.ledger import Commitment, Ledger
from store.verify.policy import Policy
from store.verify.verdict import Bounds, Tally


@dataclass(frozen=True, slots=True)
class Span:
    """What one run says of itself: how many events it has, the log as its first one saw it, and its own clock."""

    run: str
    events: int
    point: LogPoint | None
    opened: str
    closed: str


@dataclass(slots=True)
class Hearing:
    """Asks run after run what is proved of it; `held` is how many leaves a held checkpoint vouches for."""

    policy: Policy
    attested: Attested
    log: Ledger
    held: int | None
    uncovered: Counter[str] = field(default_factory=Counter)
    _bounds: list[Bounds] = field(default_factory=list)

    @property
    def witnessed(self) -> int | None:
        """How many leaves somebody else has seen; None where nobody has."""
        quorum = self.attested.witnessed(self.policy.quorum)
        return max((each for each in (self.held, quorum) if each is not None), default=None)

    def hear(self, span: Span, tally: Tally) -> None:
        """Takes in one run that has events."""
        committed = self.log.runs.get(span.run, Commitment())
        bounds, untimed = self._times(span, committed)
        self._bounds.append(bounds)
        self.uncovered["UNTIMED"] += untimed
        self.uncovered["UNWITNESSED"] += max(0, span.events - committed.sealed(self.witnessed or 0))
        quorum = self.attested.witnessed(self.policy.quorum) or 0
        self.uncovered["V510"] += max(0, span.events - committed.sealed(quorum)) if self.policy.quorum else 0
        for sentence in _outside(self.policy, bounds, span):
            tally.find("V522", sentence, span.run)

    def conclude(self, tally: Tally) -> Bounds:
        """Says what the policy misses in all of them; the bounds of all together."""
        missed, untimed = self.uncovered["V510"], self.uncovered["UNTIMED"]
        if missed:
            asked = plural(self.policy.quorum, "witness", "witnesses")
            told = f"{asked} asked for, {len(self.attested.cosigned)} cosigned at all"
            tally.find("V510", f"{plural(missed, 'event')} not covered; {told}")
        if self.policy.timed and untimed:
            why = f"; {self.attested.untrusted[-1]}" if self.attested.untrusted else ""
            tally.find("V521", f"no time stamp of a trusted authority covers {plural(untimed, 'event')}{why}")
        return Bounds(
            _together(min, [each.no_earlier for each in self._bounds]),
            _together(max, [each.no_later for each in self._bounds]),
        )

    def flags(self) -> list[tuple[str, int | None]]:
        """UNWITNESSED and UNTIMED, where they are up: with the number of events that are not covered."""
        found: list[tuple[str, int | None]] = []
        for name, known in (("UNWITNESSED", self.witnessed is not None), ("UNTIMED", bool(self.attested.stamps))):
            if not known or self.uncovered[name]:
                found.append((name, self.uncovered[name] if known else None))
        return found

    def _times(self, span: Span, committed: Commitment) -> tuple[Bounds, int]:
        """When a run was written, and how many of its events no trusted stamp covers."""
        stamps = self.attested.stamps
        covered = max((committed.sealed(each.size) for each in stamps), default=0)
        no_later = min((each.latest for each in stamps if committed.sealed(each.size) >= span.events), default=None)
        no_earlier, point = None, span.point
        # Only its hash ties a run to a time: its first event commits to a log that has the digest of the stamp in it.
        if point is not None and committed.opened is not None and self.log.confirms(point.size, _root(point)):
            no_earlier = max((each.earliest for each in stamps if each.position < point.size), default=None)
        return Bounds(no_earlier, no_later), max(0, span.events - covered)


def _outside(policy: Policy, bounds: Bounds, span: Span) -> Iterable[str]:
    """Where a run lies outside of the times that are asked for, or its own clock outside of what is proved."""
    if policy.not_before is not None and (bounds.no_earlier is None or bounds.no_earlier < policy.not_before):
        yield f"it is not shown to be younger than {policy.not_before}"
    if policy.not_after is not None and (bounds.no_later is None or bounds.no_later > policy.not_after):
        yield f"it is not shown to be older than {policy.not_after}"
    skew = timedelta(seconds=policy.skew_s)
    opened, closed = _moment(span.opened), _moment(span.closed)
    if opened is not None and bounds.no_earlier is not None and opened < bounds.no_earlier - skew:
        yield f"it says that it began at {span.opened}, which is earlier than it can have"
    if closed is not None and bounds.no_later is not None and closed > bounds.no_later + skew:
        yield f"it says that it ended at {span.closed}, and existed before"


def _moment(ts: str) -> datetime | None:
    """The time that a record says; None where its digits are those of no day."""
    try:
        return datetime.strptime(ts, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def _root(point: LogPoint) -> bytes:
    return bytes.fromhex(point.root)


def _together(pick: Callable[[list[datetime]], datetime], times: list[datetime | None]) -> datetime | None:
    """The outermost of all times; None where one is not known."""
    known = [each for each in times if each is not None]
    return pick(known) if known and len(known) == len(times) else None

"""Which recorded exchange answers a live request.

The tiers, in their order; the earliest exchange that is still waiting wins inside each:

0. optional: telemetry and what a rule says, any number of times or never: the answers in turn, the last one repeated
1. same: an equal key
2. mapped: equal but for values that the agent minted, within the limits of `mapping`
3. drifted: same endpoint and operation, other content, the nearest one, within DISTANCE_MAX
4. exhausted: everything that fits has been served; unexpected: nothing ever fitted

An exact repetition of what was served is exhausted and not drifted: another call is not a changed one. Keys are made
when they are needed, in recorded order, each once: opening a long recording costs nothing, an agent that walks its
path makes one key a request, and a look-up is O(1) in the size of the run.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from replay_server.conversation import Conversation, conversation
from replay_server.mapping import Mapped, Mapping
from replay_server.minted import Blanked, blanked
from replay_server.nearest import nearest_conversation, nearest_form, operation
from replay_server.order import Lanes
from replay_server.pairing import Pairing
from replay_server.provenance import Provenance
from store.core.form import Endpoint, Form, Mark

type Group = tuple[Endpoint, str, str]
"""What exchanges must have in common that could answer for one another: where they go, by which rule they are
optional ("" for one that is expected), and the run that they belong to.
"""


class Tier(StrEnum):
    """How a live request was matched."""

    OPTIONAL = "optional"
    SAME = "matched"
    MAPPED = "mapped"
    DRIFTED = "drifted"
    EXHAUSTED = "exhausted"
    UNEXPECTED = "unexpected"

    @property
    def fits(self) -> bool:
        """Whether the recorded exchange is the one that was asked for."""
        return self in (Tier.OPTIONAL, Tier.SAME, Tier.MAPPED)


class Match(msgspec.Struct, frozen=True):
    """The tier, and the recorded exchange that answers or comes nearest, by its place among the exchanges."""

    tier: Tier
    index: int | None = None
    again: bool = False  # an exact repetition of what was served


class Known(msgspec.Struct, frozen=True):
    """What is kept of a recorded request once its key was made."""

    key: bytes
    marks: tuple[Mark, ...]
    said: Conversation | None
    operation: str


@dataclass(slots=True)
class _Bucket:
    """The exchanges of one endpoint in recorded order, the first `keyed` of them with keys, `blanked` with both."""

    indices: list[int] = field(default_factory=list)
    keyed: int = 0
    waiting: dict[bytes, deque[int]] = field(default_factory=dict)
    blanked: int = 0
    mappable: dict[bytes, deque[int]] = field(default_factory=dict)
    turn: int = 0


class Matcher:
    """Matches one agent's requests against one recording; two replays never share one."""

    def __init__(
        self,
        groups: Sequence[Group],
        form: Callable[[int], Form],
        provenance: Provenance | None = None,
    ) -> None:
        """`groups` has one for each exchange. Without `provenance` no value is taken for a minted one."""
        self.lanes = Lanes()
        self.served: set[int] = set()
        self.mapping = Mapping(form, provenance)
        self.secrets: Pairing[Mark] = Pairing()
        self._form = form
        self._groups = groups
        self._known: dict[int, Known] = {}
        self._blanks: dict[int, Blanked] = {}
        self.given: list[int] = []
        self._passed: dict[int, None] = {}
        self._frontier = 0
        self._first_waiting = 0
        self._expected = [not optional for _, optional, _ in groups]
        self._buckets: dict[Group, _Bucket] = {}
        for index, group in enumerate(groups):
            self._buckets.setdefault(group, _Bucket()).indices.append(index)

    def find(self, live: Form, optional: str = "", run: str = "") -> Match:
        """The exchange that answers `live`, which `optional` says the rule of; it is not taken yet."""
        bucket = self._buckets.get((live.endpoint, optional, run))
        if optional:
            return Match(Tier.OPTIONAL, self._next_optional(bucket) if bucket else None)
        if bucket is None:
            return Match(Tier.UNEXPECTED)
        index = self._same(bucket, live)
        if index is not None:
            return Match(Tier.SAME, index)
        index = self._mapped(bucket, live)
        if index is not None:
            return Match(Tier.MAPPED, index)
        if live.key in bucket.waiting and not bucket.waiting[live.key]:
            return Match(Tier.EXHAUSTED, self._last_with(bucket, live.key), again=True)
        waiting = (index for index in bucket.indices if index not in self.served)
        index = self._nearest(waiting, live)
        if index is not None:
            return Match(Tier.DRIFTED, index)
        index = self._nearest((index for index in reversed(bucket.indices) if index in self.served), live)
        return Match(Tier.UNEXPECTED) if index is None else Match(Tier.EXHAUSTED, index)

    def take(self, index: int, live: Form, tier: Tier = Tier.SAME) -> list[Mapped]:
        """Marks an exchange as served to `live`; which values of that stand for recorded ones."""
        if not self._expected[index]:
            self._buckets[self._groups[index]].turn += 1
            self.mapping.serve(index, same=False)
            return []
        bucket, known = self._buckets[self._groups[index]], self._know(index)
        self.served.add(index)
        self.given.append(index)
        self._passed.pop(index, None)
        self._passed |= dict.fromkeys(at for at in range(self._frontier, index) if self._expected[at])
        self._frontier = max(self._frontier, index + 1)
        self.secrets.learn(known.marks, live.marks)
        queue = bucket.waiting.get(known.key)
        if queue and index in queue:
            queue.remove(index)
        self.mapping.serve(index, same=tier is Tier.SAME)
        if tier is not Tier.MAPPED:
            return []
        return self.mapping.learn(self._blanks[index], blanked(live), live.endpoint)

    @property
    def first_waiting(self) -> int | None:
        """The earliest exchange that is expected and was not asked for."""
        while self._first_waiting < len(self._expected) and (
            self._first_waiting in self.served or not self._expected[self._first_waiting]
        ):
            self._first_waiting += 1
        return self._first_waiting if self._first_waiting < len(self._expected) else None

    def passed_over(self, index: int) -> list[int]:
        """What is recorded before `index`, expected, and not asked for yet."""
        new = (at for at in range(self._frontier, index) if self._expected[at])
        return [at for at in self._passed if at < index] + list(new)

    def never_requested(self) -> Iterator[int]:
        """What was expected and not asked for, in recorded order."""
        return (index for index, expected in enumerate(self._expected) if expected and index not in self.served)

    def secrets_fit(self, index: int, live: Form) -> bool:
        """Whether the secrets of `live` stand where the recorded ones stood."""
        return self.secrets.fits(self._know(index).marks, live.marks)

    def _same(self, bucket: _Bucket, live: Form) -> int | None:
        while True:
            for index in bucket.waiting.get(live.key, ()):
                if self.secrets.fits(self._known[index].marks, live.marks):
                    return index
            if bucket.keyed == len(bucket.indices):
                return None
            index = bucket.indices[bucket.keyed]
            known = self._know(index)
            queue = bucket.waiting.setdefault(known.key, deque())
            if index not in self.served:
                queue.append(index)
            bucket.keyed += 1

    def _mapped(self, bucket: _Bucket, live: Form) -> int | None:
        """The earliest waiting exchange that differs in minted values only."""
        if self.mapping.provenance is None:
            return None
        became = blanked(live)
        if not became.spots:
            return None
        while bucket.blanked < len(bucket.indices):
            index = bucket.indices[bucket.blanked]
            self._blanks[index] = was = blanked(self._form(index))
            bucket.mappable.setdefault(was.key, deque()).append(index)
            bucket.blanked += 1
        candidates = bucket.mappable.get(became.key, deque())
        while candidates and candidates[0] in self.served:
            candidates.popleft()
        for index in candidates:
            if (
                index not in self.served
                and self.mapping.fits(index, self._blanks[index], became, live.endpoint)
                and self.secrets_fit(index, live)
            ):
                return index
        return None

    def _know(self, index: int) -> Known:
        known = self._known.get(index)
        if known is None:
            form = self._form(index)
            said = conversation(form)
            if said is not None:
                self.lanes.place(index, form.endpoint, said)
            known = Known(form.key, form.marks, said, operation(form.body))
            self._known[index] = known
        return known

    def _next_optional(self, bucket: _Bucket) -> int:
        return bucket.indices[min(bucket.turn, len(bucket.indices) - 1)]

    def _last_with(self, bucket: _Bucket, key: bytes) -> int | None:
        return next(
            (index for index in reversed(bucket.indices[: bucket.keyed]) if self._known[index].key == key), None
        )

    def _nearest(self, indices: Iterator[int], live: Form) -> int | None:
        """The least different of some exchanges, None where none is near."""
        said = conversation(live)
        asked_for = operation(live.body)
        candidates = (index for index in indices if self._know(index).operation == asked_for)
        if said is not None:
            return nearest_conversation(said, {index: talk for index in candidates if (talk := self._know(index).said)})
        return nearest_form(live, candidates, self._form)

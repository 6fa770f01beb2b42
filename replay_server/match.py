"""Which recorded exchange answers a live request.

The tiers, in their order; the earliest exchange that is still waiting wins inside each:

0. optional: telemetry, any number of times or never: its answers in turn, the last one repeated
1. same: an equal key
2. mapped: equal but for values that the agent minted (its place; nothing is mapped yet)
3. drifted: same endpoint and operation, other content, the nearest one, within DISTANCE_MAX
4. exhausted: everything that fits has been served; unexpected: nothing ever fitted

An exact repetition of what was served is exhausted and not drifted: another call is not a changed one. Keys are made
when they are needed, in recorded order, each once: opening a long recording costs nothing, an agent that walks its
path makes one key a request, and a look-up is O(1) in the size of the run.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from replay_server.order import Conversation, Lanes, conversation
from store.core.compare import distance, leaves
from store.core.form import Endpoint, Form, Mark
from store.core.jsontext import Node

DISTANCE_MAX = 0.5
CANDIDATES_MAX = 256


class Tier(StrEnum):
    """How a live request was matched."""

    OPTIONAL = "optional"
    SAME = "matched"
    MAPPED = "mapped"
    DRIFTED = "drifted"
    EXHAUSTED = "exhausted"
    UNEXPECTED = "unexpected"


@dataclass(frozen=True, slots=True)
class Match:
    """The tier, and the recorded exchange that answers or comes nearest, by its place among the exchanges."""

    tier: Tier
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What is kept of a recorded request once its key was made."""

    key: bytes
    marks: tuple[Mark, ...]
    said: Conversation | None
    operation: str


@dataclass(slots=True)
class _Bucket:
    """The exchanges of one endpoint in recorded order, the first `keyed` of them with keys."""

    indices: list[int] = field(default_factory=list)
    keyed: int = 0
    waiting: dict[bytes, deque[int]] = field(default_factory=dict)
    turn: int = 0


class Matcher:
    """Matches one agent's requests against one recording; two replays never share one."""

    def __init__(self, endpoints: Sequence[Endpoint], optional: set[Endpoint], form: Callable[[int], Form]) -> None:
        self.lanes = Lanes()
        self.served: set[int] = set()
        self.optional = optional
        self._form = form
        self._known: dict[int, Known] = {}
        self.secrets = Secrets()
        self._first_waiting = 0
        self._expected = [endpoint not in optional for endpoint in endpoints]
        self._buckets: dict[Endpoint, _Bucket] = {}
        for index, endpoint in enumerate(endpoints):
            self._buckets.setdefault(endpoint, _Bucket()).indices.append(index)

    def find(self, live: Form) -> Match:
        """The exchange that answers `live`; it is not taken yet."""
        bucket = self._buckets.get(live.endpoint)
        if live.endpoint in self.optional:
            return Match(Tier.OPTIONAL, self._next_optional(bucket) if bucket else None)
        if bucket is None:
            return Match(Tier.UNEXPECTED)
        index = self._same(bucket, live)
        if index is not None:
            return Match(Tier.SAME, index)
        if live.key in bucket.waiting and not bucket.waiting[live.key]:
            return Match(Tier.EXHAUSTED, self._last_with(bucket, live.key))
        waiting = (index for index in bucket.indices if index not in self.served)
        index = self._nearest(waiting, live)
        if index is not None:
            return Match(Tier.DRIFTED, index)
        index = self._nearest((index for index in reversed(bucket.indices) if index in self.served), live)
        return Match(Tier.UNEXPECTED) if index is None else Match(Tier.EXHAUSTED, index)

    def take(self, index: int, live: Form) -> None:
        """Marks an exchange as served to `live`."""
        bucket = self._buckets[live.endpoint]
        if live.endpoint in self.optional:
            bucket.turn += 1
            return
        known = self._know(index)
        self.served.add(index)
        self.secrets.learn(known.marks, live.marks)
        queue = bucket.waiting.get(known.key)
        if queue and index in queue:
            queue.remove(index)
        while self._first_waiting < len(self._expected) and (
            self._first_waiting in self.served or not self._expected[self._first_waiting]
        ):
            self._first_waiting += 1

    @property
    def first_waiting(self) -> int | None:
        """The earliest exchange that is expected and was not asked for."""
        return self._first_waiting if self._first_waiting < len(self._expected) else None

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
        """The least different of some exchanges, None where all are further than DISTANCE_MAX."""
        said = conversation(live)
        asked_for = operation(live.body)
        candidates = (index for index in indices if self._know(index).operation == asked_for)
        if said is not None:
            return _nearest_conversation(
                said, {index: talk for index in candidates if (talk := self._know(index).said)}
            )
        found: tuple[float, int] | None = None
        for _, index in zip(range(CANDIDATES_MAX), candidates, strict=False):
            far = _distance(self._form(index).document, live.document)
            if far <= DISTANCE_MAX and (found is None or far < found[0]):
                found = far, index
        return found[1] if found else None


@dataclass(slots=True)
class Secrets:
    """The one-to-one map between the secrets of the recording and of the replay, each known by class and number."""

    _lives: dict[Mark, Mark] = field(default_factory=dict)
    _recordeds: dict[Mark, Mark] = field(default_factory=dict)

    def fits(self, recorded: tuple[Mark, ...], live: tuple[Mark, ...]) -> bool:
        """Whether these could be the same secrets, given all that was learned."""
        if not recorded and not live:
            return True
        lives, recordeds = dict(self._lives), dict(self._recordeds)
        pairs = zip(recorded, live, strict=False)
        return len(recorded) == len(live) and all(
            lives.setdefault(was, now) == now and recordeds.setdefault(now, was) == was for was, now in pairs
        )

    def live(self, recorded: Mark) -> Mark | None:
        """The secret of the replay that stands for a recorded one, as far as that is known."""
        return self._lives.get(recorded)

    def learn(self, recorded: tuple[Mark, ...], live: tuple[Mark, ...]) -> None:
        """Keeps these pairs, as far as they do not contradict what is known."""
        for was, now in zip(recorded, live, strict=False):
            if was not in self._lives and now not in self._recordeds:
                self._lives[was], self._recordeds[now] = now, was


def operation(body: Node) -> str:
    """What a JSON-RPC request asks for (method and tool name): another operation is never the same request changed."""
    if not isinstance(body, dict) or "jsonrpc" not in body:
        return ""
    parameters = body.get("params")
    tool = parameters.get("name") if isinstance(parameters, dict) else None
    return f"{body.get('method')} {tool}" if isinstance(tool, str) else str(body.get("method"))


def _nearest_conversation(live: Conversation, candidates: Mapping[int, Conversation]) -> int | None:
    """The longest common prefix of messages decides; then the frame, the messages in common, the length, the place."""
    best: tuple[tuple[int, int, int, int, int], int] | None = None
    counted = Counter(live.messages)
    for index, said in candidates.items():
        common = sum((counted & Counter(said.messages)).values())
        names = live.frame.keys() | said.frame.keys()
        alike = sum(live.frame.get(name) == said.frame.get(name) for name in names)
        if 1 - (alike + common) / max(1, len(names) + len(live.messages)) > DISTANCE_MAX:
            continue
        rank = -live.common_prefix(said), -alike, -common, abs(len(live.messages) - len(said.messages)), index
        if best is None or rank < best[0]:
            best = rank, index
    return best[1] if best else None


def _distance(recorded: dict[str, Node], live: dict[str, Node]) -> float:
    """The structural distance of two requests to one endpoint, which itself counts as one thing in common."""
    size = max(leaves(recorded), leaves(live), 1)
    return distance(recorded, live) * size / (size + 1)

"""What a replay has found so far: the first causes of its drifts, what follows from them, misses, order and counts."""

from collections import Counter
from dataclasses import dataclass, field

from replay_server.answer import Recorded
from replay_server.drift import Causes, Change
from replay_server.mapping import Mapped
from store.core.jsontext import shown


@dataclass(slots=True)
class Drifted:
    """One first cause: the recorded step, what changed there, and the later steps that only repeat it."""

    step: int
    seq: int
    place: str
    changes: list[Change]
    expected: str = ""
    follows: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Reordered:
    """A step that was asked for before one that it depends on."""

    step: int
    before: int
    place: str


@dataclass(frozen=True, slots=True)
class Missed:
    """A live request that the recording does not answer. `nearest` is the step that was served last to one like it."""

    place: str
    number: int
    nearest: int | None = None
    detail: str = ""


@dataclass(slots=True)
class Alias:
    """An id that the agent made up anew: its first place and step, both values as JSON text, how often it was met.

    The ids of JSON-RPC messages are told together, by their place: `recorded` and `live` are the first of them.
    """

    step: int
    pointer: str
    recorded: str
    live: str
    count: int = 0


@dataclass(slots=True)
class Gone:
    """A request that went live: the step of the new run, what it was taken for, and what came of it."""

    step: int
    place: str
    effect: str
    key: str | None = None
    status: int | None = None
    receipt: str | None = None
    failure: str = ""
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Withheld:
    """A request that was neither let out nor answered: why, and the rule that would let it out, if one would."""

    step: int
    place: str
    why: str
    rule: str


@dataclass(slots=True)
class Forked:
    """What became of a live mode: of a fork its step and what was said there, whether it was reached; what followed."""

    step: int | None
    said: str
    reached: bool = False
    mode: str = "fork"
    stubbed: int = 0
    connections: int = 0
    sockets: int = 0  # WebSockets to models that were told to speak HTTP
    live: list[Gone] = field(default_factory=list)
    withheld: list[Withheld] = field(default_factory=list)
    children: dict[str, str] = field(default_factory=dict)  # the ids of the new child runs by what they were called
    missing_children: list[str] = field(default_factory=list)  # the names of recorded ones that none stood for


@dataclass(slots=True)
class Findings:
    """Everything that one replay has to tell; `requests` counts what the agent asked for."""

    exchanges: int
    requests: int = 0
    matched: int = 0
    mapped: int = 0
    optional: int = 0
    repeated: int = 0
    messages: int = 0
    after_stop: int = 0
    drifted_requests: int = 0
    drifts: list[Drifted] = field(default_factory=list)
    reordered: list[Reordered] = field(default_factory=list)
    unexpected: list[Missed] = field(default_factory=list)
    exhausted: list[Missed] = field(default_factory=list)
    unserved: list[Missed] = field(default_factory=list)
    never_requested: list[tuple[int, str]] = field(default_factory=list)
    stopped_at: int | None = None
    aliases: dict[tuple[str, str], Alias] = field(default_factory=dict)
    ignored: Counter[str] = field(default_factory=Counter)
    allowed: Counter[str] = field(default_factory=Counter)
    local_tools: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    fork: Forked | None = None
    edited: list[int] = field(default_factory=list)
    hurried: list[int] = field(default_factory=list)  # steps whose answer said to wait, and was served without that
    stopped_by_hand: bool = False
    halted: Recorded | None = None  # what every request gets once the replay has ended early
    _causes: Causes = field(default_factory=Causes)

    def settle(self) -> None:
        """What never came is missing, and not late."""
        missing = {step for step, _ in self.never_requested}
        self.reordered = [one for one in self.reordered if one.before not in missing]

    def map(self, step: int, found: list[Mapped]) -> None:
        """Files the minted values of one request."""
        for one in found:
            recorded, live = shown(one.recorded), shown(one.live)
            key = (recorded, live) if one.role == "token" else ("", one.pointer)
            alias = self.aliases.setdefault(key, Alias(step, one.pointer, recorded, live))
            alias.count += 1

    def drift(self, step: int, seq: int, place: str, found: list[Change], expected: str) -> Drifted:
        """Files a drift under its first cause, and gives that."""
        self.drifted_requests += 1
        new, follows = self._causes.sort(step, found)
        if follows is not None:
            cause = next(drift for drift in self.drifts if drift.step == follows)
            if step != follows:
                cause.follows.append(step)
            return cause
        cause = Drifted(step, seq, place, new, expected)
        self.drifts.append(cause)
        return cause


@dataclass(slots=True)
class Clients:
    """Connections that never got as far as a request, and what passed by, counted by host; those of the recording are
    known to which something was `tunnelled`.
    """

    distrusted: Counter[str] = field(default_factory=Counter)
    silent: Counter[str] = field(default_factory=Counter)
    h2_only: Counter[str] = field(default_factory=Counter)
    malformed: int = 0
    local_tunnels: int = 0
    hung: int = 0
    tunnelled: frozenset[str] = frozenset()
    strangers: int = 0  # requests without the token, of programs that are not the agent's

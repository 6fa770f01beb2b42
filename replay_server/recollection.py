"""The control endpoint of a replay: the recorded time, chance and ids again, and notes held against the recorded ones.

Rules kept here:
- The n-th value of a kind that is asked for is the n-th that was handed out; nothing is made up when there is none.
- A note is a request like any other: one that says something else is drift.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from replay_server import drift
from replay_server.answer import Recorded
from replay_server.drift import Change
from store.core.control import calls
from store.core.control.calls import Noted, Said, Spawned, Wanted
from store.core.errors import Malformed
from store.core.form import Asked, Endpoint, Form, normal
from store.core.jsontext import parse
from store.core.model import Note, RunSpawn, Value
from store.exchange import Happening

type Body = Callable[[Happening], bytes]

_JSON = ((b"Content-Type", b"application/json"),)
_SPAWN = "run"


@dataclass(frozen=True, slots=True)
class Recalled:
    """What the recording has in answer to a call: the answer, its step, and how the call differs from the recorded
    one. Without an answer it has none that is left; `last` is then the step that the last one was given at.
    """

    answer: Recorded | None
    step: int | None = None
    seq: int = 0
    changes: tuple[Change, ...] = ()
    last: int | None = None


@dataclass(slots=True)
class Recollection:
    """One replay's memory. `body` reads the body of a recorded value or note."""

    happenings: list[Happening]
    body: Body
    _waiting: dict[str, deque[Happening]] = field(default_factory=dict)
    _given: dict[str, Happening] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for happening in self.happenings:
            kind = _kind_of(happening)
            if kind:
                self._waiting.setdefault(kind, deque()).append(happening)

    def recall(self, call: Wanted | Noted | Spawned) -> Recalled:
        """What answers a call; a note's content is redacted already."""
        kind = kind_of(call)
        waiting = self._waiting.get(kind)
        if not waiting:
            given = self._given.get(kind)
            return Recalled(None, last=given.step if given else None)
        self._given[kind] = happening = waiting.popleft()
        facts = happening.event.facts
        if isinstance(facts, RunSpawn):
            return Recalled(page(Said(201, calls.spawned(facts.child, ""))))
        recorded = self.body(happening)
        said = page(Said(200, recorded) if isinstance(call, Wanted) else Said(201, calls.noted(kind)))
        there, here = _recorded_form(facts, recorded), _form(call)
        changes = () if there.key == here.key else tuple(drift.changes(there, here))
        return Recalled(said, happening.step, happening.event.seq, changes)

    def never_asked(self) -> list[tuple[int, str]]:
        """The values and notes that were recorded and not asked for: step, and what it is."""
        left = [(happening.step, place_of(kind)) for kind, waiting in self._waiting.items() for happening in waiting]
        return sorted((step, place) for step, place in left if step is not None)


def page(said: Said) -> Recorded:
    """An answer of the endpoint as it is served."""
    return Recorded(said.status, b"", said.headers, "length", "complete", said.body)


def place_of(kind: str) -> str:
    """Method and URL of a call, for people."""
    path = {"now": "GET /v1/now", "random": "GET /v1/random", "uuid": "GET /v1/uuid", _SPAWN: "POST /v1/runs"}
    method, where = path.get(kind, "POST /v1/notes").split(" ")
    return f"{method} http://{calls.HOST}{where}"


def kind_of(call: Wanted | Noted | Spawned) -> str:
    """The kind that a call is counted under."""
    return _SPAWN if isinstance(call, Spawned) else call.kind


def _kind_of(happening: Happening) -> str:
    match happening.event.facts:
        case Value(kind=kind) | Note(kind=kind):
            return str(kind)
        case RunSpawn():
            return _SPAWN
    return ""


def _recorded_form(facts: object, body: bytes) -> Form:
    if isinstance(facts, Note):
        return _form(Noted(facts.kind, body))
    length = 0
    if isinstance(facts, Value) and facts.kind == "random":
        length = _length(body)
    return _form(Wanted(facts.kind if isinstance(facts, Value) else "now", length))


def _form(call: Wanted | Noted | Spawned) -> Form:
    match call:
        case Noted(content=content):
            return normal(Asked(_endpoint("POST", "/v1/notes"), b"", _JSON, content))
        case Wanted(kind="random", length=length):
            return normal(Asked(_endpoint("GET", "/v1/random"), b"bytes=%d" % length))
        case Wanted(kind=kind):
            return normal(Asked(_endpoint("GET", f"/v1/{kind}")))
    return normal(Asked(_endpoint("POST", "/v1/runs")))


def _endpoint(method: str, path: str) -> Endpoint:
    return Endpoint(method, "http", calls.HOST, 80, path.encode())


def _length(body: bytes) -> int:
    try:
        said = parse(body)
    except Malformed:
        return 0
    text = said.get("hex") if isinstance(said, dict) else None
    return len(text) // 2 if isinstance(text, str) else 0

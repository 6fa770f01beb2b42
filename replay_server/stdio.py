"""Tool servers on stdin and stdout, replayed: what such a server said then is said again, and the server is not run.

Rules kept here:
- A request is answered by the earliest recorded one of the same server and method that says the same; the answer
  keeps the id that the agent gave.
- What a server said by itself comes before the answer that it came before, and at once after the last one that it came
  after where the agent said nothing more until then.
- Notifications and answers of the agent are told to nobody; they may come or not.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import dropwhile

from replay_server import drift
from replay_server.drift import Change
from replay_server.match import Tier
from replay_server.normalise import Rules
from store.core import rpc
from store.core.control.calls import Passed
from store.core.form import Asked, Endpoint, Form
from store.core.model import RpcMessage
from store.core.rpc import Message
from store.core.text import Text, text_bytes
from store.exchange import Happening

type Body = Callable[[Happening], bytes]

_JSON = ((b"Content-Type", b"application/json"),)


@dataclass(slots=True)
class Line:
    """One recorded message; `told` once it was answered, or said again."""

    happening: Happening
    raw: bytes
    message: Message
    to_server: bool
    told: bool = False

    @property
    def step(self) -> int:
        """The step of a request."""
        return self.happening.step or 0


@dataclass(frozen=True, slots=True)
class Answered:
    """What the recording has for a live message: the lines to say, the request that they answer, what differs.

    Without `line` and with `wanted` nothing recorded answers it; `last` is the step of the last that was like it.
    """

    lines: tuple[bytes, ...] = ()
    line: Line | None = None
    wanted: bool = False
    changes: tuple[Change, ...] = ()
    last: int | None = None


@dataclass(slots=True)
class Stdio:
    """All tool servers of one replay. `body` reads the body of a recorded message."""

    happenings: list[Happening]
    body: Body
    rules: Rules
    _servers: dict[str, list[Line]] | None = field(default=None)

    def answer(self, passed: Passed) -> Answered:
        """What a live message gets; its content is redacted already."""
        lines = self._lines().get(passed.server, [])
        live = rpc.message(passed.message)
        if passed.direction != "to_server" or not live.is_request:
            at = next((line for line in lines if line.to_server and not line.told and _alike(line, live)), None)
            if at is not None:
                at.told = True
            return Answered(tuple(self._said_before(lines, _next_request(lines))))
        found, changes = self._find(lines, passed, live)
        if found is None:
            served = [line.step for line in lines if line.to_server and line.told and _alike(line, live)]
            return Answered(wanted=True, last=served[-1] if served else None)
        found.told = True
        reply = next((line for line in lines if _answers(line, found)), None)
        if reply is None:
            return Answered((), found, wanted=True, changes=changes)
        reply.told = True
        before = tuple(self._said_before(lines, reply))
        after = tuple(self._said_after(lines, reply))
        return Answered((*before, rpc.with_id(reply.raw, live.id), *after), found, True, changes)

    def foresee(self, passed: Passed) -> tuple[Tier, bool]:
        """What the recording has for a request, without giving it: an equal one, one like it or none; and whether the
        equal one had a good outcome.
        """
        lines = self._lines().get(passed.server, [])
        found, changes = self._find(lines, passed, rpc.message(passed.message))
        if found is None or changes:
            return Tier.UNEXPECTED if found is None else Tier.DRIFTED, False
        reply = next((line for line in lines if _answers(line, found)), None)
        return Tier.SAME, reply is not None and rpc.is_good(reply.message)

    def never_asked(self) -> list[tuple[int, str]]:
        """The requests that were recorded and not made: step, and what it is."""
        servers = self._lines().items()
        left = [
            (line.step, place(server, line.message))
            for server, lines in servers
            for line in lines
            if line.to_server and line.message.is_request and not line.told
        ]
        return sorted(left)

    def _find(self, lines: list[Line], passed: Passed, live: Message) -> tuple[Line | None, tuple[Change, ...]]:
        waiting = [line for line in lines if line.to_server and not line.told and _alike(line, live)]
        here = self._form(passed.server, passed.message, live)
        for line in waiting:
            if self._form(passed.server, line.raw, line.message).key == here.key:
                return line, ()
        if not waiting:
            return None, ()
        there = self._form(passed.server, waiting[0].raw, waiting[0].message)
        return waiting[0], tuple(drift.changes(there, here))

    def _form(self, server: str, raw: bytes, message: Message) -> Form:
        endpoint = Endpoint("POST", "stdio", server, 0, b"/" + message.method.encode("utf-8", "surrogateescape"))
        form = self.rules.normal(Asked(endpoint, b"", _JSON, raw)).form
        body = form.document.get("body")
        if isinstance(body, dict):
            form.document["body"] = {name: value for name, value in body.items() if name != "id"}
        return form

    def _said_before(self, lines: list[Line], until: Line | None) -> Iterator[bytes]:
        """What the server said by itself before a line, and has not said yet."""
        for line in lines:
            if line is until:
                return
            if not line.to_server and not line.told and not line.message.is_answer:
                line.told = True
                yield line.raw

    def _said_after(self, lines: list[Line], answer: Line) -> Iterator[bytes]:
        """What the server said by itself after an answer, until the agent spoke or another answer came."""
        for line in dropwhile(lambda line: line is not answer, lines):
            if line.to_server or (line.message.is_answer and not line.told):
                return
            if not line.told:
                line.told = True
                yield line.raw

    def _lines(self) -> dict[str, list[Line]]:
        if self._servers is None:
            self._servers = {}
            for happening in self.happenings:
                facts = happening.event.facts
                if isinstance(facts, RpcMessage):
                    raw = self.body(happening)
                    line = Line(happening, raw, rpc.message(raw), facts.direction == "to_server")
                    self._servers.setdefault(_name(facts.server), []).append(line)
        return self._servers


def place(server: str, message: Message) -> str:
    """A call, for people."""
    return f"{message.words} on the tool server {server}"


def _alike(line: Line, live: Message) -> bool:
    recorded = line.message
    return (recorded.words, bool(recorded.id)) == (live.words, bool(live.id))


def _answers(line: Line, request: Line) -> bool:
    same = line.message.is_answer and line.message.id == request.message.id
    return same and not line.to_server and not line.told


def _next_request(lines: list[Line]) -> Line | None:
    return next((line for line in lines if line.to_server and line.message.is_request and not line.told), None)


def _name(server: Text) -> str:
    return text_bytes(server).decode("utf-8", "surrogateescape") if not _is_apart(server) else ""


def _is_apart(server: Text) -> bool:
    return not isinstance(server, str) and server.b64 is None

"""What a model was asked on a WebSocket: its messages say so, and not the request that opened it. Pure."""

from collections import Counter
from dataclasses import dataclass
from typing import Protocol

from proxy.words import count, shown
from store.core.errors import EdgetapeError
from store.core.event import Event
from store.core.model import WsMessage
from store.core.text import Apart, Text
from store.exchange import Exchange
from store.labels.classify import request_labels, response_labels
from store.labels.dialect import RequestLabels

_JSON = ((b"content-type", b"application/json"),)
_STREAM = ((b"content-type", b"text/event-stream"),)
_TELLING = (b'"usage"', b'"function_call"')


class Look(Protocol):
    """Where a text or a body that an event names can be read."""

    def text(self, event: Event, value: Text | None) -> bytes:
        """A text, short or apart."""

    def body(self, event: Event, apart: Apart | None) -> bytes:
        """A body that the event commits to."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """The models that were asked on one socket, how often in all, and what they answered."""

    models: tuple[str, ...]
    operation: str
    times: int
    tools: tuple[str, ...]
    usage: tuple[tuple[str, int], ...]

    def asked(self, place: str) -> str:
        """`model m-1 asked (responses) 2 times on a WebSocket at api.openai.com:443`."""
        names = ", ".join(shown(model.encode()) for model in self.models)
        often = f" {count(self.times, 'time')}" if self.times > 1 else ""
        word = "model" if len(self.models) == 1 else "models"
        return f"{word} {names} asked ({self.operation}){often} on a WebSocket at {place}"

    @property
    def answered(self) -> list[str]:
        """What came of it, for people."""
        said = [f"it asks for {', '.join(shown(tool.encode()) for tool in self.tools)}"] if self.tools else []
        if self.usage:
            said.append(", ".join(f"{number} {name.replace('_', ' ')}" for name, number in self.usage))
        return said


def spoken(exchange: Exchange, look: Look) -> Spoken | None:
    """What the messages of a socket say of models; None where they ask none, or are gone."""
    models: dict[str, None] = {}
    tools: dict[str, None] = {}
    usage: Counter[str] = Counter()
    asked: RequestLabels | None = None
    times = 0
    for event in exchange.messages:
        facts, raw = event.facts, _body(event, look)
        if not isinstance(facts, WsMessage) or facts.opcode != "text":
            continue
        if facts.direction == "to_server":
            labels = _labels(exchange, raw, look)
            if labels.kind == "llm" and labels.model:
                asked, times = labels, times + 1
                models[labels.model] = None
        elif asked is not None and any(word in raw for word in _TELLING):
            answer = response_labels(asked, 200, _STREAM, _event(raw))
            tools |= dict.fromkeys(answer.tools)
            usage.update(dict(answer.usage))
    if asked is None:
        return None
    return Spoken(tuple(models), asked.operation or "", times, tuple(tools), tuple(usage.items()))


def _labels(exchange: Exchange, raw: bytes, look: Look) -> RequestLabels:
    """What a message is, read as the request that it would be over HTTP."""
    facts, event = exchange.facts, exchange.request
    scheme, host, path = (look.text(event, text) for text in (facts.scheme, facts.host, facts.path))
    return request_labels(b"POST", scheme, host, facts.port, path, _JSON, raw)


def _event(raw: bytes) -> bytes:
    return b"".join(b"data: %s\n" % line for line in raw.splitlines()) + b"\n"


def _body(event: Event, look: Look) -> bytes:
    facts = event.facts
    try:
        return look.body(event, facts.body) if isinstance(facts, WsMessage) else b""
    except EdgetapeError:
        return b""

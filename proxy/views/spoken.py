"""What models were asked on a WebSocket, and what they answered: its messages say so, and not what opened it. Pure."""

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol

from proxy.words import amounts, count, shown
from store.core.errors import EdgetapeError
from store.core.event import Event
from store.core.model import WsMessage
from store.core.text import Apart, Text
from store.core.words import noun
from store.exchange import Exchange
from store.labels.classify import answer_text, request_labels
from store.labels.dialect import Answer, Call, RequestLabels
from store.labels.gemini import LIVE

_JSON = ((b"content-type", b"application/json"),)
_STREAM = ((b"content-type", b"text/event-stream"),)
_LAST = re.compile(rb'"type"\s*:\s*"response\.(completed|incomplete|failed|cancelled|done)"')
_TURN_ENDS = re.compile(rb'"turnComplete"\s*:\s*true|"toolCall"\s*:')  # Gemini's Live API
_SET_UP = re.compile(rb'\s*\{\s*"setupComplete"')
_ASKS = re.compile(rb'"type"\s*:\s*"response\.create"')
_SOUND = b"audio.delta"
_TYPE_WITHIN = 200  # bytes, where the type of a message stands


class Look(Protocol):
    """Where a text or a body that an event names can be read."""

    def text(self, event: Event, value: Text | None) -> bytes:
        """A text, short or apart."""

    def body(self, event: Event, apart: Apart | None) -> bytes:
        """A body that the event commits to."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """The models that were asked on one socket, how often in all, what they answered, and how long that took them."""

    models: tuple[str, ...]
    operation: str
    times: int
    answers: tuple[Answer, ...]
    took_us: int

    @property
    def calls(self) -> tuple[Call, ...]:
        """The tools that they asked for, with what."""
        return tuple(chain.from_iterable(answer.calls for answer in self.answers))

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of these tools, each once."""
        return tuple(dict.fromkeys(call.name for call in self.calls))

    @property
    def usage(self) -> dict[str, int]:
        """What was counted, under the provider's names, summed."""
        total: Counter[str] = Counter()
        for answer in self.answers:
            total.update(dict(answer.usage))
        return dict(total)

    @property
    def answer(self) -> Answer:
        """All that was said, as one answer."""
        return Answer(
            text="\n".join(answer.text for answer in self.answers if answer.text),
            calls=self.calls,
            reasoning="\n".join(answer.reasoning for answer in self.answers if answer.reasoning),
            model=self.models[-1],
            usage=tuple(self.usage.items()),
            error="\n".join(answer.error for answer in self.answers if answer.error),
        )

    def asked(self, place: str) -> str:
        """`model m-1 asked (responses) 2 times on a WebSocket at api.openai.com:443`."""
        names = ", ".join(shown(model.encode()) for model in self.models)
        often = f" {count(self.times, 'time')}" if self.times > 1 else ""
        word = noun(len(self.models), "model")
        return f"{word} {names} asked ({self.operation}){often} on a WebSocket at {place}"

    @property
    def answered(self) -> list[str]:
        """What came of it, for people."""
        said = [f"it asks for {', '.join(shown(tool.encode()) for tool in self.tools)}"] if self.tools else []
        if self.usage:
            said.append(amounts(self.usage))
        return said


def spoken(exchange: Exchange, look: Look) -> Spoken | None:
    """What the messages of a socket say of models; None where they ask none, or are gone."""
    heard = _Heard(exchange, look)
    for event in exchange.messages:
        heard.take(event)
    heard.close()
    if heard.asked is None:
        return None
    times = max(heard.times, len(heard.answers))  # a realtime server may answer to what it hears, unasked
    return Spoken(tuple(heard.models), heard.asked.operation or "", times, tuple(heard.answers), heard.took_us)


@dataclass(slots=True)
class _Heard:
    """What was said so far; `pieces` are those of the answer that is coming, which was asked for at `since_us`."""

    exchange: Exchange
    look: Look
    asked: RequestLabels | None = None
    models: dict[str, None] = field(default_factory=dict)
    times: int = 0
    answers: list[Answer] = field(default_factory=list)
    took_us: int = 0
    pieces: list[bytes] = field(default_factory=list)
    since_us: int = 0

    def take(self, event: Event) -> None:
        """One message, or the end of the socket."""
        facts = event.facts
        if not isinstance(facts, WsMessage) or (facts.opcode != "text" and not self._is_live):
            return
        raw = _body(event, self.look)  # Google's servers say JSON in messages of type binary
        if facts.direction == "to_server":
            self._ask(event, raw)
        elif self.asked is not None and _SOUND not in raw[:_TYPE_WITHIN] and not _SET_UP.match(raw):
            self.since_us = self.since_us or event.place.mono_us
            self.pieces.append(b"".join(b"data: %s\n" % line for line in raw.splitlines()) + b"\n")
            if (_TURN_ENDS if self._is_live else _LAST).search(raw):
                self.took_us += event.place.mono_us - self.since_us
                self.close()

    @property
    def _is_live(self) -> bool:
        return self.asked is not None and self.asked.operation == LIVE

    def close(self) -> None:
        """The answer that was coming is as whole as it will be."""
        if self.asked is not None and self.pieces:
            answer = answer_text(self.asked, _STREAM, b"".join(self.pieces))
            if answer != Answer():
                self.answers.append(answer)
        self.pieces.clear()
        self.since_us = 0

    def _ask(self, event: Event, raw: bytes) -> None:
        if self.asked is not None and self.asked.operation == "realtime" and not _ASKS.search(raw):
            return
        if self._is_live:  # whatever it says, its model and session stay
            self.since_us = self.since_us if self.pieces else event.place.mono_us
            return
        labels = _labels(self.exchange, raw, self.look)
        if labels.kind == "llm" and labels.model:
            self.close()
            self.asked, self.since_us = labels, event.place.mono_us
            self.models[labels.model] = None
            self.times += labels.operation != "realtime" or bool(_ASKS.search(raw))


def _labels(exchange: Exchange, raw: bytes, look: Look) -> RequestLabels:
    """What a message is, read as the request that it would be over HTTP."""
    facts, event = exchange.facts, exchange.request
    scheme, host, path = (look.text(event, text) for text in (facts.scheme, facts.host, facts.path))
    try:
        query = look.body(event, facts.query) if facts.query is not None else b""
    except EdgetapeError:
        query = b""
    return request_labels(b"POST", scheme, host, facts.port, path + b"?" + query, _JSON, raw)


def _body(event: Event, look: Look) -> bytes:
    facts = event.facts
    try:
        return look.body(event, facts.body) if isinstance(facts, WsMessage) else b""
    except EdgetapeError:
        return b""

"""A recorded run as texts: what was asked and said in it, for questions of where something came from."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote

from replay_server.spoken import QUOTED_CHARS_MIN, Said, Spoken, Wanted, texts, tool_of
from replay_server.tape import Tape
from store.core.errors import Malformed
from store.core.jsontext import opened, parse
from store.core.model import RunOpen, Value, WsMessage
from store.labels.classify import read
from store.labels.dialect import Answer, RequestLabels
from store.labels.wire import Response
from store.reader import BodyUnavailable


@dataclass(frozen=True, slots=True)
class Transcript:
    """Of one tape."""

    tape: Tape

    def inputs(self) -> Iterator[bytes]:
        """What the agent was given besides answers: its command line, and the values that the recorder handed out."""
        for happening in self.tape.happenings:
            if isinstance(happening.event.facts, RunOpen | Value):
                with suppress(BodyUnavailable):
                    yield self.tape.told(happening)

    def said(self, index: int) -> Iterator[bytes]:
        """The texts of a recorded answer in which a value may stand: headers, content, what a stream puts together."""
        recorded = self.tape.answer(index)
        if recorded is None:
            return
        yield from (value for _, value in recorded.headers)
        response = Response(recorded.status, recorded.headers, recorded.body)
        yield response.content
        if response.is_stream:
            answer = read(self.tape.labelled(index), response)
            yield from (call.arguments.encode("utf-8", "replace") for call in answer.calls)
        for event in self.tape.exchanges[index].messages:
            if isinstance(event.facts, WsMessage) and event.facts.direction == "to_client":
                with suppress(BodyUnavailable):
                    yield self.tape.said(event)

    def spoken(self, index: int) -> Spoken:
        """What an exchange asked and said, as far as order is to be read from it."""
        exchange, form, labels = self.tape.exchanges[index], self.tape.form(index), self.tape.labelled(index)
        place = form.endpoint
        path = unquote(place.path.decode("latin-1")).split("/")
        leaves = frozenset(filter(None, (*path, *(leaf for part in form.document.values() for leaf in texts(part)))))
        return Spoken(
            leaves=leaves,
            tool=tool_of(form.body),
            llm=labels.kind == "llm",
            run=exchange.request.run,
            host=(place.host, place.port),
            effect=labels.effect if labels.boundary == "effect" else "read",
            began=exchange.request.seq,
            ended=None if exchange.outcome is None else exchange.outcome.seq,
            answer=lambda: self._answered(index, labels),
        )

    def _answered(self, index: int, labels: RequestLabels) -> Said:
        """A recorded answer as its dialect reads it."""
        recorded = self.tape.answer(index)
        if recorded is None:
            return Said("", (), tuple)
        answer, whole = read(labels, Response(recorded.status, recorded.headers, recorded.body)), ""
        if len(answer.text.strip()) >= QUOTED_CHARS_MIN:
            whole = answer.text.strip()
        return Said(whole, tuple(map(Wanted.of, answer.calls)), lambda: self._texts(index, answer))

    def _texts(self, index: int, answer: Answer) -> list[str]:
        """The texts in a recorded answer."""
        recorded = self.tape.answer(index)
        if recorded is None:
            return []
        response = Response(recorded.status, recorded.headers, recorded.body)
        found = [answer.text, *(value.decode("latin-1") for _, value in recorded.headers)]
        found += [text for call in answer.calls for text in (call.id, call.arguments)]
        if not response.is_stream:
            with suppress(Malformed):
                found += texts(opened(parse(response.content)))
        return found

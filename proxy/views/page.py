"""One step whole, for people: what was asked, what came back, when, and the bodies as they read."""

from collections.abc import Iterator

from proxy.views.answer import answer_of
from proxy.views.body import INDENT, body_of, request_body, response_body
from proxy.views.timeline import clock, exchange_line, lines, outcome_words, target
from proxy.words import duration, moment, printable, shown
from store.core.event import Event
from store.core.model import HttpError, HttpRequest, HttpResponse, Note, RpcMessage, Value, WsMessage
from store.core.text import Headers, Text
from store.exchange import Exchange, Happening, Step
from store.reader import Reader


def page(reader: Reader, step: Step) -> Iterator[str]:
    """The page of any step, line by line; bodies whole."""
    return _Page(reader, step).lines() if isinstance(step, Exchange) else _slip(reader, step)


def _slip(reader: Reader, step: Happening) -> Iterator[str]:
    (line,) = lines([step], reader)
    event, facts = step.event, step.event.facts
    yield f"step {step.step}: {line.words}"
    since = clock(event.place.mono_us)
    yield f"{moment(event.place.ts)}, {since} after the run opened; event {event.seq}"
    body = body_of(reader, event, facts.body) if isinstance(facts, Value | Note | RpcMessage) else None
    if body is not None:
        yield from body.text(exact=True)


class _Page:
    def __init__(self, reader: Reader, step: Exchange) -> None:
        self._reader = reader
        self._step = step

    def lines(self) -> Iterator[str]:
        step, asked = self._step, self._step.request
        yield f"step {step.step}: {exchange_line(step, self._reader).words}"
        since = clock(asked.place.mono_us)
        yield f"asked {moment(asked.place.ts)}, {since} after the run opened; event {asked.seq}"
        yield ""
        yield from self._request(step.facts)
        yield ""
        if step.response is not None and step.outcome is not None:
            yield from self._response(step.outcome, step.response)
        elif step.error is not None and step.outcome is not None:
            yield from self._error(step.outcome, step.error)
        else:
            yield "no outcome yet"
        yield from self._messages()

    def _request(self, facts: HttpRequest) -> Iterator[str]:
        event = self._step.request
        method, version = self._shown(event, facts.method), self._shown(event, facts.http_version)
        yield f"request: {method} {target(event, facts, self._reader)} {version}"
        yield from self._headers(event, facts.headers)
        settings = self._reader.pairs(event, facts.settings)
        derived = {
            "class": facts.kind,
            "operation": facts.operation,
            "settings": ", ".join(f"{shown(name)}={shown(value)}" for name, value in settings),
        }
        yield from (f"{INDENT}({name}: {value})" for name, value in derived.items() if value)
        body = request_body(self._reader, self._step)
        if body is not None:
            yield from body.text(exact=facts.exact)

    def _response(self, event: Event, facts: HttpResponse) -> Iterator[str]:
        spans = ((facts.first_byte_us, "to the first byte"), (facts.total_us, "in all"))
        times = [f"{duration(span)} {what}" for span, what in spans if span is not None]
        reason = "" if facts.reason is None else " " + self._shown(event, facts.reason)
        yield f"response: {facts.status}{reason}; {', '.join((*times, f'event {event.seq}'))}"
        if facts.ended != "complete":
            yield f"{INDENT}(ended: {facts.ended.replace('_', ' ')})"
        if facts.interim is not None:
            yield f"{INDENT}interim answers:"
            yield from self._headers(event, facts.interim)
        yield from self._headers(event, facts.headers)
        yield from self._answer()
        body = response_body(self._reader, self._step)
        if body is not None:
            yield from body.text(exact=facts.exact)
        if facts.trailers is not None:
            yield f"{INDENT}trailers:"
            yield from self._headers(event, facts.trailers)

    def _answer(self) -> Iterator[str]:
        answer = answer_of(self._reader, self._step)
        if answer is None:
            return
        said = {"reasoning": answer.reasoning, "answer": answer.text, "error": answer.error}
        for name, text in said.items():
            first, *rest = printable(text).splitlines() or [""]
            if text:
                yield f"{INDENT}{name}: {first}"
                yield from (f"{INDENT}{INDENT}{line}" for line in rest)
        for call in answer.calls:
            yield f"{INDENT}asks for: {printable(call.name)}({printable(call.arguments)})"

    def _error(self, event: Event, error: HttpError) -> Iterator[str]:
        took = "" if error.total_us is None else f" after {duration(error.total_us)}"
        yield f"no response{took}: {outcome_words(error)} ({error.kind}); event {event.seq}"
        detail = body_of(self._reader, event, error.detail)
        if detail is not None:
            yield INDENT + (detail.missing or shown(detail.content))

    def _messages(self) -> Iterator[str]:
        for number, event in enumerate(self._step.messages, 1):
            facts = event.facts
            body = body_of(self._reader, event, facts.body) if isinstance(facts, WsMessage) else None
            if isinstance(facts, WsMessage) and body is not None:
                yield ""
                whither = "to" if facts.direction == "to_server" else "from"
                yield f"message {number} {whither} the server, {clock(event.place.mono_us)}; event {event.seq}"
                yield from body.text(exact=facts.exact)

    def _headers(self, event: Event, headers: Headers | None) -> Iterator[str]:
        for name, value in self._reader.pairs(event, headers):
            yield f"{INDENT}{shown(name)}: {shown(value)}"

    def _shown(self, event: Event, value: Text) -> str:
        return shown(self._reader.text(event, value))

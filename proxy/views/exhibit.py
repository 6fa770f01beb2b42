"""One step whole, for programs: the values that --json prints, under names that stay."""

from collections.abc import Sequence

from proxy.views.answer import answer_of, counted
from proxy.views.body import Body, body_of, request_body, response_body
from proxy.views.spoken import spoken
from proxy.views.timeline import exchange_line, lines, outcome_words
from proxy.words import shown
from store.core.event import Event
from store.core.model import HttpError, HttpResponse, Note, RpcMessage, Value, WsMessage
from store.core.text import Headers, Text
from store.exchange import Exchange, Happening, Step
from store.labels.dialect import Answer
from store.reader import Reader

type Members = dict[str, object]


def exhibit(reader: Reader, step: Step) -> Members:
    """The members of any step."""
    return _exchange(reader, step) if isinstance(step, Exchange) else _happening(reader, step)


def _happening(reader: Reader, step: Happening) -> Members:
    (line,) = lines([step], reader)
    facts = step.event.facts
    body = body_of(reader, step.event, facts.body) if isinstance(facts, Value | Note | RpcMessage) else None
    return {**line.as_record(), "asked": step.event.place.ts, "body": _body(body)}


def _exchange(reader: Reader, step: Exchange) -> Members:
    response = error = None
    if step.outcome is not None and step.response is not None:
        response = _response(reader, step, step.outcome, step.response)
    if step.outcome is not None and step.error is not None:
        error = _error(reader, step.outcome, step.error)
    return {
        **exchange_line(step, reader).as_record(),
        "asked": step.request.place.ts,
        "request": _request(reader, step),
        "response": response,
        "error": error,
        "messages": _messages(reader, step.messages),
    }


def _request(reader: Reader, step: Exchange) -> Members:
    event, facts = step.request, step.facts
    query = body_of(reader, event, facts.query)
    return {
        "seq": event.seq,
        "method": _text(reader, event, facts.method),
        "scheme": _text(reader, event, facts.scheme),
        "host": _text(reader, event, facts.host),
        "port": facts.port,
        "path": _text(reader, event, facts.path),
        "query": None if query is None or query.missing else shown(query.content),
        "http_version": _text(reader, event, facts.http_version),
        "headers": _headers(reader, event, facts.headers),
        "body": _body(request_body(reader, step)),
        "exact": facts.exact,
        "class": facts.kind,
        "operation": facts.operation,
        "tool": _text(reader, event, facts.tool),
        "model": _text(reader, event, facts.model),
    }


def _response(reader: Reader, step: Exchange, event: Event, facts: HttpResponse) -> Members:
    talk = spoken(step, reader) if step.messages else None
    return {
        "seq": event.seq,
        "status": facts.status,
        "reason": _text(reader, event, facts.reason),
        "http_version": _text(reader, event, facts.http_version),
        "headers": _headers(reader, event, facts.headers),
        "interim": _headers(reader, event, facts.interim),
        "trailers": _headers(reader, event, facts.trailers),
        "body": _body(response_body(reader, step)),
        "exact": facts.exact,
        "ended": facts.ended,
        "framing": facts.framing,
        "first_byte_us": facts.first_byte_us,
        "total_us": facts.total_us,
        "model": _text(reader, event, facts.model),
        "usage": counted(facts) or (talk.usage if talk is not None else {}),
        "stop": _text(reader, event, facts.stop),
        "tools": list(talk.tools) if talk else [_text(reader, event, tool) for tool in facts.tools or ()],
        "answer": _answer(answer_of(reader, step)),
    }


def _answer(answer: Answer | None) -> Members | None:
    if answer is None:
        return None
    calls = [{"name": call.name, "arguments": call.arguments, "id": call.id} for call in answer.calls]
    return {"text": answer.text, "calls": calls, "reasoning": answer.reasoning, "error": answer.error}


def _error(reader: Reader, event: Event, facts: HttpError) -> Members:
    return {
        "seq": event.seq,
        "kind": facts.kind,
        "words": outcome_words(facts),
        "detail": _body(body_of(reader, event, facts.detail)),
        "total_us": facts.total_us,
    }


def _messages(reader: Reader, events: Sequence[Event]) -> list[Members]:
    return [
        {
            "seq": event.seq,
            "direction": event.facts.direction,
            "opcode": event.facts.opcode,
            "body": _body(body_of(reader, event, event.facts.body)),
        }
        for event in events
        if isinstance(event.facts, WsMessage)
    ]


def _body(body: Body | None) -> Members | None:
    return None if body is None else body.record()


def _headers(reader: Reader, event: Event, headers: Headers | None) -> list[list[str]]:
    return [[shown(name), shown(value)] for name, value in reader.pairs(event, headers)]


def _text(reader: Reader, event: Event, value: Text | None) -> str | None:
    return None if value is None else shown(reader.text(event, value))

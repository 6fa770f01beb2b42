"""A run as a person reads it: a line a step, in plain words. Pure: events in, lines out.

Texts that an event keeps apart (a long path, a query) are asked of a `Look`, which the store's reader fits.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from proxy.views.answer import counted
from proxy.views.spoken import Look, Spoken, spoken
from proxy.words import amounts, count, duration, folded, moment, printable, shown, size
from store.core import rpc
from store.core.errors import EdgetapeError
from store.core.event import Event
from store.core.model import (
    Frozen,
    Gap,
    HttpError,
    HttpRequest,
    HttpResponse,
    Note,
    RpcMessage,
    RunClose,
    RunOpen,
    RunSpawn,
    TunnelClose,
    TunnelOpen,
    Value,
    WsMessage,
)
from store.exchange import Exchange, Happening, Step
from store.labels import note

QUERY_CHARS_MAX = 80
PATH_CHARS_MAX = 100
NOTE_CHARS_MAX = 100

_FAILURES = {
    "dns": "the host name could not be resolved",
    "connect": "the server could not be reached",
    "tls": "no trusted TLS connection came about",
    "timeout": "no answer in time",
    "reset": "the server cut the connection before it answered",
    "closed": "the server closed the connection before it answered",
    "client_gone": "the agent left before the answer",
    "refused": "refused by edgetape",
    "recorder_stopped": "the recorder stopped before the answer",
}
_CUTS = {
    "client_gone": "the agent left before its end",
    "reset": "cut by the server",
    "closed": "ended by the server before its end",
    "timeout": "fell silent before its end",
    "refused_by_policy": "stopped by a rule",
    "truncated": "kept in part",
    "recorder_stopped": "the recorder stopped before its end",
}
_TUNNELS = {
    "excluded": "as configured",
    "pinned": "its client trusts only the server's own certificate",
    "local": "a server of the agent's own",
    "cleartext_h2": "HTTP/2 without TLS",
    "not_http": "not HTTP",
    "upgrade": "upgraded to another protocol",
}

type Mark = Literal["good", "odd", "bad"]


@dataclass(frozen=True, slots=True)
class Line:
    """One step. Times are microseconds, `at_us` since the run opened; what is not counted has no number."""

    number: int | None
    at_us: int
    took_us: int | None
    status: str
    words: str
    mark: Mark

    def as_record(self) -> dict[str, object]:
        """The line as --json prints it."""
        return {
            "step": self.number,
            "at_us": self.at_us,
            "took_us": self.took_us,
            "status": self.status,
            "words": self.words,
            "mark": self.mark,
        }


def lines(steps: Iterable[Step], look: Look) -> list[Line]:
    """The lines of a run's steps, in their order."""
    return [
        exchange_line(step, look) if isinstance(step, Exchange) else _other_line(step, look)
        for step in steps
        if not (isinstance(step, Happening) and isinstance(step.event.facts, RunOpen | RunClose))
    ]


def exchange_line(exchange: Exchange, look: Look) -> Line:
    """The line of one exchange."""
    response, error = exchange.response, exchange.error
    at_us = exchange.request.place.mono_us
    talk = spoken(exchange, look) if exchange.messages and exchange.facts.model is None else None
    asked = _asked(exchange.request, exchange.facts, look, talk)
    if response is not None:
        took = response.total_us
        words = "; ".join(filter(None, (asked, _answered(exchange, response, look, talk))))
        mark = "odd" if _lacks_an_end(exchange) else _mark(response)
        return Line(exchange.step, at_us, took, str(response.status), words, mark)
    if error is not None:
        words = f"{asked}; {_FAILURES[error.kind]}"
        return Line(exchange.step, at_us, error.total_us, error.kind, words, "bad")
    return Line(exchange.step, at_us, None, "open", f"{asked}; no outcome yet", "odd")


def target(event: Event, facts: HttpRequest, look: Look) -> str:
    """The address that was asked for, folded to one line."""
    scheme, host = shown(look.text(event, facts.scheme)), shown(look.text(event, facts.host))
    path = folded(shown(look.text(event, facts.path)), PATH_CHARS_MAX)
    usual = {"https": 443, "http": 80, "wss": 443, "ws": 80}.get(scheme) == facts.port
    place = f"[{host}]" if ":" in host else host
    if not scheme:  # a CONNECT has an authority and nothing else
        return f"{place}:{facts.port}"
    return f"{scheme}://{place}{'' if usual else f':{facts.port}'}{path}{_query(event, facts, look)}"


def _query(event: Event, facts: HttpRequest, look: Look) -> str:
    if facts.query is None:
        return ""
    try:
        return "?" + folded(shown(look.body(event, facts.query)), QUERY_CHARS_MAX)
    except EdgetapeError:
        return "?(erased)"


def _asked(event: Event, facts: HttpRequest, look: Look, talk: Spoken | None) -> str:
    if talk is not None:
        return talk.asked(f"{shown(look.text(event, facts.host))}:{facts.port}")
    method, where = shown(look.text(event, facts.method)), target(event, facts, look)
    if facts.model is not None:
        model, host = shown(look.text(event, facts.model)), shown(look.text(event, facts.host))
        what = f" ({facts.operation})" if facts.operation else ""
        return f"model {model} asked{what} at {host}:{facts.port}"
    if facts.tool is not None:
        return f"tool {shown(look.text(event, facts.tool))}: {method} {where}"
    return f"{method} {where}"


def _answered(exchange: Exchange, response: HttpResponse, look: Look, talk: Spoken | None) -> str:
    outcome = exchange.outcome
    assert outcome is not None
    said = talk.answered if talk is not None else []
    if response.tools:
        names = ", ".join(shown(look.text(outcome, tool)) for tool in response.tools)
        said.append(f"it asks for {names}")
    elif response.stop is not None:
        said.append(f"it ended with {shown(look.text(outcome, response.stop))}")
    if _lacks_an_end(exchange):
        said.append("its stream has no last event, as one that was cut")
    usage = counted(response)
    if usage:
        said.append(amounts(usage))
    if exchange.messages:
        said.append(_messages(exchange.messages))
    if response.ended != "complete":
        said.append(
            f"the answer was {_CUTS[response.ended]}"
            if response.ended in ("reset", "closed", "truncated")
            else _CUTS[response.ended]
        )
    elif response.truncated:
        said.append("its body was kept in part")
    return "; ".join(said)


def _lacks_an_end(exchange: Exchange) -> bool:
    """Whether a model's stream ended whole on the wire without saying why: clients take that for a finished turn."""
    response = exchange.response
    return (
        response is not None
        and exchange.facts.boundary == "decision"
        and (response.status, response.ended) == (200, "complete")
        and response.chunks is not None
        and response.stop is None
    )


def _messages(parts: Sequence[Event]) -> str:
    directions = [part.facts.direction for part in parts if isinstance(part.facts, WsMessage)]
    sent = directions.count("to_server")
    return f"{count(sent, 'message')} to the server, {len(directions) - sent} back"


def _mark(response: HttpResponse) -> Mark:
    if response.ended not in ("complete", "truncated"):
        return "bad"
    return "bad" if response.status >= 500 else "odd" if response.status >= 400 else "good"


def _other_line(happening: Happening, look: Look) -> Line:
    event = happening.event
    at_us = event.place.mono_us
    match event.facts:
        case TunnelOpen():
            return _tunnel_line(happening, event.facts, look)
        case Value(kind=kind):
            what = {"now": "the time", "random": "random bytes", "uuid": "an id"}[kind]
            return Line(happening.step, at_us, None, "value", f"{what} handed to the agent", "good")
        case Frozen(kind=kind):
            what = {"clock": "the clock that the agent read", "seed": "the seed of the agent's chance"}[kind]
            return Line(happening.step, at_us, None, "frozen", f"{what} is kept for the replay", "good")
        case Note(kind=kind):
            said = folded(printable(note.line(kind, _body(happening, look)), one_line=True), NOTE_CHARS_MAX)
            return Line(happening.step, at_us, None, "note", f"the agent notes: {said}", "good")
        case RpcMessage() as facts:
            return _rpc_line(happening, facts, look)
        case RunSpawn(child=child):
            return Line(None, at_us, None, "run", f"a child run begins: edgetape show {child}", "good")
        case Gap(since=since, until=until, reason=reason):
            words = f"not recorded from {moment(since)} to {moment(until)}: {shown(look.text(event, reason))}"
            return Line(happening.step, at_us, None, "gap", words, "bad")
    return Line(happening.step, at_us, None, "", event.type, "odd")


def _rpc_line(happening: Happening, facts: RpcMessage, look: Look) -> Line:
    said = rpc.message(_body(happening, look))
    server = shown(look.text(happening.event, facts.server))
    words = said.words or (shown(look.text(happening.event, facts.method)) if facts.method is not None else "answer")
    whither = "to" if facts.direction == "to_server" else "from"
    text = f"{printable(words, one_line=True)} {whither} the tool server {server}"
    return Line(happening.step, happening.event.place.mono_us, None, "rpc", text, "good")


def _body(happening: Happening, look: Look) -> bytes:
    """The body of a note or a message, nothing where it is gone."""
    facts = happening.event.facts
    try:
        return look.body(happening.event, facts.body if isinstance(facts, Note | RpcMessage) else None)
    except EdgetapeError:
        return b""


def _tunnel_line(happening: Happening, facts: TunnelOpen, look: Look) -> Line:
    host = shown(look.text(happening.event, facts.host))
    words = f"tunnel to {host}:{facts.port}, unopened: {_TUNNELS[facts.reason]}"
    took_us = None
    if happening.end is not None and isinstance(happening.end.facts, TunnelClose):
        end = happening.end.facts
        took_us = end.duration_us
        words += f"; {size(end.sent_bytes)} out, {size(end.received_bytes)} in"
    return Line(happening.step, happening.event.place.mono_us, took_us, "tunnel", words, "good")


def outcome_words(error: HttpError) -> str:
    """What kept the answer away, in plain words."""
    return _FAILURES[error.kind]


def clock(at_us: int) -> str:
    """`+0.25 s`: since the run opened."""
    return f"+{at_us / 1_000_000:.2f} s" if at_us < 100_000_000 else f"+{duration(at_us)}"

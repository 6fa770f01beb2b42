"""Writes a foreign recording into the store as a run of mode `import`, redacted like any recording.

Rules kept here:
- What run.open says of the file (kind, name, digest, tool) is what the file says of itself: a claim that nobody signed.
- Events get the time of the import, for the log can prove no other; how long an answer took is kept where it is told.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import store
from store.core import websocket
from store.core.coding import as_stored
from store.core.draft import Draft, Sheet, altered
from store.core.form import Endpoint, Pairs
from store.core.model import Agent, Framing, HttpError, HttpRequest, HttpResponse, Policies, RunOpen
from store.core.redact import RULES, Content, Redacted, Redactor, stored
from store.core.text import Headers
from store.foreign.recording import Answer, Exchange, Failure, Origin, Recording
from store.labels import wire
from store.labels.classify import RULES as LABEL_RULES
from store.labels.classify import label, response_labels
from store.labels.dialect import RequestLabels
from store.labels.spelling import request_members, response_members
from store.writer import Writer

LABELS = ("import.kind", "import.sha256", "import.file", "import.tool", "import.began")
_LATER = -1  # stands where the writer puts the seq of the request
_STATUS_MAX = 999_999


@dataclass(frozen=True, slots=True)
class File:
    """A foreign file: the name that its run is to have, its own, and its bytes."""

    run: str
    name: str
    content: bytes


def take_in(
    writer: Writer, file: File, recording: Recording, redactor: Redactor, each: Callable[[], object] = lambda: None
) -> str:
    """The id of the run that now holds what `file` holds. `each` is called after every exchange.

    Raises StoreUnusable.
    """
    run, _ = writer.open_run(_opening(file, recording.origin, redactor))
    for exchange in recording.exchanges:
        request, labels = _request(exchange, redactor)
        ticket = writer.append(run, request)
        writer.append(run, _outcome(exchange, labels, redactor), after=ticket)
        for draft in _spoken(exchange, redactor):
            writer.append(run, draft, after=ticket)
        each()
    writer.close_run(run, "normal").result()
    return run


def _opening(file: File, origin: Origin, redactor: Redactor) -> Draft:
    sheet = Sheet()
    digest = hashlib.sha256(file.content).hexdigest()
    ours = [stored(origin.kind.encode()), stored(digest.encode())]
    theirs = [redactor.plain(said) for said in (file.name, origin.tool, origin.began)]
    values = [*ours, *theirs]
    return sheet.draft(
        RunOpen(
            origin="",
            mode="import",
            recorder=f"edgetape/{store.__version__}",
            clock="system",
            policies=Policies(redaction=RULES, classification=LABEL_RULES),
            agent=Agent(),
            name=sheet.text(redactor.plain(file.run)),
            labels=[[key, sheet.text(value)] for key, value in zip(LABELS, values, strict=True) if value.content],
        )
    )


def _request(exchange: Exchange, redactor: Redactor) -> tuple[Draft, RequestLabels]:
    sheet, asked = Sheet(), exchange.asked
    place = asked.endpoint
    purpose = _purpose(redactor, place, asked.headers)
    # The headers first: what proves who asks may be quoted in what is asked.
    fields = list(_fields(redactor, asked.headers, response=False))
    path, query = redactor.path(place.path), redactor.query(asked.query)
    host, body = redactor.plain(place.host), redactor.body(asked.body, _about(asked.headers, exchange.decoded, purpose))
    exact = body.exact and not exchange.decoded
    target = path.content + (b"?" + query.content if asked.query else b"")
    plain = as_stored([(name, value.content) for name, value in fields], exact=exact)
    method = place.method.encode("latin-1", "replace")
    labels = label(wire.Request(method, place.scheme.encode(), host.content, place.port, target, plain, body.content))
    kept = _body(sheet, body, asked.headers, exact=exact)
    if exchange.missing_bytes is not None:
        kept |= {"truncated": True, "wire_bytes": exchange.missing_bytes or None}
    facts = HttpRequest(
        method=sheet.text(stored(method)),
        scheme=place.scheme,
        host=sheet.text(host),
        port=place.port,
        path=sheet.text(path),
        query=sheet.apart(query) if asked.query else None,
        http_version=exchange.http_version,
        headers=_spelled(sheet, fields),
        **kept,
        **request_members(sheet, labels),
    )
    return sheet.draft(facts), labels


def _outcome(exchange: Exchange, asked: RequestLabels, redactor: Redactor) -> Draft:
    sheet, answer = Sheet(), exchange.outcome
    if isinstance(answer, Failure):
        detail = sheet.apart(redactor.plain(answer.detail), "text/plain") if answer.detail else None
        return sheet.draft(HttpError(req=_LATER, kind=answer.kind, detail=detail))
    purpose = _purpose(redactor, exchange.asked.endpoint, exchange.asked.headers)
    fields = list(_fields(redactor, answer.headers, response=True))
    body = redactor.body(answer.body, _about(answer.headers, answer.decoded, purpose))
    exact = body.exact and not answer.decoded
    plain = as_stored([(name, value.content) for name, value in fields], exact=exact)
    members = _body(sheet, body, answer.headers, exact=exact)
    if answer.missing_bytes is not None:
        members |= {"truncated": True, "wire_bytes": max(answer.missing_bytes, len(answer.body))}
    facts = HttpResponse(
        req=_LATER,
        status=min(answer.status, _STATUS_MAX),
        reason=sheet.text(stored(answer.reason)) if answer.reason else None,
        http_version=answer.http_version,
        headers=_spelled(sheet, fields),
        framing=_framing(exchange.asked.endpoint.method, answer),
        ended="complete" if answer.missing_bytes is None else "truncated",
        trailers=_spelled(sheet, _fields(redactor, answer.trailers, response=True)) if answer.trailers else None,
        first_byte_us=answer.first_byte_us,
        total_us=answer.total_us,
        **members,
        **response_members(sheet, response_labels(asked, answer.status, plain, body.content)),
    )
    return sheet.draft(facts)


def _spoken(exchange: Exchange, redactor: Redactor) -> Iterator[Draft]:
    """What went over a WebSocket."""
    for said in exchange.messages:
        body = redactor.body(said.content, Content(websocket.media_type(is_text=said.is_text).encode()))
        direction: websocket.Direction = "to_server" if said.from_client else "to_client"
        yield websocket.message(body, direction, altered(body), is_text=said.is_text)
    if exchange.goodbye is not None:
        end = exchange.goodbye
        yield websocket.goodbye(end.code, end.by, redactor.plain(end.reason))


def _body(sheet: Sheet, body: Redacted, headers: Pairs, *, exact: bool) -> dict[str, Any]:
    """The members that tell of a body."""
    if not body.content:
        return {}
    about = Content.of(headers)
    apart = sheet.apart(body, about.media_type, about.coding if exact else "")
    changed = {"exact": False, "wire_bytes": body.wire_bytes} if body.exact and not exact else altered(body)
    return {"body": apart, **changed}


def _about(headers: Pairs, decoded: bool, purpose: str) -> Content:
    return Content.of(as_stored(headers, exact=not decoded), purpose)


def _purpose(redactor: Redactor, place: Endpoint, headers: Pairs) -> str:
    return redactor.endpoint(place.method, place.host, place.path, headers)


def _fields(redactor: Redactor, headers: Pairs, *, response: bool) -> Iterator[tuple[bytes, Redacted]]:
    for name, value in headers:
        yield name, redactor.header(name, value, response=response)


def _spelled(sheet: Sheet, fields: Iterable[tuple[bytes, Redacted]]) -> Headers:
    return sheet.pairs([(stored(name), value) for name, value in fields])


def _framing(method: str, answer: Answer) -> Framing:
    """How the end of the body is to be told: as the headers say, of a decoded body anew."""
    if method == "HEAD" or answer.status in (204, 304) or answer.status < 200:
        return "none"
    names = {name.lower(): value.lower() for name, value in answer.headers}
    streamed = names.get(b"content-type", b"").startswith(b"text/event-stream")
    return "chunked" if streamed or b"chunked" in names.get(b"transfer-encoding", b"") else "length"

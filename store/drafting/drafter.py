"""What was seen of one run, redacted and written down as drafts of events.

The one place where the wire's bytes become something that the store takes. Work on long bodies comes in steps, so that
whoever has other work may do some of it between them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import msgspec

from store.core import rpc, websocket
from store.core.coding import as_stored
from store.core.draft import Draft, Sheet, altered
from store.core.model import HttpError, HttpRequest, HttpRequestEnd, HttpResponse, Note, TunnelOpen
from store.core.redact import Content, Long, Redacted, Redactor, stored
from store.core.redaction.long import Keep
from store.core.text import Headers, text
from store.drafting import seen
from store.drafting.asked import Asked
from store.drafting.body import Steps, body_members, redacted_body
from store.labels import wire
from store.labels.dialect import RequestLabels, ResponseLabels
from store.labels.own import NO_RULES, OwnRules
from store.labels.spelling import request_members, response_members
from store.recovery import AnswerHead

LATER = -1  # stands where the writer puts the seq of the request

_JSON = "application/json"
_NOTE = Content(_JSON.encode())

type _Fields = list[tuple[bytes, Redacted]]


class Drafter:
    """Drafts the events of one run: `redactor` learns its secrets, `own` are the operator's rules, `keep` makes room
    for a long body that redaction changes. `unlabelled` counts what could not be understood.
    """

    def __init__(self, redactor: Redactor, own: OwnRules = NO_RULES, *, keep: Callable[[], Keep]) -> None:
        self.unlabelled = 0
        self._redactor = redactor
        self._own = own
        self._keep = keep

    def draft(self, sight: seen.Sight, asked: Asked) -> Steps[Draft]:
        """The draft of the event that it makes; `asked` is what is known of the request that it is or belongs to."""
        redactor = self._redactor
        match sight:
            case seen.Request():
                return (yield from self._request(sight, asked))
            case seen.Answer():
                return (yield from self._answer(sight, asked))
            case seen.Upload():
                return (yield from self._upload(sight, asked))
            case seen.Failure():
                return _failure(redactor, sight)
            case seen.Message():
                return (yield from _message(redactor, sight))
            case seen.Goodbye():
                return websocket.goodbye(sight.code, sight.by, redactor.plain(sight.reason))
            case seen.Claim():
                sheet = Sheet()
                body = yield from redactor.body_steps(sight.content, _NOTE)
                return sheet.draft(Note(kind=sight.kind, body=sheet.apart(body, _JSON)))
            case seen.Passed():
                body = yield from redactor.body_steps(sight.message, _NOTE)
                return rpc.draft(redactor, sight.server, sight.direction, rpc.message(sight.message), body)
            case seen.Tunnel():
                sheet = Sheet()
                host = sheet.text(redactor.plain(sight.host))
                return sheet.draft(TunnelOpen(host=host, port=sight.port, reason=sight.reason))

    def head(self, head: seen.Head, asked: Asked) -> Redacted:
        """The head of an answer that is still coming, as the writer keeps it against a crash."""
        asked.answer = self._redactor.stream(Content.of(head.fields, asked.endpoint))
        fields = self._fields(head.fields, response=True)
        return stored(
            msgspec.json.encode(
                AnswerHead(
                    status=head.status,
                    http_version=text(head.version),
                    framing=head.framing,
                    headers=[[text(name), text(value.content)] for name, value in fields],
                    reason=text(head.reason) if head.reason else None,
                    exact=not asked.answer.is_decoded,
                )
            )
        )

    def piece(self, content: bytes, asked: Asked, *, upload: bool) -> Redacted:
        """What may be kept, now that this has come of an answer, after its head, or of an upload."""
        if upload:
            if asked.upload is None:
                asked.upload = self._redactor.stream(Content.of(asked.fields, asked.endpoint), readable=False)
            return asked.upload.feed(content)
        return stored(b"") if asked.answer is None else asked.answer.feed(content)

    def _request(self, sight: seen.Request, asked: Asked) -> Steps[Draft]:
        redactor, sheet = self._redactor, Sheet()
        path, mark, query = sight.path.partition(b"?")
        host = sight.host.decode("utf-8", "surrogateescape")
        asked.fields = sight.fields
        asked.endpoint = redactor.endpoint(sight.method.decode("latin-1"), host, path, sight.fields)
        # The headers first: what proves who asks may be quoted in what is asked.
        fields = self._fields(sight.fields, response=False)
        shown = _Request(redactor.plain(host), redactor.path(path), redactor.query(query) if mark else None, fields)
        about = Content.of(sight.fields, asked.endpoint)
        body = yield from redacted_body(redactor, sight.body, about, self._keep)
        asked.labels = None if isinstance(body, Long) else self._asked(shown.wire(sight, body))
        return sheet.draft(
            HttpRequest(
                method=sheet.text(stored(sight.method)),
                scheme=sight.scheme,
                host=sheet.text(shown.host),
                port=sight.port,
                path=sheet.text(shown.path),
                query=sheet.apart(shown.query) if shown.query is not None else None,
                http_version=sheet.text(stored(sight.version)),
                headers=_spelled(sheet, fields),
                streaming=sight.streaming,
                **body_members(sheet, body, about, sight.body),
                **request_members(sheet, asked.labels),
            )
        )

    def _upload(self, sight: seen.Upload, asked: Asked) -> Steps[Draft]:
        sheet, about = Sheet(), Content.of(asked.fields, asked.endpoint)
        body = yield from redacted_body(self._redactor, sight.body, about, self._keep)
        return sheet.draft(
            HttpRequestEnd(
                req=LATER,
                ended=sight.ended,
                trailers=self._trailers(sheet, sight.trailers),
                **body_members(sheet, body, about, sight.body),
            )
        )

    def _answer(self, sight: seen.Answer, asked: Asked) -> Steps[Draft]:
        sheet, head = Sheet(), sight.head
        about = Content.of(head.fields, asked.endpoint)
        fields = self._fields(head.fields, response=True)
        body = yield from redacted_body(self._redactor, sight.body, about, self._keep)
        plain = list(as_stored([(name, value.content) for name, value in fields], exact=body.exact))
        labels = None if isinstance(body, Long) else self._answered(asked.labels, head.status, plain, body.content)
        return sheet.draft(
            HttpResponse(
                req=LATER,
                status=head.status,
                reason=sheet.text(stored(head.reason)) if head.reason else None,
                http_version=sheet.text(stored(head.version)),
                headers=_spelled(sheet, fields),
                framing=head.framing,
                ended=sight.ended,
                trailers=self._trailers(sheet, sight.trailers),
                interim=self._interim(sheet, sight.interim),
                upstream=sight.upstream,
                tls=sight.tls,
                first_byte_us=sight.first_byte_us,
                total_us=sight.total_us,
                **body_members(sheet, body, about, sight.body),
                **response_members(sheet, labels),
            )
        )

    def _asked(self, request: wire.Request) -> RequestLabels | None:
        """What a request asks for; None when that could not be found out."""
        try:
            return self._own.label(request)
        except Exception:  # noqa: BLE001  # whatever the wire brought: it is recorded all the same, without labels
            self.unlabelled += 1
            return None

    def _answered(
        self, request: RequestLabels | None, status: int, fields: list[tuple[bytes, bytes]], body: bytes
    ) -> ResponseLabels | None:
        """What a response tells; None when that could not be found out."""
        if request is None:
            return None
        try:
            return self._own.response_labels(request, status, fields, body)
        except Exception:  # noqa: BLE001  # as above
            self.unlabelled += 1
            return None

    def _fields(self, fields: seen.Pairs, *, response: bool) -> _Fields:
        return [(name, self._redactor.header(name, value, response=response)) for name, value in fields]

    def _trailers(self, sheet: Sheet, trailers: seen.Pairs) -> Headers | None:
        return _spelled(sheet, self._fields(trailers, response=True)) if trailers else None

    def _interim(self, sheet: Sheet, heads: Iterable[bytes]) -> Headers | None:
        """The interim answers, the status of each before its fields (RFC 9113 spells a status so)."""
        fields: list[tuple[bytes, bytes]] = []
        for head in heads:
            line, *rest = head.splitlines()
            named = (field.partition(b":") for field in rest if field)
            fields += [(b":status", line.split()[1]), *((name, value.strip()) for name, _, value in named)]
        return _spelled(sheet, self._fields(tuple(fields), response=True)) if fields else None


@dataclass(frozen=True, slots=True)
class _Request:
    """What of a request, but its body, may be stored."""

    host: Redacted
    path: Redacted
    query: Redacted | None
    fields: _Fields

    def wire(self, sight: seen.Request, body: Redacted) -> wire.Request:
        """The same as `store.labels` reads it."""
        path = self.path.content + (b"?" + self.query.content if self.query is not None else b"")
        headers = as_stored([(name, value.content) for name, value in self.fields], exact=body.exact)
        return wire.Request(
            sight.method, sight.scheme.encode(), self.host.content, sight.port, path, headers, body.content
        )


def _failure(redactor: Redactor, sight: seen.Failure) -> Draft:
    sheet = Sheet()
    detail = sheet.apart(redactor.plain(sight.detail), "text/plain") if sight.detail else None
    return sheet.draft(HttpError(req=LATER, kind=sight.kind, detail=detail, total_us=sight.total_us))


def _message(redactor: Redactor, sight: seen.Message) -> Steps[Draft]:
    about = Content(websocket.media_type(is_text=sight.is_text).encode())
    body = yield from redactor.body_steps(sight.content, about)
    direction: websocket.Direction = "to_server" if sight.from_agent else "to_client"
    return websocket.message(body, direction, altered(body), is_text=sight.is_text)


def _spelled(sheet: Sheet, fields: Iterable[tuple[bytes, Redacted]]) -> Headers:
    return sheet.pairs([(stored(name), value) for name, value in fields])

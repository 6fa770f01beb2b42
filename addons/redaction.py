"""What crossed the wire, redacted and written down as drafts of events.

The one place where the wire's bytes become something that the store takes.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec
from mitmproxy.connection import Server
from mitmproxy.http import Headers, HTTPFlow, Response

from addons.body import body_members, redacted_body
from addons.flows import Counts, Live, Pairs
from addons.interim import interim
from addons.labelling import ask_request, ask_response
from addons.pacing import paced
from store.core import websocket
from store.core.coding import as_stored
from store.core.draft import Draft, Sheet, altered
from store.core.model import (
    Ended,
    ErrorKind,
    Framing,
    HttpError,
    HttpRequest,
    HttpRequestEnd,
    HttpResponse,
)
from store.core.redact import Content, Long, Redacted, Redactor, stored
from store.core.redaction.stream import Stream
from store.core.text import Headers as Spelled
from store.core.text import text
from store.labels import wire
from store.labels.spelling import request_members, response_members
from store.recovery import AnswerHead

LATER = -1  # stands where the writer puts the seq of the request
STATUS_MAX = 999_999  # three digits are allowed (RFC 9110, section 15); a server may send anything


@dataclass(frozen=True, slots=True)
class _Request:
    """What of a request may be stored."""

    host: Redacted
    path: Redacted
    query: Redacted | None
    body: Redacted

    def wire(self, live: Live, fields: Iterable[tuple[bytes, Redacted]]) -> wire.Request:
        """The same as `store.labels` reads it."""
        path = self.path.content + (b"?" + self.query.content if self.query is not None else b"")
        headers = as_stored([(name, value.content) for name, value in fields], exact=self.body.exact)
        method = live.flow.request.data.method
        return wire.Request(
            method, live.scheme.encode(), self.host.content, live.port, path, headers, self.body.content
        )


async def request_draft(live: Live, counts: Counts, body: bytes, *, streaming: bool = False) -> Draft:
    """`http.request`: the request as the agent sent it, without the headers that were for us."""
    redactor, sheet, sent = live.run.redactor, Sheet(), live.flow.request.data
    path, mark, query = sent.path.partition(b"?")
    live.endpoint = redactor.endpoint(sent.method.decode("latin-1"), live.host, path, live.fields)
    # The headers first: what proves who asks may be quoted in what is asked.
    fields = list(_redacted(redactor, live.fields, response=False))
    shown = _Request(
        redactor.plain(live.host),
        redactor.path(path),
        redactor.query(query) if mark else None,
        await paced(redactor.body_steps(body, Content.of(live.fields, live.endpoint))),
    )
    live.labels = await ask_request(counts, live.run.own, shown.wire(live, fields))
    return sheet.draft(
        HttpRequest(
            method=sheet.text(stored(sent.method)),
            scheme=live.scheme,
            host=sheet.text(shown.host),
            port=live.port,
            path=sheet.text(shown.path),
            query=sheet.apart(shown.query) if shown.query is not None else None,
            http_version=sheet.text(stored(sent.http_version)),
            headers=_spelled(sheet, fields),
            streaming=streaming,
            **await body_members(sheet, shown.body, live.fields),
            **request_members(sheet, live.labels),
        )
    )


async def upload_draft(live: Live, ended: Ended) -> Draft:
    """`http.request.end`: the whole of an upload that was not held."""
    redactor, sheet, upload = live.run.redactor, Sheet(), live.upload
    content = b"" if upload is not None else live.flow.request.raw_content or b""
    body = await redacted_body(redactor, content, Content.of(live.fields, live.endpoint), upload)
    return sheet.draft(
        HttpRequestEnd(
            req=LATER,
            ended=ended,
            trailers=_trailers(sheet, redactor, live.flow.request.trailers),
            **await body_members(sheet, body, live.fields, upload),
        )
    )


async def response_draft(live: Live, counts: Counts, response: Response, ended: Ended) -> Draft:
    """`http.response`: the answer, as far as it came."""
    redactor, sheet = live.run.redactor, Sheet()
    streamed = live.answer if live.answer is not None and live.answer.seen_bytes else None
    content = b"" if streamed is not None else response.raw_content or b""
    about = Content.of(response.headers.fields, live.endpoint)
    fields = list(_redacted(redactor, response.headers.fields, response=True))
    body = await redacted_body(redactor, content, about, streamed)
    plain = list(as_stored([(name, value.content) for name, value in fields], exact=body.exact))
    asked = counts, live.run.own, live.labels, response.status_code, plain
    labels = None if isinstance(body, Long) else await ask_response(*asked, body.content)
    return sheet.draft(
        HttpResponse(
            req=LATER,
            status=min(response.status_code, STATUS_MAX),
            reason=sheet.text(stored(response.data.reason)) if response.data.reason else None,
            http_version=sheet.text(stored(response.data.http_version)),
            headers=_spelled(sheet, fields),
            framing=framing(live.flow, response),
            ended=ended,
            trailers=_trailers(sheet, redactor, response.trailers),
            interim=_interim(sheet, redactor, interim(live.flow.request)),
            upstream=_endpoint(live.flow.server_conn),
            tls=_tls(live.flow.server_conn),
            first_byte_us=max(0, live.first_byte_ns - live.handed_ns) // 1000,
            total_us=(time.monotonic_ns() - live.handed_ns) // 1000,
            **await body_members(sheet, body, response.headers.fields, streamed),
            **response_members(sheet, labels),
        )
    )


def error_draft(live: Live, kind: ErrorKind, detail: str) -> Draft:
    """`http.error`: no status line arrived."""
    sheet = Sheet()
    since = live.handed_ns or live.began_ns
    return sheet.draft(
        HttpError(
            req=LATER,
            kind=kind,
            detail=sheet.apart(live.run.redactor.plain(detail), "text/plain") if detail else None,
            total_us=(time.monotonic_ns() - since) // 1000,
        )
    )


async def message_draft(live: Live, content: bytes, *, from_agent: bool, is_text: bool) -> Draft:
    """`ws.message`."""
    about = Content(websocket.media_type(is_text=is_text).encode())
    body = await paced(live.run.redactor.body_steps(content, about))
    return websocket.message(body, "to_server" if from_agent else "to_client", altered(body), is_text=is_text)


def goodbye_draft(live: Live, code: int, reason: str, by_client: bool | None) -> Draft:
    """`ws.close`."""
    by: websocket.By = "unknown" if by_client is None else "client" if by_client else "server"
    return websocket.goodbye(code, by, live.run.redactor.plain(reason))


def answer_head(live: Live, response: Response, *, decoded: bool) -> Redacted:
    """The head of an answer that is still coming, as the writer keeps it against a crash; `decoded` says that content
    codings are undone in what comes after it.
    """
    redactor = live.run.redactor
    fields = _redacted(redactor, response.headers.fields, response=True)
    return stored(
        msgspec.json.encode(
            AnswerHead(
                status=min(response.status_code, STATUS_MAX),
                http_version=text(response.data.http_version),
                framing=framing(live.flow, response),
                headers=[[text(name), text(value.content)] for name, value in fields],
                reason=text(response.data.reason) if response.data.reason else None,
                exact=not decoded,
            )
        )
    )


def pieces(live: Live, response: Response | None) -> Stream:
    """What makes the pieces of a streamed answer, or without one of an upload, fit to be kept against a crash."""
    fields = live.fields if response is None else response.headers.fields
    return live.run.redactor.stream(Content.of(fields, live.endpoint), readable=response is not None)


def framing(flow: HTTPFlow, response: Response) -> Framing:
    """How the end of an answer's body is told (RFC 9112, section 6.3; RFC 9113 has frames)."""
    if response.is_http2:
        return "frames"
    if flow.request.method.upper() == "HEAD" or response.status_code in (204, 304) or response.status_code < 200:
        return "none"
    if "chunked" in response.headers.get("transfer-encoding", "").lower():
        return "chunked"
    return "length" if "content-length" in response.headers else "close"


def _redacted(redactor: Redactor, fields: Pairs, *, response: bool) -> Iterator[tuple[bytes, Redacted]]:
    for name, value in fields:
        yield name, redactor.header(name, value, response=response)


def _spelled(sheet: Sheet, fields: Iterable[tuple[bytes, Redacted]]) -> Spelled:
    return sheet.pairs([(stored(name), value) for name, value in fields])


def _trailers(sheet: Sheet, redactor: Redactor, trailers: Headers | None) -> Spelled | None:
    return _spelled(sheet, _redacted(redactor, trailers.fields, response=True)) if trailers else None


def _interim(sheet: Sheet, redactor: Redactor, heads: Iterable[bytes]) -> Spelled | None:
    """The interim answers, the status of each before its fields (RFC 9113 spells a status so)."""
    fields: list[tuple[bytes, bytes]] = []
    for head in heads:
        line, *rest = head.splitlines()
        named = (field.partition(b":") for field in rest if field)
        fields += [(b":status", line.split()[1]), *((name, value.strip()) for name, _, value in named)]
    return _spelled(sheet, _redacted(redactor, tuple(fields), response=True)) if fields else None


def _endpoint(server: Server) -> str | None:
    if server.peername is None:
        return None
    host, port, *_ = server.peername
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _tls(server: Server) -> str | None:
    """Version, cipher, application protocol and certificate of the server, as far as TLS was spoken with it."""
    if not server.tls_established:
        return None
    said = [str(server.tls_version), str(server.cipher)]
    if server.alpn:
        said.append(f"alpn={server.alpn.decode('latin-1')}")
    if server.certificate_list:
        said.append(f"certificate=sha256:{server.certificate_list[0].fingerprint().hex()}")
    return " ".join(said)

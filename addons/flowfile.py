"""Reads flow files, as mitmproxy, mitmweb and mitmdump save them, into foreign recordings."""

import io
from collections.abc import Iterator
from datetime import UTC, datetime

from mitmproxy import version
from mitmproxy.exceptions import FlowReadException
from mitmproxy.flow import Flow
from mitmproxy.http import HTTPFlow, Response
from mitmproxy.io import FlowReader
from mitmproxy.websocket import WebSocketData

from addons.failures import error_kind
from store.core.event import timestamp
from store.core.form import Asked, Endpoint
from store.core.websocket import BROKEN_OFF, By
from store.foreign.recording import (
    Answer,
    Exchange,
    Failure,
    Goodbye,
    Message,
    NotForeign,
    Origin,
    Recording,
    is_decoded,
    told_length,
    without_framing,
)


def recording(raw: bytes) -> Recording:
    """The exchanges of a flow file, in the order in which they began. Raises NotForeign."""
    flows = sorted(_flows(raw), key=lambda flow: flow.timestamp_created)
    began = timestamp(datetime.fromtimestamp(flows[0].timestamp_created, UTC)) if flows else ""
    found = Recording(Origin("mitmproxy", f"mitmproxy (read by {version.VERSION})", began))
    for flow in flows:
        if isinstance(flow, HTTPFlow):
            _take(flow, found)
        else:
            found.losses["not_http"] += 1
    return found


def _flows(raw: bytes) -> Iterator[Flow]:
    try:
        yield from FlowReader(io.BytesIO(raw)).stream()
    except (FlowReadException, ValueError, TypeError, KeyError) as error:
        raise NotForeign(f"the flow file cannot be read: {error}") from error


def _take(flow: HTTPFlow, found: Recording) -> None:
    request = flow.request
    headers = without_framing(request.headers.fields)
    body = request.raw_content
    path, _, query = request.data.path.partition(b"?")
    place = Endpoint(request.method, request.scheme, request.host, request.port, path)
    outcome = _outcome(flow, found)
    if place.scheme not in ("http", "https") or outcome is None:
        found.losses["not_http" if outcome else "no_outcome"] += 1
        return
    decoded = is_decoded(headers, body or b"")
    found.losses["decoded"] += decoded
    missing = None if body is not None else told_length(headers) or 0
    found.losses["no_request_body"] += missing is not None
    socket = flow.websocket
    spoken = tuple(Message(each.content, each.from_client, each.is_text) for each in socket.messages) if socket else ()
    asked = Asked(place, query, headers, body or b"")
    found.exchanges.append(
        Exchange(asked, outcome, request.http_version, decoded, spoken, _goodbye(socket) if socket else None, missing)
    )


def _goodbye(socket: WebSocketData) -> Goodbye:
    by: By = "unknown" if socket.closed_by_client is None else "client" if socket.closed_by_client else "server"
    return Goodbye(socket.close_code or BROKEN_OFF, by, socket.close_reason or "")


def _outcome(flow: HTTPFlow, found: Recording) -> Answer | Failure | None:
    response = flow.response
    if response is None:
        said = flow.error.msg if flow.error else ""
        kind = error_kind(said, "server", tls_failed=False, silent=False, closed=False)
        return Failure(kind, said) if flow.error else None
    headers = without_framing(response.headers.fields)
    body = response.raw_content
    decoded = is_decoded(headers, body or b"")
    found.losses["decoded"] += decoded
    missing = _missing(flow, response)
    if missing is not None:
        found.losses["cut_answer" if body else "no_answer_body"] += 1
    sent = flow.request.timestamp_end or flow.request.timestamp_start
    return Answer(
        response.status_code,
        headers,
        body or b"",
        response.data.reason,
        response.http_version,
        tuple(response.trailers.fields) if response.trailers else (),
        decoded=decoded,
        missing_bytes=missing,
        total_us=_micros(sent, response.timestamp_end),
        first_byte_us=_micros(sent, response.timestamp_start),
    )


def _missing(flow: HTTPFlow, response: Response) -> int | None:
    """How long the body was of which something is missing, None where nothing is."""
    body, promised = response.raw_content, response.headers.get("content-length", "")
    length = int(promised) if promised.isdecimal() else 0
    if body is None or (flow.error is not None and flow.request.method != "HEAD"):
        return max(length, len(body or b""))
    return None


def _micros(since: float, until: float | None) -> int | None:
    return None if until is None else max(0, round((until - since) * 1_000_000))

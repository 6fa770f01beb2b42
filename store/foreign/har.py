"""Reads HAR files (HTTP Archive 1.2), as browsers and mitmproxy write them. Pure.

Rules kept here:
- A HAR holds contents, not what crossed the wire: bodies are decoded, and say so where a header names a coding.
- A text shorter than the size that stands beside it was cut by the tool that wrote it.
- Several fields in one, divided by a line end (Chrome's set-cookie), are several.
"""

import base64
import binascii
from urllib.parse import urlencode

from store.core.form import Pairs
from store.core.model import ErrorKind
from store.foreign.document import Tree, items, members, number, said
from store.foreign.recording import (
    Answer,
    Exchange,
    Failure,
    Goodbye,
    Message,
    NotForeign,
    Origin,
    Recording,
    asked,
    field_bytes,
    is_decoded,
    told_length,
    without_framing,
)

_BOM_BYTES = 3
_SIZED_ENCODED = "mitmproxy"  # writes the size that crossed the wire, and what the coding saved
_ERRORS: tuple[tuple[str, ErrorKind], ...] = (
    ("NAME_NOT_RESOLVED", "dns"),
    ("TIMED_OUT", "timeout"),
    ("CONNECTION_REFUSED", "connect"),
    ("CONNECTION_RESET", "reset"),
    ("SSL", "tls"),
    ("CERT", "tls"),
    ("ABORTED", "client_gone"),
)


def recording(tree: Tree) -> Recording:
    """The exchanges of a HAR file, in the order in which they began. Raises NotForeign."""
    log = members(tree, "log")
    if not isinstance(log.get("entries"), list):
        raise NotForeign("this HAR file has no entries")
    creator = members(log, "creator")
    tool = f"{said(creator, 'name')} {said(creator, 'version')}".strip()
    entries = sorted(items(log, "entries"), key=lambda entry: said(entry, "startedDateTime"))
    found = Recording(Origin("har", tool or "unknown", said(entries[0], "startedDateTime") if entries else ""))
    for entry in entries:
        _take(entry, said(creator, "name"), found)
    return found


def _take(entry: Tree, tool: str, found: Recording) -> None:
    request = members(entry, "request")
    is_socket = said(entry, "_resourceType") == "websocket" or said(request, "url").startswith(("ws:", "wss:"))
    if is_socket and "_webSocketMessages" not in members(entry):
        found.losses["messages"] += 1
        return
    headers = _headers(request)
    body = _posted(request)
    about = asked(said(request, "method"), said(request, "url"), headers, body)
    if about is None:
        found.losses["not_http"] += 1
        return
    length = max(number(request, "bodySize", 0), told_length(headers) or 0)
    missing_bytes = length if length > 0 and not body else None
    outcome = _answer(entry, tool, found)
    if outcome is None:
        found.losses["no_outcome"] += 1
        return
    decoded = is_decoded(headers, body)
    found.losses["decoded"] += decoded
    found.losses["no_request_body"] += missing_bytes is not None
    found.losses["no_times"] += not said(entry, "startedDateTime")
    found.losses["no_goodbye"] += is_socket
    spoken = tuple(_message(one) for one in items(entry, "_webSocketMessages"))
    goodbye = Goodbye() if is_socket else None
    found.exchanges.append(Exchange(about, outcome, _version(request), decoded, spoken, goodbye, missing_bytes))


def _message(one: Tree) -> Message:
    is_text = number(one, "opcode", 1) == 1
    text = said(one, "data")
    content = text.encode("utf-8", "surrogatepass") if is_text else _unarmoured(text) or b""
    return Message(content, said(one, "type") == "send", is_text)


def _answer(entry: Tree, tool: str, found: Recording) -> Answer | Failure | None:
    response = members(entry, "response")
    status, error = number(response, "status", 0), said(response, "_error") or said(response, "_failureText")
    if status <= 0:
        return (
            Failure(next((kind for mark, kind in _ERRORS if mark in error.upper()), "closed"), error) if error else None
        )
    headers = _headers(response)
    body, whole_bytes = _content(members(response, "content"), tool)
    missing = whole_bytes if _is_cut(body, whole_bytes, said(members(entry, "request"), "method"), status) else None
    decoded = is_decoded(headers, body)
    found.losses["decoded"] += decoded
    if missing is not None:
        found.losses["cut_answer" if body else "no_answer_body"] += 1
    timings = members(entry, "timings")
    wait_us = max(0, number(timings, "wait", 0)) * 1000
    return Answer(
        status,
        headers,
        body,
        field_bytes(said(response, "statusText")),
        _version(response),
        decoded=decoded,
        missing_bytes=missing,
        first_byte_us=wait_us,
        total_us=wait_us + max(0, number(timings, "receive", 0)) * 1000,
    )


def _content(content: Tree, tool: str) -> tuple[bytes, int]:
    """The body of an answer, and how long it was before it was written down."""
    size = max(0, number(content, "size", 0))
    if tool == _SIZED_ENCODED:
        size = max(0, size + number(content, "compression", 0))
    text = said(content, "text")
    if said(content, "encoding") == "base64":
        body = _unarmoured(text)
        return (b"", max(size, len(text))) if body is None else (body, size)
    return _encoded(text, said(content, "mimeType")), size


def _encoded(text: str, media_type: str) -> bytes:
    """A text as the bytes that it was read from."""
    charset = media_type.lower().partition("charset=")[2].partition(";")[0].strip(" \"'")
    try:
        return text.encode(charset or "utf-8")
    except (LookupError, UnicodeError):
        return text.encode("utf-8", "surrogatepass")


def _is_cut(body: bytes, whole_bytes: int, method: str, status: int) -> bool:
    if method == "HEAD" or status in (204, 304) or status // 100 == 3:
        return False  # whatever size stands there, no body crossed the wire that anybody needs
    return len(body) + (_BOM_BYTES if body else 0) < whole_bytes


def _posted(request: Tree) -> bytes:
    """The body of a request. Of a form there may be only its fields, which are spelled again."""
    posted = members(request, "postData")
    text = said(posted, "text")
    if said(posted, "encoding") == "base64":
        return _unarmoured(text) or b""
    media_type = said(posted, "mimeType")
    if not text and "urlencoded" in media_type:
        return urlencode([(said(one, "name"), said(one, "value")) for one in items(posted, "params")]).encode()
    return _encoded(text, media_type)


def _unarmoured(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _headers(message: Tree) -> Pairs:
    pairs = [
        (field_bytes(said(header, "name")), field_bytes(value))
        for header in items(message, "headers")
        for value in said(header, "value").split("\n")
    ]
    return without_framing([(name, value.strip()) for name, value in pairs if name])


def _version(message: Tree) -> str:
    spelled = said(message, "httpVersion").upper()
    return {"H2": "HTTP/2", "H3": "HTTP/3", "HTTP/2.0": "HTTP/2"}.get(spelled, spelled) or "HTTP/1.1"

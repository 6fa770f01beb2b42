"""Reads cassettes: of vcrpy and pytest-recording, and of Ruby's VCR. Pure.

Rules kept here:
- A body is bytes or a text, which is UTF-8; where a cassette keeps it parsed instead (`parsed_body`), it is spelled
  again as JSON, with the bytes that the recorded length asks for if a usual spelling has them.
- A cassette says of most answers that they are encoded, and keeps them decoded.
- It has neither times nor the version of HTTP; its order is the order of the recording.
"""

import base64
import binascii
import json
from collections.abc import Iterator

from store.core.form import Pairs
from store.foreign.document import Tree, items, members, number, said
from store.foreign.recording import (
    Answer,
    Exchange,
    NotForeign,
    Origin,
    Recording,
    asked,
    field_bytes,
    is_decoded,
    told_length,
    without_framing,
)

_NODES_MAX = 2_000_000  # of a text each 32 characters count as one, too
_SPELLINGS: tuple[tuple[str, str], ...] = ((", ", ": "), (",", ":"))


def recording(tree: Tree) -> Recording:
    """The exchanges of a cassette, in its order. Raises NotForeign."""
    ruby = "http_interactions" in members(tree)
    name = "http_interactions" if ruby else "interactions"
    if not isinstance(members(tree).get(name), list):
        raise NotForeign("this cassette has no interactions")
    interactions = items(tree, name)
    tool = said(tree, "recorded_with") or "VCR" if ruby else "vcrpy"
    began = said(interactions[0], "recorded_at") if interactions else ""
    found = Recording(Origin("vcr", tool, began))
    for interaction in interactions:
        _take(interaction, found)
    return found


def _take(interaction: Tree, found: Recording) -> None:
    request, response = members(interaction, "request"), members(interaction, "response")
    headers = _headers(request)
    body = _body(request, headers)
    about = asked(said(request, "method"), said(request, "uri") or said(request, "url"), headers, body or b"")
    if about is None:
        found.losses["not_http"] += 1
        return
    status = members(response, "status")
    code = number(status, "code", number(response, "status_code"))
    if code < 0:
        found.losses["no_outcome"] += 1
        return
    length = told_length(headers) or 0
    missing = length if body is None or (not body and length) else None
    found.losses["no_request_body"] += missing is not None
    found.losses["no_times"] += 1
    answer_headers = _headers(response)
    content = _body(response, answer_headers)
    decoded, answer_decoded = is_decoded(headers, body or b""), is_decoded(answer_headers, content or b"")
    found.losses["decoded"] += decoded + answer_decoded
    found.losses["no_answer_body"] += content is None
    answer = Answer(
        code,
        answer_headers,
        content or b"",
        field_bytes(said(status, "message") or said(response, "reason")),
        decoded=answer_decoded,
        missing_bytes=0 if content is None else None,
    )
    found.exchanges.append(Exchange(about, answer, decoded=decoded, missing_bytes=missing))


def _headers(message: Tree) -> Pairs:
    """Each value of a list is a field of its own."""
    pairs: list[tuple[bytes, bytes]] = []
    for name, value in members(message, "headers").items():
        values = value if isinstance(value, list) else [value]
        pairs += [(field_bytes(str(name)), field_bytes(said(each))) for each in values]
    return without_framing(pairs)


def _body(message: Tree, headers: Pairs) -> bytes | None:
    """The body as bytes, None where it cannot be told."""
    if "parsed_body" in members(message):
        return _spelled(members(message)["parsed_body"], told_length(headers) or -1)
    body = members(message).get("body", members(message).get("content"))
    if not isinstance(body, dict):
        return _bytes(body)
    for name in ("base64_string", "base64"):
        if isinstance(body.get(name), str):
            return _unarmoured(said(body, name))
    if "string" in body:
        return _bytes(body["string"])
    return _spelled(body, told_length(headers) or -1) if body and "encoding" not in body else b""


def _bytes(body: Tree) -> bytes | None:
    match body:
        case None:
            return b""
        case bytes():
            return body
        case str():
            return body.encode("utf-8", "surrogatepass")
        case dict() | list():
            return _spelled(body, -1)
    return said(body).encode()


def _unarmoured(text: str) -> bytes | None:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None


def _spelled(value: Tree, length: int) -> bytes | None:
    """A value as JSON: in the spelling that has the recorded length, else in the most usual one."""
    if not _is_bounded(value):
        return None
    try:
        spelled = list(_spellings(value))
    except (TypeError, ValueError, RecursionError):
        return None  # bytes inside a tree
    return next((each for each in spelled if len(each) == length), spelled[0])


def _is_bounded(value: Tree) -> bool:
    """Whether a tree is of a size that a body has: aliases of YAML can make a short file mean a tree without end."""
    left, waiting = _NODES_MAX, [value]
    while waiting:
        node = waiting.pop()
        left -= 1 + (len(node) // 32 if isinstance(node, str) else 0)
        if left < 0:
            return False
        waiting += node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return True


def _spellings(value: Tree) -> Iterator[bytes]:
    if isinstance(value, str):
        yield value.encode("utf-8", "surrogatepass")
    for separators in _SPELLINGS:
        for ascii_only in (False, True):
            text = json.dumps(value, separators=separators, ensure_ascii=ascii_only)
            yield text.encode("utf-8", "surrogatepass")

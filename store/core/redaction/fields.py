"""Secrets in the fields of a form and in the parts of a multipart body, by the fields' names."""

import re
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

from store.core.redaction.likeness import is_random
from store.core.redaction.names import is_credential_field, may_be_credential_field, member
from store.core.redaction.spans import Span

FORM = "application/x-www-form-urlencoded"

_BOUNDARY = re.compile(rb'boundary="?([^";,]+)"?', re.IGNORECASE)
_NAME = re.compile(rb'content-disposition:[^\r\n]*[; ]name="?([^"\r\n;]+)"?', re.IGNORECASE)
_HEAD_BYTES_MAX = 8 * 1024


def pairs(content: bytes, kind: str) -> Iterator[Span | None]:
    """The credentials among `name=value` pairs joined by `&`, each of class `kind`; None for each other pair."""
    start = 0
    while start <= len(content):
        end = content.find(b"&", start)
        end = end if end >= 0 else len(content)
        name, _, value = content[start : min(end, start + 128)].partition(b"=")
        at = start + len(name) + 1
        if value and len(name) < 128:
            yield _pair(content, name, at, end, kind)
        start = end + 1


def _pair(content: bytes, name: bytes, start: int, end: int, kind: str) -> Span | None:
    sure = is_credential_field(name) or member(unquote_to_bytes(name)) == "sure"
    maybe = may_be_credential_field(name)
    if not sure and not maybe:
        return None
    secret = unquote_to_bytes(content[start:end].replace(b"+", b" ") if kind == "form" else content[start:end])
    return Span(start, end, kind, secret, learn=True) if sure or is_random(secret) else None


def every_pair(content: bytes) -> Iterator[Span]:
    """The value of every pair of a form."""
    start = 0
    for part in content.split(b"&"):
        name, equals, value = part.partition(b"=")
        if value:
            secret = unquote_to_bytes(value.replace(b"+", b" "))
            at = start + len(name) + len(equals)
            yield Span(at, start + len(part), "form", secret, learn=is_random(secret))
        start += len(part) + 1


def parts(content: bytes, media_type: bytes) -> Iterator[Span | None]:
    """The parts of a multipart body (RFC 7578) whose names say that they are credentials; None for each other part."""
    boundary = _BOUNDARY.search(media_type)
    delimiter = b"--" + boundary[1].strip() if boundary is not None else b""
    place = content.find(delimiter) if delimiter else -1
    while place >= 0:
        start = place + len(delimiter)
        following = content.find(b"\r\n" + delimiter, start)
        end = following if following >= 0 else len(content)
        yield _part(content, start, end)
        place = following + 2 if following >= 0 else -1


def _part(content: bytes, start: int, end: int) -> Span | None:
    head_end = content.find(b"\r\n\r\n", start, min(end, start + _HEAD_BYTES_MAX))
    if head_end < 0 or head_end + 4 >= end:
        return None
    name = _NAME.search(content, start, head_end)
    if name is None or not (is_credential_field(name[1]) or member(name[1]) == "sure"):
        return None
    value = content[head_end + 4 : end]
    return Span(head_end + 4, end, "form", value, learn=True)

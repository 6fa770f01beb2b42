"""Secrets in header fields: what a name says of its value, and what stays readable beside the secret.

Rules kept here:
- Of a request, a value is kept only under a name that is known to be harmless (`names.ALLOWED`).
- Of a response, a value is kept unless its name, or a shape in it, says otherwise.
- A scheme (`Bearer`), and the names and attributes of cookies, stay readable.
"""

import base64
import binascii
import re
from collections.abc import Iterator

from store.core.redaction import fields, texts
from store.core.redaction.likeness import is_learnable, is_random, is_uuid
from store.core.redaction.names import is_allowed, is_count, is_credential_name
from store.core.redaction.spans import Span

_SCHEME = re.compile(rb"(basic|bearer|digest|negotiate|token|apikey|aws4-hmac-sha256)(\s+)", re.IGNORECASE)
# Their values are made anew for each request, so there is nothing to look for later.
_MADE_ANEW = (b"digest", b"aws4-hmac-sha256", b"negotiate")
_WITH_URLS = frozenset(("location", "content-location", "referer", "http-referer", "link", "refresh", "origin"))


def find(name: str, value: bytes, *, response: bool, allowed: frozenset[str]) -> Iterator[Span]:
    """The secrets of a field whose name (in lower case) is `name`."""
    if name in ("cookie", "cookie2"):
        yield from _cookies(value)
    elif response and name in ("set-cookie", "set-cookie2"):
        yield from _set_cookie(value)
    elif name in allowed or is_allowed(name):
        yield from _read(name, value)
    elif is_credential_name(name) and (not response or (is_learnable(value) and not is_count(value))):
        yield from _credential(name, value, sure=not response)
    elif response:
        yield from _read(name, value)
    elif value:
        yield Span(0, len(value), "header", value, learn=is_random(value, 20))


def passwords(value: bytes) -> Iterator[bytes]:
    """What a value of the Basic scheme spells (RFC 7617): the pair, and the password alone."""
    scheme, _, encoded = value.partition(b" ")
    if scheme.lower() == b"basic":
        try:
            pair = base64.b64decode(encoded.strip(), validate=True)
        except binascii.Error:
            return
        yield pair
        yield pair.partition(b":")[2]


def _read(name: str, value: bytes) -> Iterator[Span]:
    yield from texts.find(value, 0, len(value))
    mark = value.find(b"?") if name in _WITH_URLS else -1
    if mark >= 0:
        for span in fields.pairs(value[mark + 1 :], "query"):
            if span is not None:
                start, end = mark + 1 + span.start, mark + 1 + span.end
                yield Span(start, end, span.kind, span.secret, learn=span.learn)


def _credential(name: str, value: bytes, *, sure: bool) -> Iterator[Span]:
    kind = name if name in ("authorization", "proxy-authorization") else "key"
    scheme = _SCHEME.match(value)
    start = scheme.end() if scheme is not None else 0
    anew = scheme is not None and scheme[1].lower() in _MADE_ANEW
    secret = value[start:]
    yield Span(start, len(value), kind, secret, learn=not anew and (sure or is_random(secret)))


def _cookies(value: bytes) -> Iterator[Span]:
    start = 0
    for pair in value.split(b";"):
        _, equals, secret = pair.partition(b"=")
        end = start + len(pair.rstrip())
        secret = (secret if equals else pair).strip()
        if secret:
            yield Span(end - len(secret), end, "cookie", secret, learn=_is_session(secret))
        start += len(pair) + 1


def _is_session(value: bytes) -> bool:
    """Whether a cookie's value can be looked for elsewhere: long, and no number that other things go by."""
    return len(value) >= 16 and is_learnable(value) and not is_uuid(value)


def _set_cookie(value: bytes) -> Iterator[Span]:
    pair, separator, attributes = value.partition(b";")
    name, equals, secret = pair.partition(b"=")
    if not equals:
        # Browsers take a pair without a name for a value (RFC 6265bis, section 5.6).
        name, secret = b"", pair
    if secret:
        start = len(name) + len(equals)
        yield Span(start, start + len(secret), "cookie", secret, learn=_is_session(secret))
    if separator:
        at = len(pair) + 1
        for span in texts.find(attributes, 0, len(attributes)):
            yield Span(at + span.start, at + span.end, span.kind, span.secret, learn=span.learn)

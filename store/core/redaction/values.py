"""The value that follows a credential's name in a text: in JSON, in JSON within a string, in code, in a header line.

Rules kept here:
- A JSON string is taken whole, however deep it is escaped; one that does not end is taken to the end of the content.
- Outside JSON a value counts only if it is a literal that looks random: code is full of `token = read_token()`.
"""

import json
import re

from store.core.redaction.likeness import is_code, is_key, is_random
from store.core.redaction.marks import MARK
from store.core.redaction.names import member
from store.core.redaction.spans import Span

STEMS = (
    b"key", b"token", b"secret", b"pass", b"pwd", b"auth", b"cookie", b"credential", b"jwt", b"assertion", b"bearer ",
    b"basic ",
)  # fmt: skip
# How far before its `:` or `=` a stem may begin, with fewer backslashes than ESCAPES_NEAR in between (see _REST).
ESCAPES_NEAR = 16
REACH_BYTES = 64
NAME_BYTES_MAX = 64
VALUE_BYTES_MAX = 64 * 1024

_NAME_BEFORE = re.compile(rb"[A-Za-z0-9_.-]{0,64}\Z")
_REST = re.compile(rb"([A-Za-z0-9_.-]{0,32})(\\*)([\"'`]?)\s{0,4}(=>|:=|[:=])\s{0,8}(\\*)([\"'`]?)")
_BARE = re.compile(rb"[^\s\"'`,;&)}\]<>\\]{1,4096}")
_LINE = re.compile(rb"[^\r\n\\\"']{1,8192}")
_SCHEME = re.compile(rb"(?:basic|bearer|digest|token|apikey|aws4-hmac-sha256)(?:\s|%20|\+)+", re.IGNORECASE)
_CREDENTIALS = re.compile(rb"(?:bearer|basic)[ \t]+([A-Za-z0-9._~+/-]{16,8192}=*)", re.IGNORECASE)
_HEADER_LINES = (b"authorization", b"proxy-authorization", b"cookie", b"set-cookie")


def after(content: bytes, place: int, stem: bytes) -> Span | None:
    """The credential whose name, or scheme, contains `stem` at `place`, if there is one."""
    if stem.endswith(b" "):
        found = _CREDENTIALS.match(content, place)
        if found is None or not is_random(found[1]):
            return None
        return Span(found.start(1), found.end(1), "authorization", found[1], learn=True)
    rest = _REST.match(content, place + len(stem))
    if rest is None:
        return None
    before = _NAME_BEFORE.search(content[max(0, place - NAME_BYTES_MAX) : place])
    assert before is not None
    name = _unglued(content, place - len(before[0]), before[0]) + stem_as_is(content, place, stem) + rest[1]
    said = member(name)
    if not said or len(name) > NAME_BYTES_MAX:
        return None
    quote = rest[6]
    if quote == b'"' and rest[3] == b'"' and rest[4] == b":" and rest[2] == rest[5]:
        return _string(content, rest.end(), len(rest[5]), said)
    return _literal(content, rest.end(), quote, name, said)


def stem_as_is(content: bytes, place: int, stem: bytes) -> bytes:
    """The stem as the content spells it."""
    return content[place : place + len(stem)]


def string_end(content: bytes, start: int, escapes: int) -> int:
    """Where a JSON string ends whose quotes have so many backslashes before them; the end of the content without one.

    A quote within it has more of them, in a number that says so: 0, 1, 3, 7 are the levels of JSON within JSON.
    """
    at = content.find(b'"', start)
    while at >= 0:
        before = at
        while before > start and content[before - 1] == 0x5C:
            before -= 1
        if (at - before) % (2 * (escapes + 1)) == escapes or at - before < escapes:
            return at - min(escapes, at - before)
        at = content.find(b'"', at + 1)
    return len(content)


def _string(content: bytes, start: int, escapes: int, said: str) -> Span | None:
    end = string_end(content, start, escapes)
    scheme = _SCHEME.match(content, start, end)
    start = scheme.end() if scheme is not None else start
    value = content[start:end]
    if not value or (said == "maybe" and not is_random(value, 20)):
        return None
    return Span(start, end, "field", unescaped(value, escapes), learn=True)


def unescaped(value: bytes, escapes: int = 0) -> bytes:
    """What a JSON string stands for, escaped as often as so many backslashes before its quotes say; else as it is."""
    plain = value
    for _ in range((escapes + 1).bit_length()):
        if b"\\" not in plain:
            break
        try:
            plain = json.loads(b'"' + plain + b'"').encode("utf-8", "surrogatepass")
        except ValueError:
            return value
    return plain


def _literal(content: bytes, start: int, quote: bytes, name: bytes, said: str) -> Span | None:
    if name.lower() in _HEADER_LINES and not quote:
        return _header_line(content, start, name)
    found = _BARE.match(content, start)
    if found is None:
        return None
    end = found.end()
    if quote:
        closing = content.find(quote, start, start + VALUE_BYTES_MAX)
        end = closing if closing >= 0 else end
        while end > start and content[end - 1] == 0x5C:
            end -= 1
    value = content[start:end]
    if MARK.search(value) or is_code(value):
        return None
    odd = is_random(value, 16, 3.2) or (said == "sure" and is_key(value, quoted=bool(quote)))
    return Span(start, end, "field", value, learn=True) if odd else None


def _header_line(content: bytes, start: int, name: bytes) -> Span | None:
    """`Authorization: Bearer x` or `Cookie: a=b` as tools print them."""
    scheme = _SCHEME.match(content, start)
    start = scheme.end() if scheme is not None else start
    found = _LINE.match(content, start)
    if found is None or MARK.search(found[0]):
        return None
    words = found[0].replace(b";", b" ").split()
    if not any(is_random(word.partition(b"=")[2] or word) for word in words):
        return None
    kind = "cookie" if name.lower().endswith(b"cookie") else "authorization"
    return Span(start, start + len(found[0].rstrip()), kind, found[0].strip(), learn=True)


def _unglued(content: bytes, start: int, name: bytes) -> bytes:
    """A name without the letter of an escape before it: the n of `\\n` belongs to no name."""
    return name[1:] if name[:1] in (b"n", b"r", b"t") and content[start - 1 : start] == b"\\" else name

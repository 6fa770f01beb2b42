"""The value that follows a credential's name in a text: in JSON, in JSON within a string, in code, in a header line.

Rules kept here:
- A JSON string is taken whole, however deep it is escaped; one that does not end is taken to the end of the content.
- Outside JSON a value counts only if it is a literal that looks random: code is full of `token = read_token()`.
"""

import json
import re
from collections.abc import Iterator

from store.core.redaction.likeness import is_code, is_key, is_random
from store.core.redaction.marks import MARK
from store.core.redaction.names import member
from store.core.redaction.spans import Span
from store.core.redaction.stretches import Window

STEMS = (
    b"key", b"token", b"secret", b"pass", b"pwd", b"auth", b"cookie", b"credential", b"jwt", b"assertion",
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
_SCHEMES = (b"bearer", b"basic")
_BLANKS = b" \t"
_SCHEME_ENDS = b"rRcC" + _BLANKS
_BLANKS_NEAR, _BLANKS_SEEN = 64, 512
_HEADER_LINES = (b"authorization", b"proxy-authorization", b"cookie", b"set-cookie")


def after(window: Window, place: int, stem: bytes) -> Span | None:
    """The credential whose name contains `stem` at `place`, if there is one."""
    content = window.content
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
        return _string(window, rest.end(), len(rest[5]), said)
    if name.lower() in _HEADER_LINES and not quote:
        return _header_line(window, rest.end(), name)
    return _literal(window, rest.end(), quote, said)


def schemed(window: Window) -> Iterator[Span]:
    """The credentials of a window that stand behind their scheme."""
    content = window.content
    for at, _ in window.places:
        # Most have another byte than these before the blank, or no blank at all.
        if at > 1 and content[at - 1] in _BLANKS and content[at - 2] in _SCHEME_ENDS:
            end = _before_blanks(content, at)
            if at - end > _BLANKS_SEEN:
                window.saw(len(content) + 1)  # it is told by more than stands around it
            for scheme in _SCHEMES if content[end : end + 1] == b" " else ():
                if content[max(0, end - len(scheme)) : end].lower() == scheme:
                    found = _CREDENTIALS.match(content, end - len(scheme))
                    if found is not None and is_random(found[1]):
                        yield Span(found.start(1), found.end(1), "authorization", found[1], learn=True)


def _before_blanks(content: bytes, at: int) -> int:
    while at > 0:
        piece = content[max(0, at - _BLANKS_NEAR) : at]
        left = len(piece.rstrip(_BLANKS))
        at -= len(piece) - left
        if left:
            break
    return at


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


def _string(window: Window, start: int, escapes: int, said: str) -> Span | None:
    content = window.content
    end = string_end(content, start, escapes)
    window.saw(end + 1)
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


def _literal(window: Window, start: int, quote: bytes, said: str) -> Span | None:
    content = window.content
    found = _BARE.match(content, start)
    if found is None:
        return None
    end = found.end()
    window.saw(end + 1)
    if quote:
        closing = content.find(quote, start, start + VALUE_BYTES_MAX)
        window.saw(closing if closing >= 0 else start + VALUE_BYTES_MAX)
        end = closing if closing >= 0 else end
        while end > start and content[end - 1] == 0x5C:
            end -= 1
    value = content[start:end]
    if MARK.search(value) or is_code(value):
        return None
    odd = is_random(value, 16, 3.2) or (said == "sure" and is_key(value, quoted=bool(quote)))
    return Span(start, end, "field", value, learn=True) if odd else None


def _header_line(window: Window, start: int, name: bytes) -> Span | None:
    """`Authorization: Bearer x` or `Cookie: a=b` as tools print them."""
    content = window.content
    scheme = _SCHEME.match(content, start)
    start = scheme.end() if scheme is not None else start
    found = _LINE.match(content, start)
    window.saw(found.end() + 1 if found is not None else start + 1)
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

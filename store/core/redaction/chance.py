"""Whether what looks like a token is a matter of chance: in bytes that are encoded as text, every short word occurs.

A hundred megabytes of base64 in lines hold three million places where a word begins, and so some of each beginning of
four letters. But no token stands in the midst of random letters, nor in a line of them that is as long as the next one.

Rules kept here:
- Long beginnings are never doubted, nor is a token on a line of its own, or one among others of its kind.
"""

import re

from store.core.redaction.likeness import is_random
from store.core.redaction.shapes import Shape
from store.core.redaction.spans import Span

_HEAD_BYTES_MAX = 5
_NEAR_BYTES = 128
_LOOK_BYTES = 512
_LINE_BYTES_MIN = 60  # encoded bytes come in lines of 60 (xxd -p), 64 (PEM) or 76 letters (MIME)
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_REST_BYTES_MIN, _REST_BITS = 24, 4.0  # more than a path with an id in it has
_LINE = re.compile(rb"[A-Za-z0-9+/_-]+=*")
_BREAK = re.compile(rb"\r?\n|(?:\\\\?r)?\\\\?n")


def is_chance(content: bytes, token: Span, shape: Shape, head: bytes) -> bool:
    """Whether a token of this shape, which begins with `head`, is none."""
    if shape.near and shape.near not in content[max(0, token.start - _NEAR_BYTES) : token.start].lower():
        return True
    if len(head) > _HEAD_BYTES_MAX:
        return False
    before = _BREAK.split(content[max(0, token.start - _LOOK_BYTES) : token.start])
    after = _BREAK.split(content[token.end : token.end + _LOOK_BYTES])
    return (shape.common and _is_inside(before[-1], after[0])) or _is_wrapped(before, token.secret, after, head)


def _is_inside(before: bytes, after: bytes) -> bool:
    around = before[len(before.rstrip(_LETTERS)) :] + after[: len(after) - len(after.lstrip(_LETTERS))]
    return is_random(around, _REST_BYTES_MIN, _REST_BITS)


def _is_wrapped(before: list[bytes], token: bytes, after: list[bytes], head: bytes) -> bool:
    line = (before[-1] + token + after[0]).strip()
    if len(line) < _LINE_BYTES_MIN or not _LINE.fullmatch(line):
        return False
    beside = [each.strip() for each in (*before[-2:-1], *after[1:2])]
    return any(len(each) == len(line) and _LINE.fullmatch(each) and not each.startswith(head) for each in beside)

"""Hex digits out of a text, as the bytes that they spell (pure).

So digests and ids take half the room, and do not stand in the way of what compresses. In the text, 0x01, 0x02 and 0x03
stand where 64, 32 and 16 lowercase hex digits were; the bytes follow one another in a column of their own. So the text
must have no such byte, which canonical JSON never has.
"""

import re
from bisect import bisect_right
from itertools import accumulate, chain, pairwise

from store.core.errors import Malformed

_DIGITS = re.compile(rb"[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{16}")
_MARKS = re.compile(rb"[\x01-\x03]")
_MARK_BY_DIGITS = {64: b"\x01", 32: b"\x02", 16: b"\x03"}
_BYTES = {1: 32, 2: 16, 3: 8}
_ONE = b"\x01"
_AS_ONE = bytes.maketrans(bytes(_BYTES), _ONE * len(_BYTES))
_NO_MARKS = bytes(each for each in range(256) if each not in _BYTES)


def taken(text: bytes) -> tuple[bytes, bytes]:
    """The text with marks in the place of its hex digits, and their bytes. Raises Malformed for a text with marks."""
    if _MARKS.search(text):
        raise Malformed("a text that has control characters in it")
    found: list[bytes] = []

    def mark(match: re.Match[bytes]) -> bytes:
        found.append(bytes.fromhex(match.group().decode()))
        return _MARK_BY_DIGITS[len(match.group())]

    return _DIGITS.sub(mark, text), b"".join(found)


def column_bytes(text: bytes) -> int:
    """How many bytes of the column the marks of a text stand for."""
    return sum(map(_BYTES.__getitem__, text.translate(None, _NO_MARKS)))


def put_back(text: bytes, column: bytes) -> bytes:
    """The text as it was; marks for which the column has no bytes stay where they are."""
    marks, (first, *pieces) = text.translate(None, _NO_MARKS), text.translate(_AS_ONE).split(_ONE)
    digits, ends = column.hex().encode(), list(accumulate(2 * _BYTES[mark] for mark in marks))
    whole = bisect_right(ends, len(digits))
    parts = [digits[begin:end] for begin, end in pairwise((0, *ends[:whole]))]
    parts += (bytes([mark]) for mark in marks[whole:])
    return first + b"".join(chain.from_iterable(zip(parts, pieces, strict=True)))

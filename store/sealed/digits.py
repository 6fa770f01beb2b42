"""Hex digits out of a text, as the bytes that they spell (pure).

So digests and ids take half the room, and do not stand in the way of what compresses. In the text, 0x01, 0x02 and 0x03
stand where 64, 32 and 16 lowercase hex digits were; the bytes follow one another in a column of their own. So the text
must have no such byte, which canonical JSON never has.
"""

import re

from store.core.errors import Malformed

_DIGITS = re.compile(rb"[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{16}")
_MARKS = re.compile(rb"[\x01-\x03]")
_MARK_BY_DIGITS = {64: b"\x01", 32: b"\x02", 16: b"\x03"}
_BYTES_BY_MARK = {b"\x01": 32, b"\x02": 16, b"\x03": 8}


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
    return sum(text.count(mark) * held for mark, held in _BYTES_BY_MARK.items())


def put_back(text: bytes, column: bytes) -> bytes:
    """The text as it was; marks for which the column has no bytes stay where they are."""
    parts: list[bytes] = []
    end = at = 0
    for match in _MARKS.finditer(text):
        after = at + _BYTES_BY_MARK[match.group()]
        if after > len(column):
            break
        parts += text[end : match.start()], column[at:after].hex().encode()
        at, end = after, match.end()
    return b"".join((*parts, text[end:]))

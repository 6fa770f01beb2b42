"""The chunk table of a streamed body: how long each piece was and when it came, small and binary.

One entry a piece: its length as an unsigned LEB128 number, then one byte for the time since the piece before it
(since the request was sent, for the first): t = round(8 * log2(1 + microseconds)), at most 255. So a time is kept to
within 5 %, from a microsecond up to an hour.
"""

import math
from collections.abc import Iterable, Sequence

import msgspec

from store.core.errors import Malformed

_STEPS_PER_OCTAVE = 8
_LENGTH_BITS_MAX = 63


class Chunk(msgspec.Struct, frozen=True):
    """One piece as it arrived: `length` bytes, `wait_us` microseconds after the piece before it."""

    length: int
    wait_us: int


def encode(chunks: Iterable[Chunk]) -> bytes:
    """The table of `chunks`."""
    table = bytearray()
    for chunk in chunks:
        length = chunk.length
        while length > 0x7F:
            table.append(length & 0x7F | 0x80)
            length >>= 7
        table.append(length)
        table.append(min(255, round(_STEPS_PER_OCTAVE * math.log2(1 + max(0, chunk.wait_us)))))
    return bytes(table)


def decode(table: bytes) -> Sequence[Chunk]:
    """The pieces of a table. Raises Malformed for a table that ends within an entry or has an oversize length."""
    chunks = []
    at = 0
    while at < len(table):
        length = shift = 0
        while True:
            if at >= len(table) or shift >= _LENGTH_BITS_MAX:
                raise Malformed("malformed chunk table: a length does not end")
            byte = table[at]
            length |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                break
        if at >= len(table):
            raise Malformed("malformed chunk table: an entry has no time")
        chunks.append(Chunk(length, round(2 ** (table[at] / _STEPS_PER_OCTAVE)) - 1))
        at += 1
    return chunks

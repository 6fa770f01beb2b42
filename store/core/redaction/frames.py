"""The event stream encoding of AWS, taken apart and put together again (application/vnd.amazon.eventstream).

A message is: total length, header length (each u32be), CRC-32 of those eight bytes, headers, payload, CRC-32 of all
before it. What is taken out of a payload changes all four.
"""

import struct
import zlib

from store.core.redaction.marks import Edit

_PRELUDE = struct.Struct(">III")
_CHECK_BYTES = 4
MEDIA_TYPE = "application/vnd.amazon.eventstream"


def payloads(content: bytes) -> list[tuple[int, int, int]] | None:
    """For each message where it begins, and where its payload begins and ends; None for what is no event stream."""
    found: list[tuple[int, int, int]] = []
    at = 0
    while at < len(content):
        if at + _PRELUDE.size + _CHECK_BYTES > len(content):
            return None
        total, headers, _ = _PRELUDE.unpack_from(content, at)
        start, end = at + _PRELUDE.size + headers, at + total - _CHECK_BYTES
        if not start <= end <= len(content) - _CHECK_BYTES:
            return None
        found.append((at, start, end))
        at += total
    return found


def reframed(content: bytes, redacted: bytes, edits: tuple[Edit, ...]) -> bytes | None:
    """`redacted`, which is `content` after `edits`, with lengths and checks made anew; None where that cannot be done.

    An edit outside a payload cannot be mended.
    """
    messages = payloads(content)
    if messages is None:
        return None
    pieces: list[bytes] = []
    at = shift = 0
    for begin, start, end in messages:
        grown = 0
        while at < len(edits) and edits[at][0] < end + _CHECK_BYTES:
            first, last, size = edits[at]
            if first < start or last > end:
                return None
            grown += size - (last - first)
            at += 1
        headers = content[begin + _PRELUDE.size : start]
        payload = redacted[start + shift : end + shift + grown]
        lengths = struct.pack(">II", _PRELUDE.size + len(headers) + len(payload) + _CHECK_BYTES, len(headers))
        message = lengths + struct.pack(">I", zlib.crc32(lengths)) + headers + payload
        pieces += (message, struct.pack(">I", zlib.crc32(message)))
        shift += grown
    return b"".join(pieces)

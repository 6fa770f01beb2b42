"""The event stream encoding of AWS, taken apart and put together again (application/vnd.amazon.eventstream).

A message is: total length, header length (each u32be), CRC-32 of those eight bytes, headers, payload, CRC-32 of all
before it. What is taken out of a payload changes all four.
"""

import struct
import zlib
from collections.abc import Iterator

from store.core.redaction.marks import Edit

_PRELUDE = struct.Struct(">III")
_CHECK_BYTES = 4
MEDIA_TYPE = "application/vnd.amazon.eventstream"


def payloads(content: bytes) -> list[tuple[int, int, int]] | None:
    """For each message where it begins, and where its payload begins and ends; None for what is no event stream."""
    found = list(_whole(content))
    read = found[-1][2] + _CHECK_BYTES if found else 0
    return found if read == len(content) else None


def _whole(content: bytes) -> Iterator[tuple[int, int, int]]:
    """The messages up to the first that is none, or is cut."""
    at = 0
    while at + _PRELUDE.size + _CHECK_BYTES <= len(content):
        total, headers, _ = _PRELUDE.unpack_from(content, at)
        start, end = at + _PRELUDE.size + headers, at + total - _CHECK_BYTES
        if not start <= end <= len(content) - _CHECK_BYTES:
            return
        yield at, start, end
        at += total


def _event_type(headers: bytes) -> str:
    """The header `:event-type`, or `:exception-type` of a message that is one; a string (type 7) as all of them are."""
    named: dict[bytes, bytes] = {}
    at = 0
    while at < len(headers):
        end = at + 1 + headers[at]
        if headers[end : end + 1] != b"\x07" or end + 3 > len(headers):
            break
        length = int.from_bytes(headers[end + 1 : end + 3], "big")
        named[headers[at + 1 : end]] = headers[end + 3 : end + 3 + length]
        at = end + 3 + length
    return (named.get(b":event-type") or named.get(b":exception-type") or b"").decode("utf-8", "replace")


def messages(content: bytes) -> list[tuple[str, bytes]]:
    """The event type and the payload of each message that is whole; none for what is no event stream."""
    return [
        (_event_type(content[begin + _PRELUDE.size : start]), content[start:end])
        for begin, start, end in _whole(content)
    ]


def reframed(content: bytes, redacted: bytes, edits: tuple[Edit, ...]) -> bytes | None:
    """`redacted`, which is `content` after `edits`, with lengths and checks made anew; None where that cannot be done.

    An edit outside a payload cannot be mended.
    """
    found = payloads(content)
    if found is None:
        return None
    pieces: list[bytes] = []
    at = shift = 0
    for begin, start, end in found:
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

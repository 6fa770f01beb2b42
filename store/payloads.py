"""How a body is stored: a room of its own, since no hash covers the stored form (docs/format.md, section 5).

Today each body is one zstd frame behind the first bytes of the frame's SHA-256: a decoder ignores some bits of a
frame, and a changed store must never read as the same. Reading is bounded by the length that the opening tells.
"""

import hashlib
import sqlite3

import zstandard

from store.core.errors import Malformed

_CODEC = "sha256/zstd"
_CHECK_BYTES = 16
_LEVEL = 3
BODY_BYTES_MAX = 1 << 32


class TrailingFrames(Malformed):
    """A stored body with something behind its one frame."""


class Oversize(Malformed):
    """A stored body that claims more than its opening does."""


def pack(body: bytes) -> bytes:
    """The stored form of `body`: a check, then one zstd frame (RFC 8878) that declares its length."""
    frame = zstandard.ZstdCompressor(level=_LEVEL, write_content_size=True).compress(body)
    return hashlib.sha256(frame).digest()[:_CHECK_BYTES] + frame


def put(connection: sqlite3.Connection, run: str, seq: int, pointer: str, packed: bytes) -> None:
    """Stores a packed body for one commitment, inside the caller's transaction."""
    connection.execute(
        "INSERT INTO payloads (run, seq, pointer, codec, stored) VALUES (?, ?, ?, ?, ?)",
        (run, seq, pointer, _CODEC, packed),
    )


def get(connection: sqlite3.Connection, run: str, seq: int, pointer: str, length: int) -> bytes | None:
    """The body of one commitment, `length` bytes long by its opening; None when nothing is stored.

    Raises Malformed (Oversize, TrailingFrames) for a stored form that is not one frame of that length.
    """
    row = connection.execute(
        "SELECT codec, stored FROM payloads WHERE run = ? AND seq = ? AND pointer = ?", (run, seq, pointer)
    ).fetchone()
    if row is None:
        return None
    codec, stored = row
    return unpack(codec, stored, length)


def unpack(codec: str, stored: bytes, length: int) -> bytes:
    """The body, `length` bytes long, whose stored form this is. Raises as `get` does."""
    if codec != _CODEC:
        raise Malformed(f"a body is stored with the unknown codec {codec!r}")
    check, frame = stored[:_CHECK_BYTES], stored[_CHECK_BYTES:]
    try:
        declared = zstandard.frame_content_size(frame)
        if declared > length or length > BODY_BYTES_MAX:
            raise Oversize(f"a stored body declares {declared} bytes where {length} are known")
        if declared != length:
            raise Malformed(f"a stored body declares {declared} bytes where {length} are known")
        reader = zstandard.ZstdDecompressor().decompressobj()
        body = reader.decompress(frame)
    except zstandard.ZstdError as error:
        raise Malformed(f"a stored body is no zstd frame: {error}") from None
    if reader.unused_data:
        raise TrailingFrames("a stored body has bytes behind its frame")
    if not reader.eof or len(body) != length:
        raise Malformed("a stored body ends early")
    if hashlib.sha256(frame).digest()[:_CHECK_BYTES] != check:
        raise Malformed("a stored body is not as it was written")
    return body

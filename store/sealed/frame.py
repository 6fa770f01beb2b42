"""One zstd frame that says how long its content is, behind a check of it and of where it stands (pure; RFC 8878).

In front of a frame that was compressed against a primer (primer.py) stands its number, in a byte; every other frame
begins with 0x28.

Rules kept here:
- Nothing is unpacked that says it is longer than a block may be; a second frame, or anything behind the first, is
  damage.
- A frame that cannot be unpacked to its end gives nothing; one whose check alone does not fit gives what it holds, for
  what that is worth is said by the hashes of its events and by the commitments.
"""

import hashlib

import zstandard

from store.core.errors import Malformed
from store.sealed import primer

CONTENT_BYTES_MAX = 1 << 23
_WINDOW_LOG_MAX = 23
_LEVEL = 9  # 19 takes five times as long for the last hundredth
_CHECK_BYTES = 4  # against a changed byte; what proves an event, or an opening, are its own hashes
_STEP_BYTES = 1024


def pack(content: bytes, place: bytes, primed: int = 0) -> bytes:
    """What is stored of a block that stands at `place`, compressed against the primer of the number `primed`."""
    known = primer.dictionary(primed)
    parameters = zstandard.ZstdCompressionParameters.from_level(
        _LEVEL, source_size=max(1, len(content)), dict_size=len(known) if known else 0
    )
    packed = zstandard.ZstdCompressor(dict_data=known, compression_params=parameters).compress(content)
    packed = bytes([primed]) + packed if known else packed
    return _check(place, packed) + packed


def unpack(stored: bytes, place: bytes) -> tuple[bytes, str]:
    """The content of a block, and what is wrong with it in a few words; no content where it cannot be unpacked."""
    packed = stored[_CHECK_BYTES:]
    damage = "" if _check(place, packed) == stored[:_CHECK_BYTES] else "its block is not as it was written"
    known = primer.dictionary(packed[0]) if packed else None
    packed = packed[1:] if known else packed
    try:
        length = _length(packed)
    except Malformed as error:
        return b"", damage or str(error)
    unpacker = zstandard.ZstdDecompressor(dict_data=known, max_window_size=1 << _WINDOW_LOG_MAX).decompressobj()
    content = bytearray()
    try:
        for at in range(0, len(packed), _STEP_BYTES):
            content += unpacker.decompress(packed[at : at + _STEP_BYTES])
            if len(content) > length:
                break
    except zstandard.ZstdError as error:  # also where something stands behind the end of the frame
        return b"", damage or f"its block is no zstd frame: {error}"
    if not unpacker.eof or unpacker.unused_data or len(content) != length:
        return b"", damage or "its block holds less or more than it says"
    return bytes(content), damage


def _length(packed: bytes) -> int:
    try:
        length = int(zstandard.get_frame_parameters(packed).content_size)
    except zstandard.ZstdError as error:
        raise Malformed(f"its block is no zstd frame: {error}") from None
    if not 0 <= length <= CONTENT_BYTES_MAX:
        raise Malformed("its block is longer than a block may be, or does not say how long it is")
    return length


def _check(place: bytes, packed: bytes) -> bytes:
    return hashlib.sha256(place + packed).digest()[:_CHECK_BYTES]

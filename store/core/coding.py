"""Undoes the content codings of a body (RFC 9110, section 8.4.1), never past a limit.

Rules kept here:
- What a small body can blow up to is bounded: unpacking stops at the limit, at most 2 MiB of one step later.
- Several gzip members, and several zstd frames, are one body (RFC 1952, section 2.2; RFC 8878, section 3.1).
- A body that is cut off, damaged or followed by something else is refused, unless the caller asks for the
  part that can be read.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import brotli  # type: ignore[import-untyped, unused-ignore]  # ships no types
import zstandard

from store.core.errors import Malformed

_PIECE_BYTES = 64 * 1024
_ZSTD_STEP_BYTES = 64  # the decoder takes no bound, and 4 bytes may stand for 128 KiB: small steps bound it
_ZSTD_WINDOW_BYTES_MAX = 1 << 27  # what zstd itself accepts unasked
_MEMBERS_MAX = 10_000
_CODINGS_MAX = 4


def content_encoding(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The value of Content-Encoding, "" without one; a repeated field is joined (RFC 9110, section 5.3)."""
    values = [value.decode("latin-1") for name, value in headers if name.lower() == b"content-encoding"]
    return ", ".join(values)


def decode(body: bytes, content_encoding: str, limit: int, *, partial: bool = False) -> bytes:
    """The content of `body` with every coding that `content_encoding` lists undone, the last first.

    `limit` is in bytes and holds for each coding. An empty body has nothing to undo. With `partial`, what can
    be read of a cut, damaged or too large body is returned; a coding that we do not know is an error all the
    same. Raises Malformed.
    """
    for name in codings(content_encoding):
        if body:
            body = _undo(name, body, limit, partial)
    return body


def as_stored(headers: Sequence[tuple[bytes, bytes]], *, exact: bool) -> Sequence[tuple[bytes, bytes]]:
    """The headers that describe a body as it is stored: redaction stores what it had to change decoded."""
    return headers if exact else [field for field in headers if field[0].lower() != b"content-encoding"]


def codings(content_encoding: str) -> list[str]:
    """What was applied, the last first. Raises Malformed for a coding that we do not know."""
    names = [name.strip().lower() for name in content_encoding.split(",")]
    names = [name for name in reversed(names) if name not in ("", "identity")]
    if len(names) > _CODINGS_MAX:
        raise Malformed(f"malformed content coding: more than {_CODINGS_MAX} on one body")
    for name in names:
        if name not in MEMBERS:
            raise Malformed(f"unknown content coding {name[:40]!r}")
    return names


def _undo(name: str, body: bytes, limit: int, partial: bool) -> bytes:
    content = bytearray()
    try:
        for piece in _pieces(name, body):
            content += piece
            if len(content) > limit:
                raise Malformed(f"oversize {name} body: it unpacks to more than {limit} bytes")
    except (Malformed, zlib.error, brotli.error, zstandard.ZstdError) as error:
        if partial:
            return bytes(content[:limit])
        if isinstance(error, Malformed):
            raise
        raise Malformed(f"malformed {name} body: {error}") from error
    return bytes(content)


def _pieces(name: str, body: bytes) -> Iterator[bytes]:
    """The contents of the members (or frames) that follow one another in `body`, a piece at a time."""
    start, members_max = MEMBERS[name]
    at = members = 0
    while at < len(body):
        members += 1
        if members > members_max:
            raise Malformed(f"malformed {name} body: bytes after its end, or more than {members_max} members")
        member = start(body)
        while not member.ended:
            step = body[at : at + member.step_bytes]
            if not step:
                raise Malformed(f"malformed {name} body: it is cut off")
            yield from member.take(step)
            at += len(step) - member.left


class Member(Protocol):
    """The unpacking of one gzip member, deflate or br stream, or zstd frame."""

    step_bytes: int

    @property
    def ended(self) -> bool:
        """Whether its own end was seen."""

    @property
    def left(self) -> int:
        """How many bytes of the last step lie behind its end."""

    def take(self, step: bytes) -> Iterator[bytes]:
        """The contents of the next bytes."""


class _Zlib:
    step_bytes = _PIECE_BYTES

    def __init__(self, wbits: int) -> None:
        self._stream = zlib.decompressobj(wbits=wbits)

    @property
    def ended(self) -> bool:
        return self._stream.eof

    @property
    def left(self) -> int:
        return len(self._stream.unused_data)

    def take(self, step: bytes) -> Iterator[bytes]:
        piece = b"-"
        while step or piece:
            piece = self._stream.decompress(step, _PIECE_BYTES)
            step = self._stream.unconsumed_tail
            yield piece


class _Brotli:
    step_bytes = _PIECE_BYTES
    left = 0  # the decoder refuses bytes behind its end

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    @property
    def ended(self) -> bool:
        return bool(self._stream.is_finished())

    def take(self, step: bytes) -> Iterator[bytes]:
        yield self._stream.process(step, output_buffer_limit=_PIECE_BYTES)
        while not self._stream.can_accept_more_data():
            yield self._stream.process(b"", output_buffer_limit=_PIECE_BYTES)


class _Zstd:
    step_bytes = _ZSTD_STEP_BYTES

    def __init__(self) -> None:
        self._stream = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES_MAX).decompressobj()

    @property
    def ended(self) -> bool:
        return self._stream.eof

    @property
    def left(self) -> int:
        return len(self._stream.unused_data)

    def take(self, step: bytes) -> Iterator[bytes]:
        yield self._stream.decompress(step)


def _gzip(_: bytes) -> Member:
    return _Zlib(zlib.MAX_WBITS | 16)


def _deflate(body: bytes) -> Member:
    """The zlib format is what RFC 9110 means; some servers send raw deflate, which clients read too."""
    wrapped = len(body) > 1 and body[0] & 0x0F == 8 and int.from_bytes(body[:2]) % 31 == 0
    return _Zlib(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)


MEMBERS: dict[str, tuple[Callable[[bytes], Member], int]] = {
    "gzip": (_gzip, _MEMBERS_MAX),
    "x-gzip": (_gzip, _MEMBERS_MAX),
    "deflate": (_deflate, 1),
    "br": (lambda _: _Brotli(), 1),
    "zstd": (lambda _: _Zstd(), _MEMBERS_MAX),
}

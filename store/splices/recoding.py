"""Undoes the content coding of a body for storage, where doing it again gives the wire's bytes (pure; RFC 9110, 8.4.1).

A coded body hides that it repeats earlier ones. Which encoder made it cannot be read from it, but can be guessed: a few
settings are tried, and only one that gives the same bytes counts. What is recorded beside the content, byte by byte:

    kind     1 gzip, 2 zlib, 3 raw deflate, 4 br, 5 zstd
    level    of the encoder
    setting  gzip, zlib, deflate: its memory level; br: log2 of the window; zstd: 1 for a content size, 2 for a checksum
    version  varint n, then n bytes: the encoder's version, to be named when it does not give the same bytes any more
    head     gzip only: the member's 10-byte header, as it came

Encoders may write other bytes in other versions: the reader of a body checks its digest, as always, and this room names
the version that is needed.
"""

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import brotli  # type: ignore[import-untyped, unused-ignore]  # ships no types
import zstandard

from store.core import coding
from store.core.errors import Malformed
from store.splices import varint

WIRE_BYTES_MAX = 1 << 20

_GZIP, _ZLIB, _DEFLATE, _BR, _ZSTD = range(1, 6)
_CONTENT_TIMES_MAX = 64
_CONTENT_BYTES_MIN = 1 << 16
# What an encoder may be given: those that encode a body whole cannot be stopped at the first other byte, and the
# highest levels do a megabyte a second.
_WHOLE_BYTES_MAX = {_BR: 1 << 18, _ZSTD: 1 << 20}
_SLOW_LEVEL = {_BR: 10, _ZSTD: 12}
_SLOW_BYTES_MAX = 1 << 16
_PIECE_BYTES = 1 << 16
PATIENCE = 8
_GZIP_HEAD_BYTES = 10
_DEFLATE_SETTINGS = [(level, 8) for level in (6, 1, 9, 5, 4, 3, 2, 7, 8)] + [(6, 9), (9, 9), (1, 9)]
_BR_LEVELS = (4, 5, 6, 11, 1, 3, 9, 2, 7, 8, 10)
_ZSTD_LEVELS = (3, 1, 2, 4, 5, 6, 9, 7, 8, 11, 19)

type Setting = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Undone:
    """A body without its coding, and how that is done again."""

    content: bytes
    coding: bytes


@dataclass(slots=True)
class Recoder:
    """Undoes codings; remembers which settings fitted, and loses patience with an encoder that none fits."""

    _fitting: dict[int, Setting] = field(default_factory=dict)
    _failures: dict[int, int] = field(default_factory=dict)

    def undo(self, wire: bytes, content_encoding: str) -> Undone | None:
        """The content of `wire`; None when there is no (single, known) coding, or no setting gives `wire` again."""
        kind = _kind(wire, content_encoding)
        if not kind or len(wire) > WIRE_BYTES_MAX:
            return None
        try:
            content = coding.decode(wire, content_encoding, content_bytes_max(len(wire)))
        except Malformed:
            return None
        head = wire[:_GZIP_HEAD_BYTES] if kind == _GZIP else b""
        for setting in self._settings(kind, wire):
            if _bearable(kind, setting, content) and _same(kind, setting, head, content, wire):
                self._fitting[kind], self._failures[kind] = setting, 0
                return Undone(content, _described(kind, setting, head))
        self._failures[kind] = self._failures.get(kind, 0) + 1
        return None

    def _settings(self, kind: int, wire: bytes) -> Iterator[Setting]:
        known = self._fitting.get(kind)
        if known is not None:
            yield known
        if self._failures.get(kind, 0) >= PATIENCE:
            return
        yield from (setting for setting in _candidates(kind, wire) if setting != known)


def redo(content: bytes, described: bytes) -> bytes:
    """The body as it was on the wire. Raises Malformed for a description that is none."""
    kind, setting, head = _read(described)
    if not _bearable(kind, setting, content):
        raise Malformed("malformed coding: it takes too long to do again")
    try:
        return b"".join(_encoded(kind, setting, head, content))
    except (ValueError, zlib.error, brotli.error, zstandard.ZstdError) as error:
        raise Malformed(f"malformed coding: {error}") from None


def version(described: bytes) -> str:
    """The version of the encoder that gave the same bytes. Raises Malformed."""
    _read(described)
    length, at = varint.take(described, 3)
    return described[at : at + length].decode("ascii", "replace")


def content_bytes_max(wire_bytes: int) -> int:
    """The longest content that a coded body is stored as."""
    return max(_CONTENT_BYTES_MIN, min(wire_bytes, WIRE_BYTES_MAX) * _CONTENT_TIMES_MAX)


def _kind(wire: bytes, content_encoding: str) -> int:
    match content_encoding.strip().lower():
        case "gzip" | "x-gzip" if len(wire) > _GZIP_HEAD_BYTES and not wire[3]:
            return _GZIP
        case "deflate" if len(wire) > 1:
            wrapped = wire[0] == 0x78 and int.from_bytes(wire[:2]) % 31 == 0
            return _ZLIB if wrapped else _DEFLATE
        case "br" if wire:
            return _BR
        case "zstd" if wire:
            return _ZSTD
    return 0


def _candidates(kind: int, wire: bytes) -> Iterator[Setting]:
    if kind == _BR:
        window = _br_window(wire[0])
        yield from ((level, window) for level in _BR_LEVELS if 10 <= window <= 24)
    elif kind == _ZSTD:
        parameters = zstandard.get_frame_parameters(wire)
        sized = parameters.content_size != zstandard.CONTENTSIZE_UNKNOWN
        yield from ((level, sized + 2 * bool(parameters.has_checksum)) for level in _ZSTD_LEVELS)
    else:
        hinted = {4: 1, 2: 9}.get(wire[8]) if kind == _GZIP else None
        yield from sorted(_DEFLATE_SETTINGS, key=lambda setting: setting[0] != hinted)


def _br_window(first: int) -> int:
    """log2 of the window as the first bits of a stream tell it (RFC 7932, section 9.1)."""
    if not first & 1:
        return 16
    if first >> 1 & 7:
        return 17 + (first >> 1 & 7)
    return {0: 17, 1: 0}.get(first >> 4 & 7, 8 + (first >> 4 & 7))


def _same(kind: int, setting: Setting, head: bytes, content: bytes, wire: bytes) -> bool:
    at = 0
    for piece in _encoded(kind, setting, head, content):
        if wire[at : at + len(piece)] != piece:
            return False
        at += len(piece)
    return at == len(wire)


def _bearable(kind: int, setting: Setting, content: bytes) -> bool:
    if kind not in _SLOW_LEVEL:
        return True
    return len(content) <= (_SLOW_BYTES_MAX if setting[0] >= _SLOW_LEVEL[kind] else _WHOLE_BYTES_MAX[kind])


def _encoded(kind: int, setting: Setting, head: bytes, content: bytes) -> Iterator[bytes]:
    level, other = setting
    if kind == _BR:
        yield brotli.compress(content, quality=level, lgwin=other)
    elif kind == _ZSTD:
        yield zstandard.ZstdCompressor(
            level=level, write_content_size=bool(other & 1), write_checksum=bool(other & 2)
        ).compress(content)
    else:
        yield head
        wbits = zlib.MAX_WBITS if kind == _ZLIB else -zlib.MAX_WBITS
        stream = zlib.compressobj(level, zlib.DEFLATED, wbits, other)
        for at in range(0, len(content), _PIECE_BYTES):
            yield stream.compress(content[at : at + _PIECE_BYTES])
        yield stream.flush()
        if kind == _GZIP:
            yield struct.pack("<II", zlib.crc32(content), len(content) & 0xFFFFFFFF)


def _described(kind: int, setting: Setting, head: bytes) -> bytes:
    encoder = _VERSIONS[kind]()
    out = bytearray((kind, *setting))
    varint.put(out, len(encoder))
    return bytes(out) + encoder + head


def _read(described: bytes) -> tuple[int, Setting, bytes]:
    if len(described) < 4 or described[0] not in _VERSIONS:
        raise Malformed("malformed coding: of no known kind")
    length, at = varint.take(described, 3)
    head = described[at + length :]
    if len(head) != (_GZIP_HEAD_BYTES if described[0] == _GZIP else 0):
        raise Malformed("malformed coding: of another length than its kind")
    return described[0], (described[1], described[2]), head


def _zlib_version() -> bytes:
    return zlib.ZLIB_RUNTIME_VERSION.encode()


def _br_version() -> bytes:
    return str(brotli.__version__).encode()


def _zstd_version() -> bytes:
    return ".".join(map(str, zstandard.ZSTD_VERSION)).encode()


_VERSIONS: dict[int, Callable[[], bytes]] = {
    _GZIP: _zlib_version,
    _ZLIB: _zlib_version,
    _DEFLATE: _zlib_version,
    _BR: _br_version,
    _ZSTD: _zstd_version,
}

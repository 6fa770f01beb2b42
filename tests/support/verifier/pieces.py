"""Section 5: the log of a run's bodies out of its blocks, and a body out of its piece."""

from dataclasses import dataclass, field
from itertools import pairwise

import zstandard

from tests.support.verifier.opener import RunKeys, ShutError
from tests.support.verifier.rows import Block

LARGEST_FRAME = 1 << 21
LARGEST_BODY = 1 << 32
SOME = 512


class UnreadableError(Exception):
    """Bytes of the log cannot be read, or are no piece."""


def _follow(blocks: list[Block]) -> bool:
    """Say whether blocks cover a log from 0 on, in frames that are not too long."""
    if blocks and (blocks[0].start != 0 or blocks[0].frame != blocks[0].number):
        return False
    for one, other in pairwise(blocks):
        if other.start != one.start + one.length or other.frame not in {one.frame, other.number}:
            return False
    starts = {block.frame: block.start for block in reversed(blocks)}
    return all(
        block.length >= 1 and block.number >= 0 and block.start + block.length - starts[block.frame] <= LARGEST_FRAME
        for block in blocks
    )


def _unpacked(frame: list[Block], keys: RunKeys | None) -> bytes:
    """Unpack the blocks of a frame up to the first that is not as it should be."""
    unpacker = zstandard.ZstdDecompressor(max_window_size=LARGEST_FRAME).decompressobj()
    log = b""
    for block in frame:
        content = bytearray()
        try:
            packed = b"" if keys is None else keys.content(block)
            for at in range(0, len(packed), SOME):
                content += unpacker.decompress(packed[at : at + SOME])
                if len(content) > block.length or unpacker.unused_data:
                    return log
        except (zstandard.ZstdError, ShutError):
            return log
        if len(content) != block.length:
            return log
        log += content
    return log


@dataclass(frozen=True)
class Part:
    """Some bytes of a body: literal ones (from a place in the log) or copied ones (from an offset in the base)."""

    copied: bool
    source: int
    length: int


@dataclass(frozen=True)
class Piece:
    """A piece by what stands before its literals."""

    base: int
    parts: list[Part]
    end: int

    @property
    def length(self) -> int:
        """Give the length of the body."""
        return sum(part.length for part in self.parts)


@dataclass
class Log:
    """The log of a run: for each frame its start and what of it can be read."""

    end: int
    frames: list[tuple[int, bytes]]
    pieces: dict[int, Piece] = field(default_factory=dict)

    @staticmethod
    def of(blocks: list[Block], keys: RunKeys | None) -> "Log | None":
        """Unpack a run's blocks; none when they do not follow one another."""
        if not _follow(blocks):
            return None
        frames: dict[int, list[Block]] = {}
        for block in blocks:
            frames.setdefault(block.frame, []).append(block)
        read = [(frame[0].start, _unpacked(frame, keys)) for frame in frames.values()]
        return Log(blocks[-1].start + blocks[-1].length if blocks else 0, read)

    def read(self, start: int, length: int) -> bytes:
        """Read bytes of the log; UnreadableError where that cannot be done."""
        found = b""
        for begin, content in self.frames:
            at = start + len(found) - begin
            if 0 <= at < len(content):
                found += content[at : at + length - len(found)]
        if len(found) != length:
            raise UnreadableError
        return found

    def piece(self, place: int) -> Piece:
        """Read a piece up to its literals."""
        if place not in self.pieces:
            self.pieces[place] = self._piece(place)
        return self.pieces[place]

    def body(self, place: int) -> bytes:
        """Put a body together."""
        body = bytearray()
        wanted = [(place, 0, self.piece(place).length)]
        while wanted:
            place, start, stop = wanted.pop()
            piece = self.piece(place)
            if stop > piece.length:
                raise UnreadableError
            below, at = [], 0
            for part in piece.parts:
                first, last = max(start, at), min(stop, at + part.length)
                if first < last:
                    below.append((part, first - at, last - at))
                at += part.length
            # what is copied is put together first, as far as literal bytes do not stand before it
            while below and not below[0][0].copied:
                part, first, last = below.pop(0)
                body += self.read(part.source + first, last - first)
            if below:
                part, first, last = below.pop(0)
                if below:
                    wanted.append((place, stop - sum(z - a for _, a, z in below), stop))
                wanted.append((piece.base, part.source + first, part.source + last))
        return bytes(body)

    def _number(self, at: int) -> tuple[int, int]:
        number = shift = 0
        while True:
            byte = self.read(at, 1)[0]
            at += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        if (byte == 0 and shift) or number >= 1 << 63:
            raise UnreadableError
        return number, at

    def _piece(self, place: int) -> Piece:
        if place < 0:
            raise UnreadableError
        head, at = self._number(place)
        copies, base = [], place - head // 2
        if head % 2 or base < 0:
            raise UnreadableError
        if head:
            count, at = self._number(at)
            stood = 0
            for _ in range(count):
                literal, at = self._number(at)
                delta, at = self._number(at)
                length, at = self._number(at)
                begin = stood + (delta // 2 if delta % 2 == 0 else -(delta + 1) // 2)
                if begin < 0 or not length:
                    raise UnreadableError
                copies.append((literal, begin, length))
                stood = begin + length
            if not count:
                raise UnreadableError
        tail, at = self._number(at)
        parts = []
        for literal, begin, length in copies:
            parts += [Part(False, at, literal), Part(True, begin, length)]
            at += literal
        parts.append(Part(False, at, tail))
        piece = Piece(base, parts, at + tail)
        if piece.end > self.end or piece.length > LARGEST_BODY:
            raise UnreadableError
        return piece

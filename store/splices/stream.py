"""The log as zstd frames cut into blocks: each block readable as soon as it is written (pure; RFC 8878).

Rules kept here:
- A frame holds at most 2 MiB of the log, so that is what a reader decompresses at most to reach one byte of it.
- A block ends with a flush: the blocks of its frame up to it, in order, give all bytes up to its end. Blocks of one
  frame that follow one another are one block when their contents are joined.
- What hardly compresses, such as an image in base64, stands in frames of its own: no time is spent on it. Neither is
  on what comes while the writer is behind (`hurried`): that is compressed harder when the run is closed.
- Two forms, one format. Live: a block a commit, frames of 1 MiB and small tables, for many runs are open at once.
  Sealed: blocks of 128 KiB, frames of 2 MiB, compressed harder.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import zstandard

FRAME_BYTES_MAX = 1 << 21
WINDOW_LOG_MAX = 21
SLICE_BYTES = 1 << 17

_LIVE_LEVEL = 9
_LIVE_FRAME_BYTES = 1 << 20
_LIVE_WINDOW_LOG = 20
_LIVE_TABLE_LOG = 17
SEALED_LEVEL = 17
EASIER_LEVEL = 9
_HARD_BYTES_MAX = 1 << 24  # from where on time counts more than the last few percent
_DENSE_BYTES_MIN = 1 << 16
_DENSE_PERCENT = 70
_DENSE = zstandard.ZstdCompressionParameters.from_level(1, window_log=_LIVE_WINDOW_LOG)
_HURRIED = zstandard.ZstdCompressionParameters.from_level(1, window_log=_LIVE_WINDOW_LOG)
_HURRIED_BYTES = 1 << 15  # of less than that there is no time to be gained
_HURRIED_BYTES_MIN = 1 << 18


@dataclass(frozen=True, slots=True)
class Span:
    """Where a block stands: its number, its first byte in the log and how many it holds, and the number of the block
    that its frame begins with. Numbers rise, with gaps.
    """

    number: int
    start: int
    length: int
    frame: int

    @property
    def end(self) -> int:
        """Where the next block begins in the log."""
        return self.start + self.length


@dataclass(frozen=True, slots=True)
class Block:
    """A compressed block, not yet guarded."""

    span: Span
    content: bytes


class Stream:
    """Compresses a log from `start` on into blocks, the first of which is numbered `number`."""

    def __init__(
        self,
        parameters: zstandard.ZstdCompressionParameters,
        frame_bytes_max: int = FRAME_BYTES_MAX,
        number: int = 0,
        start: int = 0,
    ) -> None:
        self.number = number
        self.start = start
        self._parameters = parameters
        self._frame = number
        self._frame_bytes = 0
        self._frame_bytes_max = frame_bytes_max
        self._used = parameters
        self._compressor: zstandard.ZstdCompressionObj | None = None

    def blocks(self, raw: bytes, *, hurried: bool = False) -> list[Block]:
        """The next bytes of the log as blocks: one, unless they are more than a frame holds; none for none."""
        most = self._frame_bytes_max
        return [self._block(raw[at : at + most], hurried=hurried) for at in range(0, len(raw), most)]

    def _block(self, raw: bytes, *, hurried: bool) -> Block:
        compressor = self._compressor_for(raw, self._parameters_for(raw, hurried=hurried))
        content = compressor.compress(raw) + compressor.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        block = Block(Span(self.number, self.start, len(raw), self._frame), content)
        self.number += 1
        self.start += len(raw)
        self._frame_bytes += len(raw)
        return block

    def _parameters_for(self, raw: bytes, *, hurried: bool) -> zstandard.ZstdCompressionParameters:
        if _is_dense(raw):
            return _DENSE
        if self._used is _HURRIED and self._frame_bytes < _HURRIED_BYTES_MIN:
            return _HURRIED  # a frame for every other block would cost more than it gives
        return _HURRIED if hurried and len(raw) >= _HURRIED_BYTES else self._parameters

    def _compressor_for(
        self, raw: bytes, parameters: zstandard.ZstdCompressionParameters
    ) -> "zstandard.ZstdCompressionObj":
        full = self._frame_bytes + len(raw) > self._frame_bytes_max
        if self._compressor is None or full or parameters is not self._used:
            self._compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
            self._frame, self._frame_bytes, self._used = self.number, 0, parameters
        return self._compressor


def live(number: int = 0, start: int = 0) -> Stream:
    """A stream for a run that is being written."""
    parameters = zstandard.ZstdCompressionParameters.from_level(
        _LIVE_LEVEL, window_log=_LIVE_WINDOW_LOG, hash_log=_LIVE_TABLE_LOG, chain_log=_LIVE_TABLE_LOG
    )
    return Stream(parameters, _LIVE_FRAME_BYTES, number, start)


def tight(size: int = FRAME_BYTES_MAX, level: int = SEALED_LEVEL) -> Stream:
    """A stream for the sealed form of a log, `size` bytes long as far as that is known."""
    size = min(max(size, 1), FRAME_BYTES_MAX)
    return Stream(zstandard.ZstdCompressionParameters.from_level(level, source_size=size, window_log=WINDOW_LOG_MAX))


def sealed(read: Callable[[int, int], bytes], end: int, level: int = SEALED_LEVEL) -> Iterator[Block]:
    """A whole log, `end` bytes long, in its sealed form. `read(offset, length)` gives its bytes."""
    packed = tight(end, level)
    for start in range(0, end, SLICE_BYTES):
        yield from packed.blocks(read(start, min(SLICE_BYTES, end - start)))


def level_for(end: int) -> int:
    """How hard the sealed form of a log of that length is compressed."""
    return SEALED_LEVEL if end <= _HARD_BYTES_MAX else EASIER_LEVEL


def joined(blocks: Sequence[Block]) -> Block:
    """Blocks of one frame that follow one another, as one block."""
    first, last = blocks[0].span, blocks[-1].span
    span = Span(first.number, first.start, last.end - first.start, first.frame)
    return Block(span, b"".join(block.content for block in blocks))


def _is_dense(raw: bytes) -> bool:
    if len(raw) < _DENSE_BYTES_MIN:
        return False
    sample = zstandard.ZstdCompressor(compression_params=_DENSE).compress(raw[:_DENSE_BYTES_MIN])
    return len(sample) * 100 >= _DENSE_BYTES_MIN * _DENSE_PERCENT

"""The reading side of a log: stored blocks in, bytes of the log out, in bounded memory (no I/O of its own).

Rules kept here:
- Nothing that is stored is trusted: places, lengths and frames are checked before anything is decompressed, and no
  frame is unpacked past what a frame may hold.
- A frame is unpacked as far as it is asked for; the last 32 frames are kept, or as many as the reader says.
"""

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence

import zstandard

from store.core.errors import Malformed
from store.splices.guard import Guard
from store.splices.stream import FRAME_BYTES_MAX, WINDOW_LOG_MAX, Span

_FRAMES_KEPT = 32
# The decoder takes no bound, and 4 bytes may stand for 128 KiB: small steps bound what comes at once to 32 MiB.
_STEP_BYTES = 1024
_AHEAD_BLOCKS = 64

type Fetch = Callable[[int, int], Sequence[bytes]]


class BlockLog:
    """Reads the log that `spans`, in order, cover from its first byte on.

    `fetch(first, last)` gives the stored forms of the blocks numbered so, in order. Raises Malformed for spans that are
    not those of a log.
    """

    def __init__(self, spans: Sequence[Span], fetch: Fetch, guard: Guard, frames_kept: int = _FRAMES_KEPT) -> None:
        _check(spans)
        self._spans = spans
        self._starts = [span.start for span in spans]
        self._numbers = [span.number for span in spans]
        self._fetch = fetch
        self._guard = guard
        self._frames_kept = frames_kept
        self._frames: OrderedDict[int, _Frame] = OrderedDict()
        self.end = spans[-1].end if spans else 0

    def read(self, offset: int, length: int) -> bytes:
        """`length` bytes from `offset` on. Raises Malformed when the log is damaged or does not reach so far."""
        if offset < 0 or length < 0 or offset + length > self.end:
            raise Malformed("a piece of the log reaches behind its end")
        parts: list[bytes] = []
        while length:
            frame = self._frame(self._spans[bisect_right(self._starts, offset) - 1].frame)
            if offset + length <= frame.end and not parts:
                return frame.read(offset, length)
            parts.append(frame.read(offset, min(length, frame.end - offset)))
            offset += len(parts[-1])
            length -= len(parts[-1])
        return b"".join(parts)

    @property
    def held_bytes(self) -> int:
        """How much of the log is kept unpacked."""
        return sum(frame.held_bytes for frame in self._frames.values())

    def _frame(self, number: int) -> "_Frame":
        frame = self._frames.get(number)
        if frame is None:
            first = last = bisect_left(self._numbers, number)
            while last < len(self._spans) and self._spans[last].frame == number:
                last += 1
            frame = self._frames[number] = _Frame(self._spans[first:last], self._fetch, self._guard)
            while len(self._frames) > self._frames_kept:
                self._frames.popitem(last=False)
        self._frames.move_to_end(number)
        return frame


class _Frame:
    """One frame, unpacked as far as it was asked for."""

    def __init__(self, spans: Sequence[Span], fetch: Fetch, guard: Guard) -> None:
        self.end = spans[-1].end
        self._start = spans[0].start
        self._spans = spans
        self._next = 0
        self._fetch = fetch
        self._guard = guard
        # Block by block and not in one piece: to have 2 MiB cleared takes as long as to unpack them.
        self._contents: list[bytes] = []
        self._ends: list[int] = []
        self._unpacked = self._start
        self._damage: Malformed | None = None
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=1 << WINDOW_LOG_MAX).decompressobj()

    @property
    def held_bytes(self) -> int:
        """How much of it is unpacked."""
        return self._unpacked - self._start

    def read(self, offset: int, length: int) -> bytes:
        """Bytes of the log that lie in this frame."""
        end = offset + length
        while end > self._unpacked:
            if self._damage is not None:
                raise self._damage
            try:
                self._unpack(end)
            except Malformed as error:
                self._damage = error  # of this block and of those behind it; what stands before it is whole
        first, last = bisect_right(self._ends, offset), bisect_left(self._ends, end)
        begin = offset - (self._ends[first - 1] if first else self._start)
        contents = self._contents[first : last + 1]
        return (contents[0] if len(contents) == 1 else b"".join(contents))[begin : begin + length]

    def _unpack(self, wanted: int) -> None:
        first = self._next
        while self._next < len(self._spans) and self._next - first < _AHEAD_BLOCKS:
            self._next += 1
            if self._spans[self._next - 1].end >= wanted:
                break
        spans = self._spans[first : self._next]
        stored = self._fetch(spans[0].number, spans[-1].number)
        if len(stored) != len(spans):
            raise Malformed("a stored block is missing")
        for span, block in zip(spans, stored, strict=True):
            self._take(span, self._guard.open(span, block))

    def _take(self, span: Span, content: bytes) -> None:
        pieces: list[bytes] = []
        missing = span.length
        try:
            for at in range(0, len(content), _STEP_BYTES):
                pieces.append(self._decompressor.decompress(content[at : at + _STEP_BYTES]))
                missing -= len(pieces[-1])
                if missing < 0 or self._decompressor.unused_data:
                    raise Malformed("a stored block holds more than it says")
        except zstandard.ZstdError as error:
            raise Malformed(f"a stored block is no part of a zstd frame: {error}") from None
        if missing:
            raise Malformed("a stored block holds less than it says")
        self._contents.append(b"".join(pieces))
        self._ends.append(span.end)
        self._unpacked = span.end


def _check(spans: Sequence[Span]) -> None:
    end, number, frame, frame_start = 0, -1, -1, 0
    for span in spans:
        if span.start != end or span.number <= number or span.length < 1:
            raise Malformed("the blocks of a log do not follow one another")
        if span.frame == span.number:
            frame, frame_start = span.number, span.start
        if span.frame != frame or span.end - frame_start > FRAME_BYTES_MAX:
            raise Malformed("a block stands in no frame, or in one that is too long")
        end, number = span.end, span.number

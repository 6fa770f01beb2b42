"""The reading side of a log: stored blocks in, bytes of the log out, in bounded memory (no I/O of its own).

Rules kept here:
- Nothing that is stored is trusted: places, lengths and frames are checked before anything is decompressed, and no
  frame is unpacked past what a frame may hold.
- A frame is unpacked as far as it is asked for; the last 32 frames are kept, or as many as the reader says.
"""

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

import zstandard

from store.core.errors import Malformed
from store.splices.guard import Guard
from store.splices.stream import FRAME_BYTES_MAX, WINDOW_LOG_MAX, Span

FRAMES_KEPT = 32
# The decoder takes no bound, and 4 bytes may stand for 128 KiB. Of one zstd block at a time no more can come than that
# (RFC 8878, section 3.1.1.2); where it is not known how they lie, small steps bound it to 32 MiB.
_HEAD_BYTES = 3
_REPEATED = 1
_STEP_BYTES = 1024
_AHEAD_BLOCKS = 64

type Fetch = Callable[[int, int], Sequence[bytes]]


class BlockLog:
    """Reads the log that `spans`, in order, cover from its first byte on.

    `fetch(first, last)` gives the stored forms of the blocks numbered so, in order. Raises Malformed for spans that are
    not those of a log.
    """

    def __init__(self, spans: Sequence[Span], fetch: Fetch, guard: Guard, frames_kept: int = FRAMES_KEPT) -> None:
        _check(spans)
        self._spans = spans
        self._starts = [span.start for span in spans]
        self._numbers = [span.number for span in spans]
        self._fetch = fetch
        self._guard = guard
        self._frames_kept = frames_kept
        self._frames: OrderedDict[int, _Frame] = OrderedDict()
        self._held_bytes = 0
        self.end = spans[-1].end if spans else 0

    def read(self, offset: int, length: int) -> bytes:
        """`length` bytes from `offset` on. Raises Malformed when the log is damaged or does not reach so far."""
        if offset < 0 or length < 0 or offset + length > self.end:
            raise Malformed("a piece of the log reaches behind its end")
        parts: list[bytes] = []
        while length:
            frame = self._frame(self._spans[bisect_right(self._starts, offset) - 1].frame)
            held = frame.held_bytes
            try:
                parts.append(frame.read(offset, min(length, frame.end - offset)))
            finally:
                self._held_bytes += frame.held_bytes - held
            offset += len(parts[-1])
            length -= len(parts[-1])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    @property
    def held_bytes(self) -> int:
        """How much of the log is kept unpacked."""
        return self._held_bytes

    def _frame(self, number: int) -> "_Frame":
        frame = self._frames.get(number)
        if frame is None:
            first = last = bisect_left(self._numbers, number)
            while last < len(self._spans) and self._spans[last].frame == number:
                last += 1
            frame = self._frames[number] = _Frame(self._spans[first:last], self._fetch, self._guard)
            while len(self._frames) > self._frames_kept:
                self._held_bytes -= self._frames.popitem(last=False)[1].held_bytes
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
        self._in_step = True
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
        if first == last:
            return self._contents[first][begin : begin + length]
        until = self._contents[last][: end - self._ends[last - 1]]
        return b"".join((self._contents[first][begin:], *self._contents[first + 1 : last], until))

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
            for piece in self._pieces(content):
                pieces.append(self._decompressor.decompress(piece))
                missing -= len(pieces[-1])
                if missing < 0 or self._decompressor.unused_data:
                    raise Malformed("a stored block holds more than it says")
        except zstandard.ZstdError as error:
            raise Malformed(f"a stored block is no part of a zstd frame: {error}") from None
        if missing:
            raise Malformed("a stored block holds less than it says")
        self._contents.append(pieces[0] if len(pieces) == 1 else b"".join(pieces))
        self._ends.append(span.end)
        self._unpacked = span.end

    def _pieces(self, content: bytes) -> Iterator[bytes]:
        """The content of a stored block in pieces that are unpacked one after another: each a zstd block, as far as
        they lie one after another in it.

        To be given more at once is quicker, not least because each piece lets other threads run in between.
        """
        at, end = 0, 0 if self._ends else zstandard.frame_header_size(content)
        while self._in_step and end + _HEAD_BYTES <= len(content):
            head = int.from_bytes(content[end : end + _HEAD_BYTES], "little")
            end += _HEAD_BYTES + (1 if head >> 1 & 3 == _REPEATED else head >> 3)
            if end <= len(content):
                yield content[at:end]
                at = end
        self._in_step = self._in_step and at == len(content)
        for start in range(at, len(content), _STEP_BYTES):
            yield content[start : start + _STEP_BYTES]


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

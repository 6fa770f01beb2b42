"""The log of a run that is being written, in step with the transactions that store it (pure state, no I/O).

How it is used, for each transaction that touches the run:

    place = log.add(body, shelf)      any number of times; `mark` and `undo` undo one refused event alone
    change = log.flush()              once, before the commit: delete `change.gone`, then insert `change.blocks`
    log.commit()                      when the commit has returned;
    log.rollback()                    when it failed: head list, log and compressor are as they were before

Rules kept here:
- A compressor cannot go back: after a rollback a new frame begins. So it does when a recorder takes a run over.
- Eight blocks become one, eight of those one again, and so on within a frame: what stands around a block is not paid
  for each commit, and a byte is written anew only as often as the logarithm of their number.
"""

from dataclasses import dataclass

from store.splices import stream
from store.splices.guard import Guard
from store.splices.splicer import Mark, Splicer
from store.splices.stream import Block, Span

_JOINED_BLOCKS = 8


@dataclass(frozen=True, slots=True)
class Stored:
    """A block as it is kept: a row."""

    span: Span
    stored: bytes


@dataclass(frozen=True, slots=True)
class Change:
    """What a transaction does to the blocks of the run: first deletes the numbers `gone`, then inserts `blocks`."""

    gone: tuple[int, ...] = ()
    blocks: tuple[Stored, ...] = ()


@dataclass(frozen=True, slots=True)
class _Grown:
    """A block of the frame that is being written, and how often it was joined."""

    rank: int
    block: Block


class LiveLog:
    """Writes one run's log on from the end of `splicer`; the next block is numbered `number`.

    For a new run both begin at 0; for one taken over, `number` is above those of all its blocks.
    """

    def __init__(self, guard: Guard, splicer: Splicer | None = None, number: int = 0) -> None:
        self._guard = guard
        self._splicer = splicer if splicer is not None else Splicer()
        self._stream = stream.live(number, self._splicer.end)
        self._committed = self._splicer.mark()
        self._committed_number = number
        self._tail: list[_Grown] = []

    @property
    def end(self) -> int:
        """The length of the log in bytes."""
        return self._splicer.end

    def add(self, body: bytes, shelf: str = "", coding: bytes = b"") -> int:
        """Adds a body; its place. See Splicer.add."""
        return self._splicer.add(body, shelf, coding)

    def begin(self, length: int) -> int:
        """Begins a body that comes in pieces; its place. See Splicer.begin."""
        return self._splicer.begin(length)

    def extend(self, piece: bytes) -> None:
        """The next piece of it. It may be flushed then: what was flushed can only be rolled back."""
        self._splicer.extend(piece)

    def mark(self) -> Mark:
        """The state now, for `undo` before the next flush."""
        return self._splicer.mark()

    def undo(self, mark: Mark) -> None:
        """Forgets what was added since `mark`. Raises ValueError when some of it has been flushed."""
        if mark.end < self._stream.start:
            raise ValueError("what was flushed can only be rolled back")
        self._splicer.undo(mark)

    def flush(self, *, hurried: bool = False) -> Change:
        """What was added since the last flush, as rows to store. Less time is spent on them when `hurried`."""
        new = self._stream.blocks(self._splicer.take(), hurried=hurried)
        if not new:
            return Change()
        # Only the first may go on in the frame of those before it: more than one are more than a frame holds.
        gone, first = self._join(new[0])
        rows = [first, *new[1:]]
        if len(new) > 1:
            self._tail = [_Grown(0, new[-1])]
        return Change(gone, tuple(Stored(each.span, self._guard.close(each)) for each in rows))

    def commit(self) -> None:
        """All that was flushed is on disk."""
        self._committed, self._committed_number = self._splicer.mark(), self._stream.number

    def rollback(self) -> None:
        """Nothing since the last commit is."""
        self._splicer.undo(self._committed)
        self._stream = stream.live(self._committed_number, self._splicer.end)
        self._tail = []

    def _join(self, block: Block) -> tuple[tuple[int, ...], Block]:
        """The block, or the one that it and those before it become; and the numbers of those."""
        if self._tail and self._tail[0].block.span.frame != block.span.frame:
            self._tail = []
        self._tail.append(_Grown(0, block))
        gone: list[int] = []
        while len(self._tail) >= _JOINED_BLOCKS and self._tail[-_JOINED_BLOCKS].rank == self._tail[-1].rank:
            group = [grown.block for grown in self._tail[-_JOINED_BLOCKS:]]
            gone += [each.span.number for each in group[:-1]]
            self._tail[-_JOINED_BLOCKS:] = [_Grown(self._tail[-1].rank + 1, stream.joined(group))]
        return tuple(gone), self._tail[-1].block

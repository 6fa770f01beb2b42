"""A tee: bytes pass through it at once, and a copy is kept with the time of every piece.

Rules kept here:
- It never raises: the agent would hang.
- It holds nothing back but the last piece of a body whose length was told, which would tell the agent that this is all
  before the outcome is recorded; `addons.repairs` sends that piece after the hook.
- What is kept is bounded; what passes is not.
- Pieces of a stream that stays open are given on within 250 ms or 64 KiB, so that a crash loses no more.
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from store.core.chunks import Chunk
from store.drafting.seen import Body
from store.spool import Spool

PIECE_S_MAX = 0.250
PIECE_BYTES_MAX = 64 * 1024

type GiveOn = Callable[[bytes], None]


class Tee:
    """The `stream` of a mitmproxy message. `give_on` takes what came since it was last called.

    `length` is how much will come, where that was told and the last piece is to be held. What is kept waits in `folder`
    once it is long. Times are in nanoseconds.
    """

    def __init__(
        self, since_ns: int, bytes_max: int, give_on: GiveOn, length: int | None = None, folder: Path | None = None
    ) -> None:
        self.failure: Exception | None = None
        self.seen_bytes = 0
        self.held = b""
        self.last_ns = since_ns
        self._length = length
        self._room = bytes_max
        self._give_on = give_on
        self._kept = Spool(folder)
        self._chunks: list[tuple[int, int]] = []  # bytes, microseconds
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self, piece: bytes) -> bytes | list[bytes]:
        """What mitmproxy calls with each piece as it comes, and with nothing at the end: what is to go on now."""
        try:
            if piece:
                self._note(piece)
        except Exception as error:  # noqa: BLE001  # an exception here would leave the agent hanging; the hooks act on it
            self.failure = error
        if piece and self.seen_bytes == self._length:
            self.held = piece
            return []
        return piece

    def body(self) -> Body:
        """What is kept: all that came, up to the limit, and the pieces that it came in. Raises StoreUnusable."""
        chunks = tuple(Chunk(length, wait_us) for length, wait_us in self._chunks)
        cut_bytes = self.seen_bytes if self._room < 0 else 0
        if self._kept.is_in_memory:
            return Body(content=self._kept.content, chunks=chunks, cut_bytes=cut_bytes)
        return Body(taken=self._kept.taken(), length=self._kept.length, chunks=chunks, cut_bytes=cut_bytes)

    def close(self) -> None:
        """Gives nothing on any more, and keeps nothing."""
        self._stop()
        self._kept.close()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _note(self, piece: bytes) -> None:
        now = time.monotonic_ns()
        self.seen_bytes += len(piece)
        kept = piece if len(piece) <= self._room else piece[: max(0, self._room)]
        self._room -= len(piece)
        if kept:
            self._waiting.append(kept)
            self._waiting_bytes += len(kept)
            self._kept.add(kept)
            self._chunks.append((len(kept), (now - self.last_ns) // 1000))
        self.last_ns = now
        if self._waiting_bytes >= PIECE_BYTES_MAX:
            self._give()
        elif self._waiting_bytes and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PIECE_S_MAX, self._give)

    def _give(self) -> None:
        self._stop()
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        try:
            self._give_on(b"".join(waiting))
        except Exception as error:  # noqa: BLE001  # as above, and a timer has nobody to tell
            self.failure = error

"""The recorder's end of the socket: what is to go out never makes the event loop wait.

Rules kept here:
- What nobody waits for may lie for some milliseconds, so that more goes out with it.
- Without a loop, before it runs and after it has ended, whoever says something waits until it is out.
"""

import asyncio
import select
import socket
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from store.clerk import speech
from store.clerk.speech import Ear, Mouth
from store.spool import Taken

LIES_S = 0.005
_READ_BYTES = 256 * 1024
_WRITE_BYTES = 64 * 1024
_CHUNK_BYTES = 256 * 1024


@dataclass(slots=True)
class _Chunk:
    """Bytes that go out one after the other, the descriptors of files with the first of them."""

    content: bytearray = field(default_factory=bytearray)
    taken: list[Taken] = field(default_factory=list)
    sent: int = 0


class Line:
    """`heard` is told what the clerk says; `ended` that it will say nothing more."""

    def __init__(self, ours: socket.socket, heard: Callable[[speech.Told], None], ended: Callable[[], None]) -> None:
        self._socket = ours
        self._heard = heard
        self._ended = ended
        self._mouth = Mouth()
        self._ear: Ear[speech.Told] = Ear(speech.Told)
        self._out: deque[_Chunk] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.Handle | None = None
        self._is_blocked = False
        self.is_over = False
        ours.setblocking(False)

    def say(self, message: speech.Asked) -> int:
        """Says something, soon; how many bytes it takes."""
        if not self._out or len(self._out[-1].content) >= _CHUNK_BYTES:
            self._out.append(_Chunk())
        chunk = self._out[-1]
        before = len(chunk.content)
        self._mouth.say(message, chunk.content)
        if self._mouth.taken:
            chunk = self._apart(chunk, before)
            before = 0
        size = len(chunk.content) - before
        if self._timer is None and not self._is_blocked and self._attached():
            assert self._loop is not None
            self._timer = self._loop.call_later(LIES_S, self._write)
        if len(chunk.content) >= _WRITE_BYTES:
            self.hurry()
        return size

    def hurry(self) -> None:
        """What was said goes out now, as far as the socket takes it."""
        if not self._is_blocked and self._out and self._attached():
            if self._timer is not None:
                self._timer.cancel()
            self._write()

    def finish(self, until: Callable[[], bool]) -> None:
        """Without a loop: sends what is to go out, and hears, until that is so, or the clerk is gone."""
        self._detach()
        while not until() and not self.is_over:
            ready, free, _ = select.select([self._socket], [self._socket] if self._out else [], [])
            if ready:
                self._read()
            if free:
                self._send()

    def close(self) -> None:
        """Hangs up."""
        self._detach()
        self.is_over = True
        self._out.clear()
        self._socket.close()

    def _apart(self, chunk: _Chunk, at: int) -> _Chunk:
        """Moves what was said last to a chunk of its own: the files that belong to it go with its first byte."""
        taken = [each for each in self._mouth.taken if each.descriptor >= 0]
        self._mouth.taken.clear()
        moved = _Chunk(chunk.content[at:], taken)
        del chunk.content[at:]
        if not chunk.content:
            self._out.pop()
        self._out.append(moved)
        self._out.append(_Chunk())
        return moved

    def _attached(self) -> bool:
        """Whether a loop runs, which then tells of the socket."""
        if self._loop is None or self._loop.is_closed():
            self._detach()
            try:
                self._loop = asyncio.get_running_loop()
            except RuntimeError:
                return False
            self._loop.add_reader(self._socket, self._read)
        return True

    def _detach(self) -> None:
        loop, self._loop = self._loop, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if loop is not None and not loop.is_closed():
            loop.remove_reader(self._socket)
            loop.remove_writer(self._socket)
        self._is_blocked = False

    def _write(self) -> None:
        self._timer = None
        self._send()
        if self._loop is None or self.is_over:
            return
        if self._out and not self._is_blocked:
            self._is_blocked = True
            self._loop.add_writer(self._socket, self._write)
        elif self._is_blocked and not self._out:
            self._is_blocked = False
            self._loop.remove_writer(self._socket)

    def _send(self) -> None:
        """As much as the socket takes."""
        try:
            while self._out:
                chunk = self._out[0]
                if chunk.taken:
                    descriptors = [each.descriptor for each in chunk.taken]
                    chunk.sent += socket.send_fds(self._socket, [chunk.content], descriptors)
                    chunk.taken.clear()
                elif chunk.content:
                    with memoryview(chunk.content) as view, view[chunk.sent :] as rest:
                        chunk.sent += self._socket.send(rest)
                if chunk.sent >= len(chunk.content):
                    self._out.popleft()
        except BlockingIOError:
            return
        except OSError:
            self._over()

    def _read(self) -> None:
        try:
            came = self._socket.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            came = b""
        if not came:
            self._over()
            return
        for message in self._ear.hear(came):
            self._heard(message)

    def _over(self) -> None:
        if not self.is_over:
            self.is_over = True
            self._out.clear()
            self._detach()
            self._ended()

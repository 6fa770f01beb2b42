"""A server that writes each piece of its answer only once the agent has had the one before it, and says when."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

WAIT_S_MAX = 30.0


@dataclass
class Steps:
    """One answer: a head, and pieces `pause_s` after the one before them was had; times are monotonic, in seconds."""

    head: bytes
    pieces: Sequence[bytes]
    pause_s: float = 0.0
    port: int = 0
    written_s: list[float] = field(default_factory=list)
    had_s: list[float] = field(default_factory=list)
    _had: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    async def asked(self, proxy: int) -> bytes:
        """Asks for it through the proxy on that port, has piece after piece as it was written, and gives the whole."""
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy)
        writer.write(f"GET {self.url} HTTP/1.1\r\nHost: upstream\r\nConnection: close\r\n\r\n".encode())
        try:
            async with asyncio.timeout(WAIT_S_MAX):
                answer = await reader.readuntil(b"\r\n\r\n")
                for piece in self.pieces:
                    answer += await reader.readexactly(len(piece))
                    self.had_s.append(time.monotonic())
                    self._had.release()
                return answer + await reader.read()
        finally:
            writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request."""
        await reader.readuntil(b"\r\n\r\n")
        writer.write(self.head)
        async with asyncio.timeout(WAIT_S_MAX):
            for piece in self.pieces:
                self.written_s.append(time.monotonic())
                writer.write(piece)
                await writer.drain()
                await self._had.acquire()
                await asyncio.sleep(self.pause_s)


@asynccontextmanager
async def stepping(head: bytes, *pieces: bytes, pause_s: float = 0.0) -> AsyncIterator[Steps]:
    """Serves one such answer, and closes the connection after it."""
    steps = Steps(head, pieces, pause_s)

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await steps.serve(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    steps.port = server.sockets[0].getsockname()[1]
    try:
        yield steps
    finally:
        server.close()

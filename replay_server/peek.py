"""Looks at what a paused connection has received without reading it (MSG_PEEK on a duplicate of its socket)."""

import asyncio
import os
import socket
from types import TracebackType

_BYTES_MAX = 16 * 1024


class Peek:
    """A second view of a transport's socket; works with asyncio's transports and uvloop's. Use it as a context manager.

    The duplicate has to be closed before the transport resets its connection: the last descriptor decides.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._socket = socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno()))
        self._socket.setblocking(False)

    def __enter__(self) -> "Peek":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    async def look(self) -> bytes:
        """What has arrived, at least a byte; nothing when the client will send no more. Raises OSError."""
        while True:
            try:
                return self._socket.recv(_BYTES_MAX, socket.MSG_PEEK)
            except BlockingIOError:
                await self._readable()

    def take(self, length: int) -> bytes:
        """Reads bytes that were seen. Raises OSError."""
        return self._socket.recv(length)

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[None] = loop.create_future()

        def note() -> None:
            if not arrived.done():
                arrived.set_result(None)

        loop.add_reader(self._socket.fileno(), note)
        try:
            await arrived
        finally:
            loop.remove_reader(self._socket.fileno())

"""The first bytes of a connection, which are kept until it is known who is to read on."""

import asyncio
from typing import cast


class Beginning(asyncio.Protocol):
    """Reads no more than it is asked for: between two looks the connection is paused, and whoever takes it over finds
    everything that comes later where it is, the end too.
    """

    def __init__(self) -> None:
        self._came = b""
        self.ended = False
        self._more: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begins."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.pause_reading()

    def data_received(self, data: bytes) -> None:
        """Keeps bytes."""
        assert self._transport is not None
        self._transport.pause_reading()
        self._came += data
        self._note()

    def eof_received(self) -> bool:
        """Takes note; what goes the other way may still go."""
        self.ended = True
        self._note()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Takes note."""
        self._transport = None
        self.ended = True
        self._note()

    async def look(self) -> bytes:
        """What has come and was not taken, at least a byte; nothing when the client will send no more."""
        while not self._came and not self.ended:
            assert self._transport is not None
            self._more = asyncio.get_running_loop().create_future()
            self._transport.resume_reading()
            await self._more
        return self._came

    def take(self, length: int) -> bytes:
        """So many of the bytes that have come, or all that there are."""
        taken, self._came = self._came[:length], self._came[length:]
        return taken

    def rest(self) -> bytes:
        """All bytes that have come and were not taken."""
        return self.take(len(self._came))

    def _note(self) -> None:
        if self._more is not None and not self._more.done():
            self._more.set_result(None)

"""Writes an answer to the client, piece by piece, and ends it as it has to end."""

import asyncio
import socket
import struct

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from replay_server.answer import Answer
from replay_server.modes import Pace
from store.core.model import Ended

RESET_AFTER_S = 0.05
_SMALL_BYTES = 64 * 1024
_NO_LINGER = struct.pack("ii", 1, 0)


class Sent(web.StreamResponse):
    """Tells aiohttp that the answer has been written already."""

    def __init__(self, *, keep_alive: bool) -> None:
        super().__init__()
        self._goes_on = keep_alive

    @property
    def keep_alive(self) -> bool | None:
        """Whether another request may follow on this connection."""
        return self._goes_on

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Writes nothing."""
        return request.writer

    async def write_eof(self, data: bytes = b"") -> None:
        """Writes nothing."""


async def send(answer: Answer, request: web.BaseRequest, pace: Pace, hang_s_max: float) -> Ended:
    """Writes `answer`; how that ended. A client that leaves cancels this."""
    transport = request.transport
    if transport is None:
        return "client_gone"
    try:
        await _write(answer, request, pace)
        match answer.ending:
            case "clean":
                return "complete"
            case "close":
                return "closed"  # what has been written is the whole answer: the connection ends after it
            case "hold":
                await asyncio.sleep(hang_s_max)
                await reset(transport)
                return "timeout"
            case "reset":
                await reset(transport)
                return "reset"
    except ConnectionError:
        return "client_gone"


async def _write(answer: Answer, request: web.BaseRequest, pace: Pace) -> None:
    head = answer.head
    if len(answer.pieces) == 1 and not pace.wait_s(answer.pieces[0].wait_us) and len(head) < _SMALL_BYTES:
        await put(head + answer.pieces[0].raw, request)
        return
    if head:
        await put(head, request)
    for piece in answer.pieces:
        wait_s = pace.wait_s(piece.wait_us)
        if wait_s:
            await asyncio.sleep(wait_s)
        await put(piece.raw, request)


async def put(raw: bytes, request: web.BaseRequest) -> None:
    """Writes bytes of an answer. Raises ConnectionError when the client has left."""
    if request.transport is None or request.transport.is_closing():
        raise ConnectionResetError("the client has left")
    await request.writer.write(raw)
    await request.writer.drain()


async def reset(transport: asyncio.Transport) -> None:
    """A TCP reset, after what was written before has reached the client: a reset may overtake and destroy it."""
    until = asyncio.get_running_loop().time() + 5
    # A transport tells nobody when its buffer has emptied.
    while transport.get_write_buffer_size() and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    await asyncio.sleep(RESET_AFTER_S)
    connection = transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    transport.abort()

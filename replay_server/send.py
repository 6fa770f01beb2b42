"""Writes an answer to the client, piece by piece, and ends it as it has to end."""

import asyncio
import socket
import struct
import sys

from replay_server.answer import Answer
from replay_server.caller import Line
from replay_server.modes import Pace
from store.core.model import Ended

if sys.platform.startswith("linux"):
    import fcntl
    import termios

RESET_AFTER_S = 0.05
TAKEN_S_MAX = 5.0  # a client that reads nothing for so long will not
_SMALL_BYTES = 64 * 1024
_NO_LINGER = struct.pack("ii", 1, 0)


async def send(answer: Answer, line: Line, pace: Pace, hang_s_max: float) -> Ended:
    """Writes `answer`; how that ended. A client that leaves cancels this."""
    transport = line.transport
    if transport is None:
        return "client_gone"
    try:
        await _write(answer, line, pace)
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


async def _write(answer: Answer, line: Line, pace: Pace) -> None:
    head = answer.head
    if len(answer.pieces) == 1 and not pace.wait_s(answer.pieces[0].wait_us) and len(head) < _SMALL_BYTES:
        await line.put(head + answer.pieces[0].raw)
        return
    if head:
        await line.put(head)
    for piece in answer.pieces:
        wait_s = pace.wait_s(piece.wait_us)
        if wait_s:
            await asyncio.sleep(wait_s)
        await line.put(piece.raw)


async def reset(transport: asyncio.Transport) -> None:
    """A TCP reset, after what was written before has reached the client: a reset may overtake and destroy it."""
    connection = transport.get_extra_info("socket")
    until = asyncio.get_running_loop().time() + TAKEN_S_MAX
    clear = 0
    # Nobody tells when all has been taken. Between two looks, TLS may hand on what it still had.
    while clear < 2 and asyncio.get_running_loop().time() < until:
        clear = 0 if transport.get_write_buffer_size() or _unsent_bytes(connection) else clear + 1
        await asyncio.sleep(0.01)
    await asyncio.sleep(RESET_AFTER_S)
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    transport.abort()


def _unsent_bytes(connection: socket.socket | None) -> int:
    """What the system has still to send, or the client to acknowledge: tcp(7), SIOCOUTQ. 0 where nobody can tell."""
    if connection is None or not sys.platform.startswith("linux"):
        return 0
    try:
        return int.from_bytes(fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder)
    except OSError:  # it has ended already
        return 0

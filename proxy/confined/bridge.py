"""The process that stays outside: carries allowed loopback ports in, passes signals on, hands the exit code back.

The listening sockets belong to the inner namespace, where they were made; they are sent here over a Unix socket
and accepted here. So the inner process holds no way out, and the agent cannot find one.
"""

import asyncio
import contextlib
import functools
import os
import socket
import struct
from collections.abc import Sequence
from typing import NoReturn

from proxy.agent.relay import SignalRelay
from proxy.agent.terminal import Terminal

_PIECE_BYTES = 1 << 16
_AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: closing resets the connection


def listen_inside(channel: socket.socket, ports: Sequence[int]) -> None:
    """Inside: listens on 127.0.0.1 for each allowed port, sends the listeners out, keeps none. Raises OSError."""
    with contextlib.ExitStack() as kept:
        listeners = [kept.enter_context(socket.create_server(("127.0.0.1", port))) for port in ports]
        socket.send_fds(channel, [b"."], [listener.fileno() for listener in listeners])


def stay_outside(child: int, channel: socket.socket, ports: Sequence[int], ferry: socket.socket | None) -> NoReturn:
    """Outside: serves the bridge until the inner process `child` ends, then ends with its exit code.

    Through `ferry`, in a live mode, it hands in the connections that it is asked for.
    """
    with SignalRelay(Terminal()) as relay:
        relay.connect(functools.partial(_send, child))
        code = os.waitstatus_to_exitcode(asyncio.run(_serve(child, channel, ports, ferry)))
    os._exit(code if code >= 0 else 128 - code)  # nothing of ours is left to clean up: the inner process did it


def _send(child: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, number)


async def _serve(child: int, channel: socket.socket, ports: Sequence[int], ferry: socket.socket | None) -> int:
    """Carries connections until the child ends; gives its wait status."""
    ended = asyncio.ensure_future(asyncio.to_thread(os.waitpid, child, 0))
    serving = asyncio.ensure_future(_hand_in(ferry)) if ferry is not None else None
    # A child that ended before it listened sends nothing, and there is nothing to carry.
    _, descriptors, _, _ = await asyncio.to_thread(socket.recv_fds, channel, 1, len(ports))
    for port, descriptor in zip(ports, descriptors, strict=False):
        await asyncio.start_server(functools.partial(_carry, port), sock=socket.socket(fileno=descriptor))
    status = (await ended)[1]
    if serving is not None:
        serving.cancel()
    return status


async def _hand_in(ferry: socket.socket) -> None:
    from proxy.outbound.dial import route_of
    from proxy.outbound.ferry import serve

    await serve(ferry, route_of(os.environ))


async def _carry(port: int, near: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
    """Carries one accepted connection to the same port outside; where nothing listens, it is reset."""
    try:
        far, far_out = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        near_out.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        near_out.transport.abort()
        return
    await asyncio.gather(carry_one_way(near, far_out), carry_one_way(far, near_out))
    far_out.close()
    near_out.close()


async def carry_one_way(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Carries to the end of the source and passes the end on; a failure ends the other side at once."""
    try:
        while piece := await source.read(_PIECE_BYTES):
            sink.write(piece)
            await sink.drain()
        sink.write_eof()
    except OSError:
        sink.transport.abort()

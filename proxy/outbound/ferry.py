"""Hands connections from outside into the confinement: one is asked for by address, and comes as a descriptor.

The two ends are sockets of a pair that was made before the confinement. The inner one is held by the replay server
alone, whose memory and descriptors the agent cannot reach; no address leads to it.
"""

import asyncio
import functools
import json
import socket
import struct
from collections.abc import Awaitable, Callable

from proxy.outbound.dial import dial
from store.core.model import ErrorKind
from store.egress import Route, Unreached, UnusableProxy

_MESSAGE_BYTES_MAX = 64 * 1024
_DESCRIPTOR = struct.Struct("@i")
_ROOM_BYTES = socket.CMSG_SPACE(_DESCRIPTOR.size)  # for one descriptor


def pair() -> tuple[socket.socket, socket.socket]:
    """The outer and the inner end; message borders are kept (unix(7), SOCK_SEQPACKET)."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


class Ferry:
    """The inner end. What comes is closed when a program is started: the agent must not inherit a connection.

    (`socket.recv_fds` would do, if it passed its flags on.)
    """

    def __init__(self, channel: socket.socket) -> None:
        channel.setblocking(False)
        self._channel = channel
        self._asked: dict[int, asyncio.Future[socket.socket]] = {}
        self._number = 0

    async def dial(self, scheme: str, host: str, port: int) -> socket.socket:
        """A connection that was opened outside. Raises Unreached."""
        loop = asyncio.get_running_loop()
        if not self._asked:
            loop.add_reader(self._channel.fileno(), self._take)
        self._number += 1
        number = self._number
        waiting: asyncio.Future[socket.socket] = loop.create_future()
        self._asked[number] = waiting
        await loop.sock_sendall(self._channel, json.dumps([number, scheme, host, port]).encode())
        try:
            return await waiting
        finally:
            del self._asked[number]
            if not self._asked:
                loop.remove_reader(self._channel.fileno())

    def _take(self) -> None:
        try:
            raw, handed, _, _ = self._channel.recvmsg(_MESSAGE_BYTES_MAX, _ROOM_BYTES, socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return
        if not raw:
            self._fail_all()
            return
        number, kind, said = json.loads(raw)
        opened = socket.socket(fileno=_DESCRIPTOR.unpack(handed[0][2])[0]) if handed else None
        waiting = self._asked.get(number)
        if waiting is None or waiting.done():
            if opened is not None:
                opened.close()
        elif opened is not None:
            opened.setblocking(False)
            waiting.set_result(opened)
        else:
            waiting.set_exception(Unreached(kind, said))

    def _fail_all(self) -> None:
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_exception(Unreached("connect", "the process outside is gone"))


async def serve(channel: socket.socket, route: Route) -> None:
    """The outer end: opens what is asked for until the inner one is closed."""
    channel.setblocking(False)
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()
    while raw := await loop.sock_recv(channel, _MESSAGE_BYTES_MAX):
        task = asyncio.create_task(_answer(channel, route, raw))
        tasks.add(task)
        task.add_done_callback(tasks.discard)


async def _answer(channel: socket.socket, route: Route, raw: bytes) -> None:
    number, scheme, host, port = json.loads(raw)
    kind: ErrorKind
    try:
        opened = await reach(route)(scheme, host, port)
    except Unreached as error:
        kind, said = error.kind, str(error)
        socket.send_fds(channel, [json.dumps([number, kind, said]).encode()], [])
        return
    with opened:
        socket.send_fds(channel, [json.dumps([number, "", ""]).encode()], [opened.fileno()])


def reach(route: Route) -> Callable[[str, str, int], Awaitable[socket.socket]]:
    """The same without a confinement: what opens a connection for (scheme, host, port) from here."""

    async def opened(scheme: str, host: str, port: int) -> socket.socket:
        try:
            via = route(scheme, host, port)
        except UnusableProxy as error:
            raise Unreached("connect", str(error)) from error
        connection = await asyncio.to_thread(functools.partial(dial, host, port, via))
        connection.setblocking(False)
        return connection

    return opened

"""Tunnels to listeners of the agent's own processes: the only connections that a replay makes, all to loopback."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import cast

from replay_server.beginning import Beginning
from replay_server.target import Authority

type Ended = Callable[[int, int, int], None]


def is_loopback(host: str) -> bool:
    """Whether a host (as compared: lower case, no brackets) is this machine's own, by name or address."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(slots=True, eq=False)
class _End(asyncio.Protocol):
    """One end of a tunnel: what arrives here goes out at the other."""

    transport: asyncio.Transport
    other: "_End | None" = None
    received_bytes: int = 0
    ended: bool = False
    lost: asyncio.Event | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.received_bytes += len(data)
        if self.other is not None:
            self.other.transport.write(data)

    def eof_received(self) -> bool:
        self.ended = True
        if self.other is None:
            return True
        if self.other.ended:  # neither will say more, so there is nothing to keep open
            self.other.transport.close()
            return False
        if self.other.transport.can_write_eof():
            self.other.transport.write_eof()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        if self.other is not None:
            self.other.transport.close()
        if self.lost is not None:
            self.lost.set()

    def pause_writing(self) -> None:
        if self.other is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None:
            self.other.transport.resume_reading()


async def reach(place: Authority) -> asyncio.Transport | None:
    """A paused connection to a loopback port, None where nothing answers there, or where it is no loopback.

    Its protocol is a `Beginning`: a server that speaks first (HTTP/2 does) may be heard before anybody pauses it.
    """
    if not is_loopback(place.host):
        return None
    loop = asyncio.get_running_loop()
    host = "127.0.0.1" if place.host.endswith("localhost") else place.host
    try:
        transport, _ = await loop.create_connection(Beginning, host, place.port)
    except OSError:
        return None
    return transport


async def tunnel(client: asyncio.Transport, listener: asyncio.Transport, first: bytes, ended: Ended) -> None:
    """Joins two paused transports until either is closed; `first` goes to the listener before all else.

    What the listener of `reach` has said already goes to the client.
    """
    began = time.monotonic_ns()
    heard = cast(Beginning, listener.get_protocol())
    lost = asyncio.Event()
    near, far = _End(client, lost=lost), _End(listener, lost=lost)
    near.other, far.other = far, near
    client.set_protocol(near)
    listener.set_protocol(far)
    if first:
        listener.write(first)
    if early := heard.rest():
        far.data_received(early)
    if heard.ended:
        far.eof_received()
    if client.is_closing() or listener.is_closing():
        lost.set()  # nobody will be told of it again
    else:
        client.resume_reading()
        listener.resume_reading()
    try:
        await lost.wait()
    finally:
        client.close()
        listener.close()
        ended(near.received_bytes + len(first), far.received_bytes, (time.monotonic_ns() - began) // 1000)

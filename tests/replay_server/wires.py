"""Raw connections to a replay server: what goes over the wire, piece by piece."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

from replay_server.server import ReplayServer
from tests.replay_server.recording import Place


@dataclass
class Wire(asyncio.Protocol):
    """A client that keeps every piece as it arrived; `ended` is how that ended: closed, or an error's name."""

    pieces: list[bytes] = field(default_factory=list)
    ended: str = ""
    transport: asyncio.Transport | None = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is none

    def data_received(self, data: bytes) -> None:
        self.pieces.append(data)
        self._changed.set()

    def eof_received(self) -> None:
        self.ended = self.ended or "closed"
        self._changed.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = type(exc).__name__ if exc else self.ended or "closed"
        self._changed.set()

    @property
    def received(self) -> bytes:
        return b"".join(self.pieces)

    def send(self, raw: bytes) -> None:
        assert self.transport is not None
        self.transport.write(raw)

    def close(self) -> None:
        assert self.transport is not None
        self.transport.close()

    async def until(self, end: bytes) -> bytes:
        """Everything received, once it ends so."""
        await self._wait(lambda: self.received.endswith(end))
        return self.received

    async def end(self) -> str:
        """How the connection ended, once it has."""
        await self._wait(lambda: bool(self.ended))
        return self.ended

    async def _wait(self, done: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not done():
                if self.ended and not done():
                    raise AssertionError(f"the connection ended ({self.ended}) after {self.received[-2000:]!r}")
                await self._changed.wait()
                self._changed.clear()


async def dial(server: ReplayServer) -> Wire:
    """A plain connection to the replay server."""
    loop = asyncio.get_running_loop()
    _, wire = await loop.create_connection(Wire, "127.0.0.1", server.port)
    return wire


async def dial_through(
    server: ReplayServer, place: Place, authority: str, *, name: str | None = None, protocols: Sequence[str] = ()
) -> Wire:
    """A TLS connection to `authority` through CONNECT."""
    loop = asyncio.get_running_loop()
    wire = await dial(server)
    wire.send(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
    await wire.until(b"\r\n\r\n")
    assert wire.transport is not None
    inside = Wire()
    context = ssl.create_default_context(cafile=place.trusted)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    if protocols:
        context.set_alpn_protocols(list(protocols))
    host = name or authority.rpartition(":")[0]
    secured = await loop.start_tls(wire.transport, inside, context, server_hostname=host)
    assert secured is not None
    inside.transport = secured
    return inside


def records(server: ReplayServer, place: Place, authority: str, asked: bytes, end: bytes) -> list[bytes]:
    """What comes for one request, TLS record by TLS record: a record is one write of the server. Blocks."""
    with socket.create_connection(("127.0.0.1", server.port), 10) as plain:
        plain.sendall(f"CONNECT {authority} HTTP/1.1\r\n\r\n".encode())
        plain.recv(1000)
        context = ssl.create_default_context(cafile=place.trusted)
        with context.wrap_socket(plain, server_hostname=authority.rpartition(":")[0]) as secured:
            secured.sendall(asked)
            received = [secured.recv(65536)]
            while not received[-1].endswith(end):
                received.append(secured.recv(65536))
    return received


def asking(path: str, *, method: str = "GET", version: str = "1.1", more: str = "") -> bytes:
    """The head of a request; `more` are further header lines."""
    return f"{method} {path} HTTP/{version}\r\nHost: api.example.com\r\n{more}\r\n".encode()

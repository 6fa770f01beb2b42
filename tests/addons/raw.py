"""HTTP by hand, for tests that must send and see exact bytes: through the recorder, in a CONNECT, and as a server."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

type Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
type Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

ANSWER_S_MAX = 20.0


async def ask(port: int, raw: bytes) -> bytes:
    """Send bytes to the recorder and read until it closes; the request should say `Connection: close`."""
    async with connected(port) as (reader, writer):
        writer.write(raw)
        async with asyncio.timeout(ANSWER_S_MAX):
            return await reader.read()


def get(url: str, *fields: bytes, method: bytes = b"GET", body: bytes = b"") -> bytes:
    """An absolute-form request on a connection of its own, with a length where it has a body."""
    lines = [method + b" " + url.encode() + b" HTTP/1.1", b"Host: upstream", b"Connection: close", *fields]
    if body:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Streams]:
    """A connection to a port of this machine, closed at the end whatever happened to it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


@asynccontextmanager
async def tunnelled(port: int, target: str, *fields: str) -> AsyncIterator[Streams]:
    """A connection through the recorder's CONNECT; raises ConnectionError with the answer when it is refused."""
    async with connected(port) as (reader, writer):
        head = "".join(f"{field}\r\n" for field in fields)
        writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{head}\r\n".encode())
        async with asyncio.timeout(ANSWER_S_MAX):
            answer = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in answer.split(b"\r\n")[0]:
            raise ConnectionError(answer.decode("latin-1"))
        yield reader, writer


@asynccontextmanager
async def intercepted(port: int, target: str, root: Path, *fields: str) -> AsyncIterator[Streams]:
    """The same with TLS inside, trusting `root`."""
    async with tunnelled(port, target, *fields) as (reader, writer):
        await writer.start_tls(ssl.create_default_context(cafile=str(root)), server_hostname=target.rpartition(":")[0])
        yield reader, writer


@asynccontextmanager
async def served(serve: Serve, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A server whose every connection is given to `serve`; the port that it listens on."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the other side left, which some tests are about
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A `serve` of no protocol: says everything back in capitals."""
    while piece := await reader.read(65_536):
        writer.write(piece.upper())
        await writer.drain()


async def until(condition: Callable[[], bool], seconds_max: float = 30.0) -> None:
    """Wait until something that happens elsewhere has happened; fails with TimeoutError."""
    async with asyncio.timeout(seconds_max):
        while not condition():  # noqa: ASYNC110  # what is waited for happens in other threads and processes
            await asyncio.sleep(0.02)

"""One recorder for many small cases of the wire: each case has a run of its own name."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from store.core.errors import UnknownRun
from store.exchange import Exchange
from tests.addons.raw import Streams, ask, served, until
from tests.addons.recording import Recording

RUN = b"X-Edgetape-Run: "


@dataclass
class Scripted:
    """A server that writes the same pieces at every request, and what it was sent."""

    pieces: Sequence[bytes]
    port: int = 0
    heads: list[bytes] = field(default_factory=list)
    rest: bytes = b""
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request and ends the connection, once all that is said here has been written."""
        self.heads.append(await reader.readuntil(b"\r\n\r\n"))
        try:
            for piece in self.pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0.01)
        finally:
            self.closed.set()


@asynccontextmanager
async def scripted(*pieces: bytes) -> AsyncIterator[Scripted]:
    """A server of this one answer."""
    server = Scripted(pieces)
    async with served(server.serve) as port:
        server.port = port
        yield server


@asynccontextmanager
async def echoing(content_type: bytes, answer_fields: bytes = b"") -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server that gives each body of known length back; its port, and the bodies that it saw."""
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        body = await reader.readexactly(length)
        seen.append(body)
        kind = b"Content-Type: " + content_type + b"\r\n" + answer_fields
        writer.write(b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (kind, length, body))
        await writer.drain()

    async with served(serve) as port:
        yield port, seen


async def exchanged(made: Recording, run: str, raw: bytes) -> tuple[bytes, Exchange]:
    """What came back for one request on a connection of its own, and the one exchange of this run."""
    end = raw.index(b"\r\n") + 2
    answer = await ask(made.recorder.port, raw[:end] + RUN + run.encode() + b"\r\n" + raw[end:])
    return answer, await recorded(made, run)


async def recorded(made: Recording, run: str) -> Exchange:
    """The one exchange of a run, once it has its outcome."""
    await until(lambda: bool(begun(made, run)) and begun(made, run)[0].outcome is not None)
    (exchange,) = made.exchanges(run)
    return exchange


def begun(made: Recording, run: str) -> list[Exchange]:
    """What there is of a run, which may not have been opened yet."""
    try:
        return made.exchanges(run)
    except UnknownRun:
        return []


async def write_slowly(streams: Streams, *pieces: bytes) -> None:
    """Each piece in a packet of its own."""
    for piece in pieces:
        streams[1].write(piece)
        await streams[1].drain()
        await asyncio.sleep(0.02)

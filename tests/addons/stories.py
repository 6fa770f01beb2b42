"""Answers that are framed, cut and ended in every way, told in step: a server goes on once its agent has what came."""

import asyncio
import random
import ssl
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from tests.addons.raw import ANSWER_S_MAX

OK = b"HTTP/1.1 200 OK\r\n"
KINDS = ("chunked", "extended", "length", "close", "trailers")
ENDS = ("whole", "cut by the server", "cut by the agent", "malformed")


@dataclass
class Story:
    """One answer: what its server writes, and how much of the body an agent has had before it goes on."""

    name: str
    head: bytes
    writes: list[tuple[bytes, int]]
    end: str
    seen: bytes = b""
    gone: bool = False
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, writer: asyncio.StreamWriter) -> None:
        """Writes one part after another, each once the agent has had what it can have of those before."""
        writer.write(self.head)
        due = 0
        for part, length in self.writes:
            async with asyncio.timeout(ANSWER_S_MAX):
                while len(self.body) < due and not self.gone:
                    self.moved.clear()
                    await self.moved.wait()
            if self.gone:
                return
            writer.write(part)
            due += length
            if not length:
                await asyncio.sleep(0.01)  # nothing tells when this has come
        await writer.drain()
        if self.end == "cut by the server":
            await asyncio.sleep(0.02)
            writer.transport.abort()

    async def hear(self, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
        """Reads what comes, to the end of the connection or as far as this agent wants it."""
        half = sum(length for _, length in self.writes) // 2
        with suppress(ConnectionError, ssl.SSLError):
            while piece := await streams[0].read(65_536):
                self.seen += piece
                self.moved.set()
                if self.end == "cut by the agent" and len(self.body) >= half:
                    break
        self.gone = True
        self.moved.set()

    @property
    def body(self) -> bytes:
        """What the agent has had of the body."""
        head, _, rest = self.seen.partition(b"\r\n\r\n")
        return b"".join(undone(rest)) if b"chunked" in head.lower() else rest


def undone(data: bytes) -> Iterator[bytes]:
    """What is in chunks, as far as it has come."""
    while (end := data.find(b"\r\n")) >= 0 and (size := int(data[:end].partition(b";")[0], 16)):
        yield data[end + 2 : end + 2 + size]
        data = data[end + 4 + size :]


def stories(seed: int) -> list[Story]:
    """One for each way of framing and each end, cut by chance."""
    chance = random.Random(seed)
    return [story(chance, kind, end) for kind in KINDS for end in ENDS]


def story(chance: random.Random, kind: str, end: str) -> Story:
    pieces = [chance.randbytes(chance.choice((1, 30, 300, 5_000))) for _ in range(8)]
    length = sum(map(len, pieces))
    fields = {"length": b"Content-Length: %d\r\n" % length, "close": b"Connection: close\r\n"}
    writes: list[tuple[bytes, int]] = []
    for piece in pieces:
        if kind in fields:
            writes.append((piece, len(piece)))
            continue
        framed = b"%x%s\r\n%s\r\n" % (len(piece), b";n=1" if kind == "extended" else b"", piece)
        start, at = len(framed) - len(piece) - 2, chance.choice((1, 2, chance.randrange(1, len(framed))))
        before = min(len(piece), max(0, at - start))
        writes += [(framed[:at], before), (framed[at:], len(piece) - before)]
    last = {"trailers": b"0\r\nX-Sum: 1\r\n\r\n"}.get(kind, b"" if kind in fields else b"0\r\n\r\n")
    if end in ("cut by the server", "malformed"):
        del writes[-2:]
        last = b"no chunk\r\n" if end == "malformed" and kind not in fields else b""
    if kind == "length" and end == "whole":
        writes[-1] = (writes[-1][0], 0)  # a tee may hold the last one
    head = OK + fields.get(kind, b"Transfer-Encoding: chunked\r\n") + b"Content-Type: text/event-stream\r\n\r\n"
    return Story(f"{kind}, {end}", head, [*writes, (last, 0)] if last else writes, end)

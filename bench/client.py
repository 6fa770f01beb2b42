"""The clients of a measured exchange: a process of its own that does as little as it can.

python -m bench.client ORDER          asks through a proxy, as an `Order` in JSON says; prints `begun`, then `Figures`
"""

import asyncio
import json
import random
import re
import ssl
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import count, cycle, islice, repeat
from typing import Literal

import uvloop

from bench.upstream import CHAT, EVENTS, HEAD_END, LENGTH, conversation

_SENT = re.compile(rb'"sent": ?(\d+)')
_LONG_BYTES = 1 << 20  # what is as long takes long to make up: it is sent again and again
BEGUN = "begun"
_APART_S = 0.02  # as far the streams of one load begin apart: agents do not ask in the same millisecond


@dataclass(frozen=True, slots=True)
class Order:
    """What a client is to do: `fresh` opens a connection for every request; `stream` reads event streams.

    `repeated_bytes` of each request, and of each answer, are the same, as a conversation repeats itself.
    """

    kind: Literal["keep", "fresh", "stream"]
    proxy: tuple[str, int] | None
    target: tuple[str, int]
    trusted: str
    clients: int
    seconds: float
    request_bytes: int = 2048
    answer_bytes: int = 2048
    repeated_bytes: int = 0
    chunks: int = 200
    chunk_ms: int = 5


@dataclass(slots=True)
class Figures:
    """What a client saw; times in milliseconds."""

    exchanges: int = 0
    seconds: float = 0.0
    took_ms: list[float] = field(default_factory=list)
    first_ms: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


class Asking(asyncio.Protocol):
    """A connection of a client: asks again as soon as it was answered."""

    def __init__(self, heard: Callable[[bytes], None]) -> None:
        self._heard = heard
        self._lost: Callable[[], None] = lambda: None

    def data_received(self, data: bytes) -> None:
        """Some bytes of an answer."""
        self._heard(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """The proxy has ended the connection."""
        self._lost()


class Line:
    """A connection to the target, through the proxy if there is one."""

    def __init__(self, order: Order, context: ssl.SSLContext, number: int) -> None:
        self.number = number
        self._order = order
        self._context = context
        self._seen = bytearray()
        self._wanted: Callable[[], bool] = lambda: False
        self._waiter: asyncio.Future[None] | None = None
        self.transport: asyncio.Transport | None = None

    async def open(self) -> None:
        """Connects, and speaks TLS with the target."""
        loop = asyncio.get_running_loop()
        protocol = Asking(self._hear)
        protocol._lost = self._end
        host, port = self._order.target
        transport, _ = await loop.create_connection(lambda: protocol, *(self._order.proxy or self._order.target))
        self.transport = transport
        if self._order.proxy is not None:
            target = f"{host}:{port}"
            transport.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
            await self._until(lambda: HEAD_END in self._seen)
            if b" 200 " not in self._seen[:32]:
                raise ConnectionError(bytes(self._seen[:200]))
            self._seen.clear()
        secure = await loop.start_tls(transport, protocol, self._context, server_hostname=host)
        assert secure is not None
        self.transport = secure

    async def ask(self, request: bytes) -> None:
        """Sends a request, and returns when the answer is whole."""
        assert self.transport is not None
        self._seen.clear()
        self.transport.write(request)
        await self._until(self._is_whole)

    async def stream(self, request: bytes, figures: Figures) -> None:
        """Sends a request, and notes how long each event of the answer was under way."""
        assert self.transport is not None
        self._seen.clear()
        done = 0
        started = False

        def look() -> bool:
            nonlocal done, started
            now = time.monotonic_ns()
            for sent in _SENT.finditer(self._seen, done):
                took = (now - int(sent[1])) / 1e6
                (figures.took_ms if started else figures.first_ms).append(took)
                started = True
                done = sent.end()
            return b"\r\n0\r\n\r\n" in self._seen[-16:]

        self.transport.write(request)
        await self._until(look)
        figures.exchanges += 1

    def close(self) -> None:
        """Ends the connection."""
        if self.transport is not None:
            self.transport.abort()

    def _is_whole(self) -> bool:
        end = self._seen.find(HEAD_END)
        length = LENGTH.search(self._seen, 0, end) if end >= 0 else None
        return length is not None and len(self._seen) >= end + 4 + int(length[1])

    async def _until(self, wanted: Callable[[], bool]) -> None:
        self._wanted, self._waiter = wanted, asyncio.get_running_loop().create_future()
        await self._waiter
        self._waiter = None

    def _hear(self, data: bytes) -> None:
        self._seen += data
        if self._waiter is not None and not self._waiter.done() and self._wanted():
            self._waiter.set_result(None)

    def _end(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(ConnectionError("the connection ended"))


def requests(order: Order) -> Iterator[bytes]:
    """The requests that a client sends one after another: no two are the same, but for what is to be repeated."""
    host = b"%s:%d" % (order.target[0].encode(), order.target[1])
    if order.kind == "stream":
        path = f"{EVENTS}?chunks={order.chunks}&ms={order.chunk_ms}".encode()
        return repeat(b"GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n" % (path, host))
    path = f"{CHAT}?bytes={order.answer_bytes}&repeated={order.repeated_bytes}".encode()
    head = (
        b"POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer sk-bench-Xq7Lw2Rt9Vb4Nc8Kd3Fz\r\n"
        b"User-Agent: Client/Python 1.99.1\r\nAccept: application/json\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n"
    )
    source = random.Random()  # noqa: S311  # other words in each round
    told = (conversation(order.request_bytes, source, order.repeated_bytes) for _ in count())
    asked = (head % (path, host, len(body)) + body for body in told)
    return cycle(islice(asked, 2)) if order.request_bytes >= _LONG_BYTES else asked


async def ask(order: Order) -> Figures:
    """Does what is ordered. Connections that are kept are opened before the clock starts, of which a line tells."""
    context = ssl.create_default_context(cafile=order.trusted)
    asked, figures = requests(order), Figures()
    lines = [Line(order, context, number) for number in range(order.clients)]
    if order.kind != "fresh":
        for line in lines:
            await line.open()
            if order.kind == "keep":
                await line.ask(next(asked))
    print(BEGUN, flush=True)  # noqa: T201  # read by the caller
    begun = time.monotonic()
    until = begun + order.seconds
    work = {"keep": _keep, "fresh": _fresh, "stream": _stream}[order.kind]
    for outcome in await asyncio.gather(*(work(line, asked, figures, until) for line in lines), return_exceptions=True):
        if isinstance(outcome, BaseException):
            figures.failures.append(repr(outcome))
    figures.seconds = time.monotonic() - begun
    for line in lines:
        line.close()
    return figures


async def _keep(line: Line, asked: Iterator[bytes], figures: Figures, until: float) -> None:
    while time.monotonic() < until:
        request, before = next(asked), time.monotonic()
        await line.ask(request)
        figures.took_ms.append((time.monotonic() - before) * 1000)
        figures.exchanges += 1


async def _fresh(line: Line, asked: Iterator[bytes], figures: Figures, until: float) -> None:
    while time.monotonic() < until:
        request, before = next(asked), time.monotonic()
        await line.open()
        await line.ask(request)
        line.close()
        figures.took_ms.append((time.monotonic() - before) * 1000)
        figures.exchanges += 1


async def _stream(line: Line, asked: Iterator[bytes], figures: Figures, until: float) -> None:
    async with asyncio.timeout(until - time.monotonic()):
        await asyncio.sleep(line.number * _APART_S)
        await line.stream(next(asked), figures)


def main(told: str) -> None:
    """Does what is ordered, and prints what was seen."""
    given = json.loads(told)
    given["proxy"] = tuple(given["proxy"]) if given["proxy"] else None
    print(json.dumps(asdict(uvloop.run(ask(Order(**given))))))  # noqa: T201  # read by the caller


if __name__ == "__main__":
    main(sys.argv[1])

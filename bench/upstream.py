"""The server behind a measured exchange: a process of its own that does as little as it can.

    python -m bench.upstream CERTIFICATE          prints its port; ends when its stdin does

POST /v1/chat/completions?bytes=N&repeated=R is answered at once with N bytes of JSON, other words each time but for
the first R; and GET /v1/events?chunks=N&ms=M with an event stream whose chunks say when they were sent, by the
monotonic clock that all processes of a machine share.
"""

import asyncio
import random
import re
import ssl
import sys
import time
from functools import cache
from typing import ClassVar, cast

import uvloop

CHAT, EVENTS = "/v1/chat/completions", "/v1/events"
HEAD_END = b"\r\n\r\n"
LENGTH = re.compile(rb"(?im)^content-length: *(\d+)")
_ASKED = re.compile(rb"[?&](bytes|repeated|chunks|ms)=(\d+)")
_LETTERS = b"eeeeeeetttttaaaaoooiiinnnsssrrhhlldducmfygwpbvkxqjz" + 8 * b" "
_SPELLING = bytes(_LETTERS[value % len(_LETTERS)] for value in range(256))
_WORD_CHARS_MAX = 9


def conversation(size: int, source: random.Random, repeated: int = 0) -> bytes:
    """A chat request, or answer, of `size` bytes: words that are no two times the same but for the first ones."""
    frame = b'{"model":"model-1","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"%s"}]}'
    told = max(0, size - len(frame) + 2)
    begun = _begun(repeated)[:told]
    return frame % (begun + _words(told - len(begun), source))


@cache
def _begun(size: int) -> bytes:
    return _words(size, random.Random(1))  # noqa: S311  # the same text each time


def _words(size: int, source: random.Random) -> bytes:
    """Some letters, as often as in English, with spaces between."""
    text = bytearray(source.randbytes(size).translate(_SPELLING))
    spaces = slice(_WORD_CHARS_MAX, None, _WORD_CHARS_MAX + 1)
    text[spaces] = b" " * len(text[spaces])
    return bytes(text)


class Upstream(asyncio.Protocol):
    """Reads requests, and answers each at once."""

    source: ClassVar[random.Random] = random.Random()  # noqa: S311  # no answer is given twice

    def __init__(self) -> None:
        self._seen = b""
        self._transport: asyncio.Transport | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A connection was accepted."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Some bytes of a request."""
        self._seen += data
        while (end := self._seen.find(HEAD_END)) >= 0:
            length = LENGTH.search(self._seen, 0, end)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self._seen) < whole:
                return
            asked = {name: int(value) for name, value in _ASKED.findall(self._seen[: self._seen.find(b"\r\n")])}
            self._seen = self._seen[whole:]
            self._answer(asked)

    def _answer(self, asked: dict[bytes, int]) -> None:
        assert self._transport is not None
        if b"chunks" in asked:
            task = asyncio.get_running_loop().create_task(self._stream(asked[b"chunks"], asked[b"ms"] / 1000))
            self._tasks.add(task)
            return
        body = conversation(asked.get(b"bytes", 0), self.source, asked.get(b"repeated", 0))
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        self._transport.write(head + body)

    async def _stream(self, chunks: int, every_s: float) -> None:
        assert self._transport is not None
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        due = time.monotonic()
        for number in range(chunks):
            event = b'data: {"number": %d, "sent": %020d, "delta": {"content": "word "}}\n\n' % (
                number,
                time.monotonic_ns(),
            )
            self._transport.write(b"%x\r\n%s\r\n" % (len(event), event))
            due += every_s
            await asyncio.sleep(max(0.0, due - time.monotonic()))
        self._transport.write(b"0\r\n\r\n")


async def serve(certificate: str) -> None:
    """Answers until stdin ends."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Upstream, "127.0.0.1", 0, ssl=context, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201  # read by the caller
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))

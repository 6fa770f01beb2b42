"""HTTP/1.1 by hand: reads requests exactly as they came, writes answers exactly as they are described.

- A request keeps its head byte for byte, its body without transfer coding, and the chunk lengths beside it.
- An answer says its framing, chunk borders, pauses and ending; nothing is added to its headers but framing.
- Source of the rules: RFC 9112.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qsl, urlsplit

Headers = tuple[tuple[bytes, bytes], ...]
Ending = Literal["reset", "close", "hang"]
Framing = Literal["length", "chunked", "close", "raw", "none"]

HEAD_BYTES_MAX = 8 * 1024 * 1024
HANG_S_MAX = 120.0


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it stood on the wire."""

    head: bytes
    body: bytes = b""
    chunk_lengths: tuple[int, ...] = ()
    trailers: bytes = b""
    tls: bool = False

    @property
    def line(self) -> bytes:
        return self.head.split(b"\r\n", 1)[0]

    @property
    def method(self) -> str:
        return self.line.split(b" ")[0].decode("ascii")

    @property
    def target(self) -> str:
        return self.line.split(b" ")[1].decode("latin-1")

    @property
    def path(self) -> str:
        """The path of the target without its query, also for an absolute-form target."""
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def headers(self) -> Headers:
        """Name and value pairs in the order and the spelling of the wire."""
        return tuple(_pair(line) for line in self.head.split(b"\r\n")[1:] if line)

    def header(self, name: str) -> str | None:
        """The first value of that header (any case), or None."""
        wanted = name.lower().encode("ascii")
        return next((value.decode("latin-1") for key, value in self.headers if key.lower() == wanted), None)


@dataclass(frozen=True, slots=True)
class Cut:
    """An ending that is no clean one: after so many body bytes (None: before the status line)."""

    how: Ending
    after_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: each piece is one write, and one chunk when the framing is chunked.

    `raw` framing writes the pieces as they are and leaves framing to `headers`; `none` has no body.
    """

    status: int = 200
    reason: bytes = b"OK"
    headers: Headers = ()
    pieces: tuple[bytes, ...] = ()
    framing: Framing = "length"
    pause_s: float = 0.0
    trailers: Headers = ()
    before: bytes = b""
    cut: Cut | None = None
    half_close: bool = False

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)


def _pair(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    return name, value.strip(b" \t")


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, tls: bool) -> Request | None:
    """Read one request, answering `Expect: 100-continue`; None when the peer has nothing more to say.

    Raises asyncio.IncompleteReadError when the peer leaves in the middle of a request.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    request = Request(head, tls=tls)
    if (request.header("expect") or "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await writer.drain()
    if "chunked" in (request.header("transfer-encoding") or "").lower():
        return await _read_chunked(reader, request)
    length = int(request.header("content-length") or 0)
    return Request(head, await reader.readexactly(length), tls=tls)


async def _read_chunked(reader: asyncio.StreamReader, request: Request) -> Request:
    chunks: list[bytes] = []
    while True:
        size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
        if size == 0:
            break
        chunks.append(await reader.readexactly(size))
        await reader.readexactly(2)
    trailers = b""
    while (line := await reader.readuntil(b"\r\n")) != b"\r\n":
        trailers += line
    lengths = tuple(len(chunk) for chunk in chunks)
    return Request(request.head, b"".join(chunks), lengths, trailers, request.tls)


def head_bytes(answer: Answer) -> bytes:
    """The status line and headers of an answer, with its framing header last."""
    headers = list(answer.headers)
    if answer.framing == "length":
        headers.append((b"Content-Length", str(len(answer.body)).encode()))
    elif answer.framing == "chunked":
        headers.append((b"Transfer-Encoding", b"chunked"))
    elif answer.framing == "close":
        headers.append((b"Connection", b"close"))
    lines = [b"HTTP/1.1 %d %s" % (answer.status, answer.reason)]
    lines += [name + b": " + value for name, value in headers]
    return answer.before + b"\r\n".join(lines) + b"\r\n\r\n"


async def write_answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer, bodiless: bool = False
) -> bool:
    """Write an answer; True when the connection may carry another request.

    `bodiless` (HEAD) sends the head alone. Raises ConnectionError when the peer has gone.
    """
    if answer.cut is not None and answer.cut.after_bytes is None:
        await _end_badly(reader, writer, answer.cut)
        return False
    await _send(writer, head_bytes(answer))
    if bodiless or answer.framing == "none":
        return True
    await _write_pieces(writer, answer)
    if answer.cut is not None:
        await _end_badly(reader, writer, answer.cut)
        return False
    if answer.framing == "chunked":
        last = b"".join(name + b": " + value + b"\r\n" for name, value in answer.trailers)
        await _send(writer, b"0\r\n" + last + b"\r\n")
    if answer.half_close:
        await _half_close(reader, writer)
        return False
    return answer.framing not in ("close", "raw")


async def _write_pieces(writer: asyncio.StreamWriter, answer: Answer) -> None:
    """Write the body, or as much of it as the cut leaves."""
    left = len(answer.body) if answer.cut is None else answer.cut.after_bytes or 0
    for number, piece in enumerate(answer.pieces):
        if number and answer.pause_s:
            await asyncio.sleep(answer.pause_s)
        part, left = piece[:left], max(0, left - len(piece))
        if part:
            framed = b"%x\r\n%s\r\n" % (len(part), part) if answer.framing == "chunked" else part
            await _send(writer, framed)


async def _send(writer: asyncio.StreamWriter, piece: bytes) -> None:
    writer.write(piece)
    await writer.drain()


async def _end_badly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cut: Cut) -> None:
    if cut.how == "hang":
        await _until_gone(reader, HANG_S_MAX)
    elif cut.how == "reset":
        await asyncio.sleep(0.05)  # the peer reads what it was sent before the reset overtakes it
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()


async def _half_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Say that nothing more will be sent, and keep reading until the peer closes; over TLS, just close."""
    if not writer.can_write_eof():
        return
    writer.write_eof()
    await _until_gone(reader, 5.0)


async def _until_gone(reader: asyncio.StreamReader, seconds_max: float) -> None:
    try:
        async with asyncio.timeout(seconds_max):
            while await reader.read(65_536):
                pass
    except (TimeoutError, ConnectionError):
        return

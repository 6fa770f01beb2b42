"""A server for trial requests: takes any CONNECT, and answers whatever comes inside it, HTTP/1.1, WebSocket or gRPC.

It stands behind the recorder as its way out, so that a name that nobody has leads to it and to nowhere else.
"""

import asyncio
import base64
import hashlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import NamedTemporaryFile

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from store.authority import Authority
from store.certificate import LeafTerms

_WEBSOCKET = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"  # RFC 9113, section 3.4
_HEADERS = 1
_SETTINGS_FRAMES = b"\0\0\0\4\0\0\0\0\0" + b"\0\0\0\4\1\0\0\0\0"  # ours, without a value, and our yes to theirs
# A gRPC answer of trailers alone (:status 200, content-type, grpc-status 12: no such method), RFC 7541, section 6.
_TRAILERS = b"\x88" + b"".join(
    b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value
    for name, value in ((b"content-type", b"application/grpc"), (b"grpc-status", b"12"))
)


@dataclass(frozen=True, slots=True)
class Probe:
    """Where it listens as a proxy, and the certificate file that proves it."""

    url: str
    roots: Path


@asynccontextmanager
async def probing(folder: Path) -> AsyncIterator[Probe]:
    """Serves every host while the block lasts; its authority lies in `folder`."""
    authority = Authority.open_or_create(folder / "probe")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Whoever is tried may break off at any time: that is its own affair, and seen elsewhere.
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            await _serve(reader, writer, authority)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield Probe(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", authority.certificate_path)
    finally:
        server.close()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, authority: Authority) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    if head.startswith(b"CONNECT "):
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        host = head.split()[1].rpartition(b":")[0].decode("ascii", "replace")
        await writer.start_tls(_context(authority, host))
        tls = writer.get_extra_info("ssl_object")
        if tls is not None and tls.selected_alpn_protocol() == "h2":
            await _serve_frames(reader, writer)
            return
        head = await reader.readuntil(b"\r\n\r\n")
    fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:] if b":" in line)
    await reader.readexactly(int(fields.get(b"content-length", b"0")))
    key = next((line for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key:")), b"")
    writer.write(_upgraded(key.partition(b":")[2].strip()) if key else _ANSWER)
    await writer.drain()


def _upgraded(key: bytes) -> bytes:
    """The yes to a WebSocket, and a normal close frame behind it (RFC 6455, sections 4.2.2 and 5.5.1)."""
    accept = base64.b64encode(hashlib.sha1(key + _WEBSOCKET, usedforsecurity=False).digest())
    fields = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept
    return b"HTTP/1.1 101 Switching Protocols\r\n" + fields + b"\r\n\r\n" + b"\x88\2\3\xe8"


async def _serve_frames(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """HTTP/2 for as long as it takes to say no to one gRPC call."""
    await reader.readexactly(len(_PREFACE))
    writer.write(_SETTINGS_FRAMES)
    while True:
        head = await reader.readexactly(9)
        await reader.readexactly(int.from_bytes(head[:3]))
        if head[3] == _HEADERS:
            flags = 0x4 | 0x1  # END_HEADERS, END_STREAM
            writer.write(len(_TRAILERS).to_bytes(3) + bytes([_HEADERS, flags]) + head[5:9] + _TRAILERS)
            await writer.drain()


def _context(authority: Authority, host: str) -> ssl.SSLContext:
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    leaf = authority.mint(host, LeafTerms.around(now, now), key)
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with NamedTemporaryFile() as file:  # made for its owner alone
        file.write(leaf.public_bytes(pem) + private)
        file.flush()
        context.load_cert_chain(file.name)
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context

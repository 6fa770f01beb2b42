"""TLS ends for an agent as its server ended it: with the last word, or without."""

import asyncio
import socket
import ssl
from pathlib import Path

import pytest

from tests.addons.raw import served
from tests.addons.recording import recording
from tests.support.authority import ServerCertificate

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nall of it"


def fetched(proxy: int, port: int, root: Path) -> str:
    """How a body that ends with its connection ends for a client that insists on the last word."""
    context = ssl.create_default_context(cafile=str(root))
    plain = socket.create_connection(("127.0.0.1", proxy), 20)
    plain.sendall(b"CONNECT localhost:%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % port)
    assert b" 200 " in plain.recv(1000)
    with context.wrap_socket(plain, server_hostname="localhost", suppress_ragged_eofs=False) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        got = b""
        try:
            while piece := client.recv(1000):
                got += piece
        except ssl.SSLEOFError:
            return "cut"
        assert got.endswith(b"all of it")
        return "ended"


@pytest.mark.parametrize("end, seen", [("said", "ended"), ("unsaid", "cut")])
async def test_c063_tls_ends_for_the_agent_as_the_server_ended_it(
    tmp_path: Path, upstream_certificate: ServerCertificate, upstream_root: Path, end: str, seen: str
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(upstream_certificate.certificate, upstream_certificate.key)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER)
        await writer.drain()
        if end == "unsaid":
            writer.transport.abort()

    async with served(serve, context) as port, recording(tmp_path, upstream_ca=upstream_root) as made:
        assert await asyncio.to_thread(fetched, made.recorder.port, port, made.authority) == seen
        assert made.response_body(made.exchanges()[0]) == b"all of it"

"""The way to a server that keeps a store: with TLS or without, as the store's URL asks for it."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from proxy.confined.carrier import reached
from store.core.address import Server, parse
from tests.support.authority import ServerCertificate, make_authority


@asynccontextmanager
async def server(certificate: ServerCertificate | None, said: str) -> AsyncIterator[Server]:
    """Answers a request for TLS as a PostgreSQL server does, and then each byte with itself; its URL with `said`."""
    context = None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.certificate, certificate.key)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if said != "?sslmode=disable":
                assert await reader.readexactly(8) == bytes.fromhex("0000000804d2162f")
                writer.write(b"N" if context is None else b"S")
                if context is not None:
                    await writer.start_tls(context)
            writer.write(await reader.readexactly(1))
        except (OSError, EOFError):
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(answer, "localhost", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        yield parse(f"postgresql://me@localhost:{port}/tapes{said}")


async def echoed(known: Server) -> bool:
    """Whether a byte comes back; in TLS or not."""
    reader, writer = await reached(known)
    writer.write(b"x")
    came = await reader.readexactly(1)
    in_tls = writer.get_extra_info("ssl_object") is not None
    writer.close()
    assert came == b"x"
    return in_tls


async def test_tls_is_spoken_where_the_server_does(upstream_certificate: ServerCertificate) -> None:
    for said in ("", "?sslmode=require"):
        async with server(upstream_certificate, said) as known:
            assert await echoed(known)


async def test_no_tls_is_spoken_where_none_is_asked_for() -> None:
    for said in ("", "?sslmode=disable"):
        async with server(None, said) as known:
            assert not await echoed(known)
    async with server(None, "?sslmode=require") as known:
        with pytest.raises(ConnectionError):
            await reached(known)


async def test_who_verifies_takes_the_right_certificate_alone(
    upstream_certificate: ServerCertificate, upstream_root: Path, tmp_path: Path
) -> None:
    for mode in ("verify-full", "verify-ca"):
        for root in (upstream_root, make_authority(tmp_path / mode).root):
            async with server(
                upstream_certificate, f"?sslmode={mode}&sslrootcert={quote(str(root), safe='')}"
            ) as known:
                if root == upstream_root:
                    assert await echoed(known)
                    continue
                with pytest.raises(ssl.SSLCertVerificationError):
                    await reached(known)

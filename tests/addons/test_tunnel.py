"""What is not opened passes whole, and is recorded as a tunnel with its bytes counted."""

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from addons.options import Local
from addons.sniff import Inside, sniff
from store.core.model import Fact, TunnelClose, TunnelOpen
from tests.addons.raw import ANSWER_S_MAX, Serve, ask, connected, echo, get, intercepted, served, tunnelled, until
from tests.addons.recording import Recording, recording
from tests.support.authority import ServerCertificate
from tests.support.processes import running_module
from tests.support.provider import Provider

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def tunnels(made: Recording) -> list[Fact]:
    return [fact for fact in made.facts() if isinstance(fact, TunnelOpen | TunnelClose)]


@pytest.mark.parametrize(
    "from_client, from_server, expected",
    [
        (b"", b"", "wait"),
        (b"", b"220 mail ready\r\n", "not_http"),
        (b"", b"\x00\x00\x24\x04\x00\x00\x00\x00\x00", "cleartext_h2"),
        (b"\x16\x03\x01\x02\x00", b"", "tls"),
        (b"\x16", b"", "wait"),
        (b"\x16\x02\x01", b"", "not_http"),
        (PREFACE, b"", "cleartext_h2"),
        (b"PRI * HT", b"", "cleartext_h2"),
        (b"PR", b"", "wait"),
        (b"GET / HTTP/1.1\r\n", b"", "http"),
        (b"POST /a?b HTTP/1.0\n", b"", "http"),
        (b"G", b"", "wait"),
        (b"GET /" + b"a" * 9000, b"", "wait"),
        (b"GET key\r\n", b"", "not_http"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", b"", "not_http"),
        (b"EHLO me\r\n", b"", "not_http"),
        (b"\x00\x00\x00\x08\x04\xd2\x16\x2f", b"", "not_http"),
    ],
)
def test_the_first_bytes_tell_what_is_spoken(from_client: bytes, from_server: bytes, expected: Inside) -> None:
    assert sniff(from_client, from_server) == expected


@pytest.mark.parametrize(
    "first, reason",
    [(PREFACE + b"frames", "cleartext_h2"), (b"\x00\x01binary", "not_http"), (b"NICK somebody\r\n", "not_http")],
)
async def test_what_is_no_http_passes_through_a_connect(tmp_path: Path, first: bytes, reason: str) -> None:
    async with served(echo) as port, recording(tmp_path) as made:
        async with tunnelled(made.recorder.port, f"127.0.0.1:{port}") as (reader, writer):
            writer.write(first)
            assert await reader.readexactly(len(first)) == first.upper()
            writer.write(b"again")
            assert await reader.readexactly(5) == b"AGAIN"
        await until(lambda: len(tunnels(made)) == 2)
        opened, closed = tunnels(made)
        assert isinstance(opened, TunnelOpen)
        assert isinstance(closed, TunnelClose)
        assert (opened.host, opened.port, opened.reason) == ("127.0.0.1", port, reason)
        assert (closed.sent_bytes, closed.received_bytes) == (len(first) + 5, len(first) + 5)
        assert closed.duration_us > 0
        assert made.recorder.counts.tunnels == 1


async def test_a_server_that_speaks_first_is_heard(tmp_path: Path) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 ready\r\n")
        await reader.readline()

    async with served(greet) as port, recording(tmp_path) as made:
        async with tunnelled(made.recorder.port, f"127.0.0.1:{port}") as (reader, writer):
            assert await reader.readline() == b"220 ready\r\n"
            writer.write(b"QUIT\r\n")
        await until(lambda: len(tunnels(made)) == 2)


async def test_http_that_comes_in_single_bytes_is_still_recorded(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        async with tunnelled(made.recorder.port, f"127.0.0.1:{provider.port}") as (reader, writer):
            for byte in b"GET /slowly HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n":
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.002)
            assert (await reader.read()).startswith(b"HTTP/1.1 200")
        assert [exchange.facts.path for exchange in made.exchanges()] == ["/slowly"]
        assert tunnels(made) == []


async def test_what_is_no_http_inside_tls_passes_as_well(
    tmp_path: Path, upstream_certificate: ServerCertificate, upstream_root: Path
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(upstream_certificate.certificate, upstream_certificate.key)
    async with served(echo, context) as port, recording(tmp_path, upstream_ca=upstream_root) as made:
        async with intercepted(made.recorder.port, f"localhost:{port}", made.authority) as (reader, writer):
            writer.write(b"\x01\x02odd")
            assert await reader.readexactly(5) == b"\x01\x02ODD"
        await until(lambda: len(tunnels(made)) == 2)


@pytest.mark.parametrize("local, passes", [("pass", True), ("record", False)])
async def test_a_listener_of_the_agents_own_processes_is_passed_through(
    tmp_path: Path, provider: Provider, local: Local, passes: bool
) -> None:
    asked: list[int] = []

    def owns(port: int) -> bool:
        asked.append(port)
        return port == provider.port

    async with recording(tmp_path, local=local, owns_port=owns) as made:
        url = f"http://localhost:{provider.port}"
        body = b"x" * 1000
        async with connected(made.recorder.port) as (reader, writer):
            for _ in range(2):
                writer.write(f"POST {url}/a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n".encode() + body)
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
        async with tunnelled(made.recorder.port, f"127.0.0.1:{provider.port}") as (reader, writer):
            writer.write(b"GET /b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            answer = await reader.read()
        assert len(provider.seen()) == 3
        if not passes:
            assert len(made.exchanges()) == 3
            return
        await until(lambda: len(tunnels(made)) == 4)
        opened = [fact for fact in tunnels(made) if isinstance(fact, TunnelOpen)]
        closed = [fact for fact in tunnels(made) if isinstance(fact, TunnelClose)]
        assert {one.reason for one in opened} == {"local"}
        assert made.exchanges() == []
        assert max(one.sent_bytes for one in closed) == 2000
        assert min(one.received_bytes for one in closed) == len(answer)
        assert asked == [provider.port, provider.port]


async def test_ownership_is_asked_for_loopback_only(tmp_path: Path) -> None:
    def owns(port: int) -> bool:
        raise AssertionError("asked for a host elsewhere")

    async with recording(tmp_path, owns_port=owns) as made:
        await ask(made.recorder.port, get("http://no.such.host.invalid/"))
        assert made.recorder.counts.failures == 0


async def test_a_websocket_to_the_agents_own_process_is_a_tunnel(tmp_path: Path) -> None:
    with running_module("tests.support.websocket_echo", "serve") as server:
        async with recording(tmp_path, owns_port=lambda port: port == server.port) as made:
            async with connect(f"ws://localhost:{server.port}/", proxy=made.proxy) as socket:
                await socket.send("hi")
                assert await socket.recv() == "echo: hi"
            await until(lambda: len(tunnels(made)) == 2)
            assert made.exchanges() == []


async def test_grpc_without_tls_passes(tmp_path: Path) -> None:
    with running_module("tests.support.grpc_echo", "serve") as server:
        async with recording(tmp_path) as made:
            call = [f"localhost:{server.port}", "hello", "--count", "2"]
            environment = {**os.environ, "http_proxy": made.proxy, "grpc_proxy": made.proxy, "no_grpc_proxy": ""}
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tests.support.grpc_echo",
                "call",
                *call,
                env=environment,
                stdout=asyncio.subprocess.PIPE,
            )
            said, _ = await process.communicate()
            assert said.split(b"\n")[:2] == [b"1 hello", b"2 hello"]
            await until(lambda: len(tunnels(made)) == 2)
            opened = tunnels(made)[0]
            assert isinstance(opened, TunnelOpen)
            assert opened.reason == "cleartext_h2"


def upgrading(then: Serve) -> Serve:
    """A server that lets its first request go over to another protocol."""

    async def upgrade(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
        await then(reader, writer)

    return upgrade


@asynccontextmanager
async def upgraded(proxy: int, url: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection that has gone over."""
    asks = get(url, b"Connection: Upgrade", b"Upgrade: tcp").replace(b"Connection: close\r\n", b"")
    async with connected(proxy) as (reader, writer):
        writer.write(asks)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
        yield reader, writer


async def test_an_upgrade_to_something_else_is_an_exchange_and_then_a_tunnel(tmp_path: Path) -> None:
    async with served(upgrading(echo)) as port, recording(tmp_path) as made:
        async with upgraded(made.recorder.port, f"http://127.0.0.1:{port}/attach") as (reader, writer):
            writer.write(b"stdin")
            assert await reader.readexactly(5) == b"STDIN"
        await until(lambda: len(tunnels(made)) == 2)
        (exchange,) = made.exchanges()
        assert exchange.response is not None
        assert (exchange.response.status, exchange.response.framing) == (101, "none")
        closed = tunnels(made)[1]
        assert isinstance(closed, TunnelClose)
        assert (closed.sent_bytes, closed.received_bytes) == (5, 5)


async def have_the_last_word(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Speaks only once the agent has ended its side."""
    heard = await reader.read()
    writer.write(heard.upper() + b" IS ALL")


@pytest.mark.parametrize("quick", [False, True], ids=["layers", "short way"])
async def test_what_the_server_says_after_the_agents_end_passes(tmp_path: Path, quick: bool) -> None:
    async with served(have_the_last_word) as port, recording(tmp_path, inline_hooks=quick) as made:
        async with tunnelled(made.recorder.port, f"127.0.0.1:{port}") as (reader, writer):
            writer.write(b"\x00this")
            writer.write_eof()  # it may come while it is still decided what this is
            assert await reader.read() == b"\x00THIS IS ALL"
        await until(lambda: len(tunnels(made)) == 2)


@pytest.mark.parametrize("quick", [False, True], ids=["layers", "short way"])
async def test_what_the_agent_says_after_the_servers_end_passes(tmp_path: Path, quick: bool) -> None:
    heard = asyncio.get_running_loop().create_future()

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 ready\r\n")
        writer.write_eof()
        heard.set_result(await reader.read())

    async with served(greet) as port, recording(tmp_path, inline_hooks=quick) as made:
        async with tunnelled(made.recorder.port, f"127.0.0.1:{port}") as (reader, writer):
            assert await reader.read() == b"220 ready\r\n"
            writer.write(b"this is all")
        async with asyncio.timeout(ANSWER_S_MAX):
            assert await heard == b"this is all"
        await until(lambda: len(tunnels(made)) == 2)


async def test_one_direction_of_an_upgraded_connection_ends_before_the_other(tmp_path: Path) -> None:
    """As those do that attach to a container: the end of what it gets to read is no end of what it says."""
    async with served(upgrading(have_the_last_word)) as port, recording(tmp_path) as made:
        async with upgraded(made.recorder.port, f"http://127.0.0.1:{port}/attach") as (reader, writer):
            writer.write(b"stdin")
            writer.write_eof()
            assert await reader.read() == b"STDIN IS ALL"
        await until(lambda: len(tunnels(made)) == 2)


async def test_a_tunnel_that_is_open_at_the_end_is_closed_with_its_run(tmp_path: Path) -> None:
    async with served(echo) as port, recording(tmp_path) as made:
        async with tunnelled(made.recorder.port, f"127.0.0.1:{port}") as (reader, writer):
            writer.write(b"\x00abc")
            await reader.readexactly(4)
            await made.recorder.stop()
        assert isinstance(tunnels(made)[-1], TunnelClose)

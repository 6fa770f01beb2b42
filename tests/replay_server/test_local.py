"""Listeners of the agent's own processes are reached, and nothing else is."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import pytest

from replay_server.beginning import Beginning
from replay_server.local import is_loopback, reach, tunnel
from replay_server.server import ReplayOptions
from replay_server.target import Authority
from store.reader import Reader
from tests.replay_server.recording import Place, Recording
from tests.replay_server.wires import dial
from tests.support.ports import closed_port


def tell(recording: Recording) -> None:
    recording.get("http://127.0.0.1:9/a", b"recorded")
    recording.tunnel("127.0.0.1", 4711)


@asynccontextmanager
async def listener() -> AsyncIterator[int]:
    """An agent's own server: says what it read, in capitals, and closes after `bye`."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line.upper())
            if line in {b"bye\n", b"\r\n"}:
                break
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_a_connect_to_the_agents_own_listener_is_tunnelled(place: Place) -> None:
    run = place.record(tell)
    async with listener() as port, place.replaying(run, ReplayOptions(owns_port=lambda asked: asked == port)) as server:
        wire = await dial(server)
        wire.send(f"CONNECT localhost:{port} HTTP/1.1\r\n\r\nfirst\n".encode())
        await wire.until(b"\r\n\r\nFIRST\n")
        wire.send(b"second\nbye\n")
        await wire.until(b"SECOND\nBYE\n")
        assert await wire.end() == "closed"
        report = await server.stop(0)
        assert (report.counts["local_tunnels"], report.counts["unexpected"]) == (1, 0)
    with Reader.open(place.store, place.keys) as reader:
        events = list(reader.events(server.run))
        assert [event.type for event in events] == ["run.open", "tunnel.open", "tunnel.close", "verdict", "run.close"]
        (closed,) = (event.facts for event in events if event.type == "tunnel.close")
        assert (closed.sent_bytes, closed.received_bytes) == (17, 17)  # type: ignore[union-attr]


async def test_an_absolute_form_request_to_it_is_passed_on(place: Place) -> None:
    run = place.record(tell)
    async with listener() as port, place.replaying(run, ReplayOptions(owns_port=lambda asked: asked == port)) as server:
        wire = await dial(server)
        wire.send(
            f"GET http://127.0.0.1:{port}/x?y HTTP/1.1\r\nHost: h\r\nProxy-Connection: keep-alive\r\n\r\n".encode()
        )
        await wire.end()
        assert wire.received == b"GET /X?Y HTTP/1.1\r\nHOST: H\r\nCONNECTION: CLOSE\r\n\r\n"
        assert (await server.stop(0)).counts["local_tunnels"] == 1


@pytest.mark.parametrize("local", ["pass", "record"])
async def test_a_loopback_port_of_others_is_answered_from_the_recording(place: Place, local: str) -> None:
    owns = local == "record"
    async with place.replaying(place.record(tell), ReplayOptions(local=local, owns_port=lambda _: owns)) as server:
        wire = await dial(server)
        wire.send(b"GET http://127.0.0.1:9/a HTTP/1.1\r\nHost: h\r\n\r\n")
        await wire.until(b"recorded")
        report = await server.stop(0)
        assert (report.exit_code, report.counts["local_tunnels"]) == (0, 0)


async def test_a_listener_that_is_gone_is_said_so(place: Place) -> None:
    options = ReplayOptions(owns_port=lambda _: True)
    with closed_port() as port:
        asking = (
            f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n",
            f"GET http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: h\r\n\r\n",
        )
        async with place.replaying(place.record(tell), options) as server:
            for asked in asking:
                wire = await dial(server)
                wire.send(asked.encode())
                await wire.until(b"\r\n\r\n" if asked.startswith("C") else b"any more")
                assert b" 502 " in wire.received


def test_loopback_names() -> None:
    assert all(is_loopback(host) for host in ("localhost", "a.localhost", "127.0.0.1", "127.8.8.8", "::1"))
    assert not any(is_loopback(host) for host in ("example.com", "10.0.0.1", "localhost.example.com", "0.0.0.0"))


GREETING = b"220 at your service\r\n"
CALLS = 20


def greet(server: socket.socket) -> None:
    """Speaks first on each connection, and leaves."""
    for _ in range(CALLS):
        connection, _ = server.accept()
        with connection:
            connection.sendall(GREETING)


async def plod() -> None:
    """Makes every turn of the loop so long that a greeting has come by the next."""
    while True:
        time.sleep(0.002)  # noqa: ASYNC251  # that is the purpose
        await asyncio.sleep(0)


async def heard_of(port: int) -> tuple[bytes, int]:
    """What comes through a tunnel to its end, and how many bytes are said to have come."""
    counts: list[int] = []
    inner, outer = socket.socketpair()
    client, _ = await asyncio.get_running_loop().create_connection(Beginning, sock=inner)
    slow = asyncio.create_task(plod())
    listener = await reach(Authority("http", "127.0.0.1", port))
    slow.cancel()
    assert listener is not None
    through = asyncio.create_task(tunnel(client, listener, b"", lambda _, received, __: counts.append(received)))
    reader, writer = await asyncio.open_connection(sock=outer)
    heard = await asyncio.wait_for(reader.read(), 20)
    writer.close()
    await through
    return heard, sum(counts)


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_what_a_listener_says_unasked_arrives_whole(loop: str) -> None:
    """An HTTP/2 server sends its SETTINGS at once (RFC 9113, section 3.4); others greet."""
    loops = pytest.importorskip(loop, reason="this system has none")

    async def listen(port: int) -> list[tuple[bytes, int]]:
        return [await heard_of(port) for _ in range(CALLS)]

    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as greeter:
        server.settimeout(20)
        greeting = greeter.submit(greet, server)
        with asyncio.Runner(loop_factory=loops.new_event_loop) as runner:
            assert runner.run(listen(server.getsockname()[1])) == [(GREETING, len(GREETING))] * CALLS
        greeting.result(20)

"""Listeners of the agent's own processes are reached, and nothing else is."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from replay_server.local import is_loopback
from replay_server.server import ReplayOptions
from store.reader import Reader
from tests.replay_server.recording import Place, Recording
from tests.replay_server.wires import dial


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
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with place.replaying(place.record(tell), ReplayOptions(owns_port=lambda _: True)) as server:
        for asked in (
            f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n",
            f"GET http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: h\r\n\r\n",
        ):
            wire = await dial(server)
            wire.send(asked.encode())
            await wire.until(b"\r\n\r\n" if asked.startswith("C") else b"any more")
            assert b" 502 " in wire.received


def test_loopback_names() -> None:
    assert all(is_loopback(host) for host in ("localhost", "a.localhost", "127.0.0.1", "127.8.8.8", "::1"))
    assert not any(is_loopback(host) for host in ("example.com", "10.0.0.1", "localhost.example.com", "0.0.0.0"))

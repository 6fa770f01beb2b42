"""The messages of a WebSocket are recorded one by one, with what they answered to and how it ended."""

import asyncio
import ssl
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from store.core.model import WsClose, WsMessage
from tests.addons.raw import until
from tests.addons.recording import Recording, recording
from tests.support.authority import ServerCertificate


def spoken(made: Recording) -> list[tuple[str, str, bytes]]:
    (exchange,) = made.exchanges()
    found: list[tuple[str, str, bytes]] = []
    for event in exchange.messages:
        if isinstance(event.facts, WsMessage):
            assert event.facts.req == exchange.request.seq
            with made.reader() as reader:
                found.append((event.facts.direction, event.facts.opcode, reader.body(event, event.facts.body)))
    return found


def goodbye(made: Recording) -> WsClose:
    (exchange,) = made.exchanges()
    (facts,) = [event.facts for event in exchange.messages if isinstance(event.facts, WsClose)]
    return facts


async def echo(connection: ServerConnection) -> None:
    async for message in connection:
        if message == "leave":
            await connection.close(4001, "as asked")
            return
        await connection.send(message)


@pytest.mark.parametrize("tls", [False, True])
async def test_messages_of_both_directions_and_kinds_are_recorded(
    tmp_path: Path, upstream_certificate: ServerCertificate, upstream_root: Path, tls: bool
) -> None:
    context = None
    if tls:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(upstream_certificate.certificate, upstream_certificate.key)
    async with (
        serve(echo, "127.0.0.1", 0, ssl=context) as server,
        recording(tmp_path, upstream_ca=upstream_root) as made,
    ):
        port = next(iter(server.sockets)).getsockname()[1]
        trust = ssl.create_default_context(cafile=str(made.authority)) if tls else None
        url = f"{'wss' if tls else 'ws'}://localhost:{port}/socket"
        async with connect(url, proxy=made.proxy, ssl=trust) as client:
            await client.send("grüße")
            assert await client.recv() == "grüße"
            await client.send(b"\x00\xff" * 40_000)
            assert await client.recv() == b"\x00\xff" * 40_000
        await until(lambda: len(made.exchanges()[0].messages) == 5)
        (exchange,) = made.exchanges()
        assert exchange.response is not None
        assert (exchange.response.status, exchange.facts.path) == (101, "/socket")
        assert spoken(made) == [
            ("to_server", "text", "grüße".encode()),
            ("to_client", "text", "grüße".encode()),
            ("to_server", "binary", b"\x00\xff" * 40_000),
            ("to_client", "binary", b"\x00\xff" * 40_000),
        ]
        assert (goodbye(made).code, goodbye(made).by) == (1000, "client")


async def test_a_server_that_says_goodbye_is_recorded_with_its_reason(tmp_path: Path) -> None:
    async with serve(echo, "127.0.0.1", 0) as server, recording(tmp_path) as made:
        port = next(iter(server.sockets)).getsockname()[1]
        async with connect(f"ws://127.0.0.1:{port}/", proxy=made.proxy) as client:
            await client.send("leave")
            with pytest.raises(ConnectionClosed):
                await client.recv()
        await until(lambda: len(made.exchanges()[0].messages) == 2)
        assert (goodbye(made).code, goodbye(made).by) == (4001, "server")


async def test_a_socket_that_breaks_off_ends_with_1006(tmp_path: Path) -> None:
    async with serve(echo, "127.0.0.1", 0) as server, recording(tmp_path) as made:
        port = next(iter(server.sockets)).getsockname()[1]
        async with connect(f"ws://127.0.0.1:{port}/", proxy=made.proxy) as client:
            await client.send("one")
            await client.recv()
            client.transport.abort()
        await until(lambda: len(made.exchanges()[0].messages) == 3)
        assert goodbye(made).code == 1006


async def test_a_socket_that_the_server_breaks_off_breaks_off_for_the_agent_too(tmp_path: Path) -> None:
    async def leave(connection: ServerConnection) -> None:
        connection.transport.abort()

    async with serve(leave, "127.0.0.1", 0) as server, recording(tmp_path) as made:
        port = next(iter(server.sockets)).getsockname()[1]
        async with connect(f"ws://127.0.0.1:{port}/", proxy=made.proxy) as client:
            with pytest.raises(ConnectionClosed) as caught:
                await client.recv()
        assert caught.value.rcvd is None
        await until(lambda: len(made.exchanges()[0].messages) == 1)
        assert (goodbye(made).code, goodbye(made).by) == (1006, "server")


async def test_a_socket_that_is_open_when_the_recorder_stops_has_an_end(tmp_path: Path) -> None:
    async with serve(echo, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        async with recording(tmp_path) as made:
            client = await connect(f"ws://127.0.0.1:{port}/", proxy=made.proxy)
            await client.send("one")
            await client.recv()
            stopping = asyncio.ensure_future(made.recorder.stop())
            with pytest.raises(ConnectionClosed):
                await client.recv()
            await stopping
        assert goodbye(made).code == 1006
        assert len(spoken(made)) == 2

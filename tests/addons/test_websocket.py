"""The messages of a WebSocket are recorded one by one, with what they answered to and how it ended."""

import asyncio
import ssl
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.utils import accept_key

from store.core.model import WsClose, WsMessage
from tests.addons.raw import served, until
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


DELTA = b'{"type":"response.output_text.delta","delta":"hi"}'
COMPRESSED = bytes.fromhex(
    "c130aa562aa92c4855b2522a4a2d2ec8cf2b4ed5cb2f2d29282d892f49ad28d14b49cd294954d25182d0564a19994ab50000"
)
THE_SAME_AGAIN = bytes.fromhex("c105aa26590700")  # means nothing without the one before
SPOKEN = (
    COMPRESSED,
    THE_SAME_AGAIN,
    b"\x81\x02hi",  # uncompressed, though compression was agreed
    b"\x01\x02fr",
    b"\x89\x04ping",  # between two fragments of one message
    b"\x80\x02ag",
    b"\x88\x0a\x0f\xa2finished",
)


async def test_frames_compressed_or_not_whole_or_not_are_messages_in_the_log_and_for_the_agent(tmp_path: Path) -> None:
    pongs: list[bytes] = []

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        key = head.split(b"Sec-WebSocket-Key: ")[1].split(b"\r\n")[0].decode()
        writer.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Extensions: permessage-deflate\r\n"
            b"Sec-WebSocket-Accept: " + accept_key(key).encode() + b"\r\n\r\n"
        )
        *before, last = SPOKEN
        for frame in before:
            writer.write(frame)
            await writer.drain()
            await asyncio.sleep(0.01)
        pongs.append(await reader.readexactly(10))
        writer.write(last)
        await reader.read()

    async with served(speak) as port, recording(tmp_path) as made:
        async with connect(f"ws://127.0.0.1:{port}/", proxy=made.proxy) as client:
            heard = [await client.recv() for _ in range(4)]
            with pytest.raises(ConnectionClosed):
                await client.recv()
        assert heard == [DELTA.decode(), DELTA.decode(), "hi", "frag"]
        assert (client.close_code, client.close_reason) == (4002, "finished")
        await until(lambda: len(made.exchanges()[0].messages) == 5)
        assert spoken(made) == [("to_client", "text", one) for one in (DELTA, DELTA, b"hi", b"frag")]
        assert (goodbye(made).code, goodbye(made).by) == (4002, "server")
    assert pongs[0][:2] == b"\x8a\x84"

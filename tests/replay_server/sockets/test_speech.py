"""WebSockets recorded by the real recorder and replayed: message for message, with their ends."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from addons.options import RecorderOptions
from addons.recorder import Recorder
from addons.runs import run_draft
from replay_server.report import Report
from replay_server.server import ReplayOptions
from store.core.model import WsClose, WsMessage
from store.drafting.desk import Desk
from store.exchange import exchanges
from store.reader import Reader
from tests.replay_server.recording import Place

type Walk = Callable[[ClientConnection], Awaitable[list[str | bytes]]]

KEY = "sk-proj-Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4MTIzNDU2"


async def rpc(connection: ServerConnection) -> None:
    """Greets, answers each message with its id twice as loud, then says what it was asked to say last."""
    await connection.send(json.dumps({"hello": connection.request.path if connection.request else ""}))
    async for message in connection:
        if isinstance(message, bytes):
            await connection.send(message * 2)
            continue
        asked = json.loads(message)
        if asked.get("leave"):
            await connection.close(asked["leave"], "as asked")
            return
        if asked.get("break"):
            connection.transport.abort()
            return
        for number in range(asked.get("answers", 1)):
            said = {"jsonrpc": "2.0", "id": asked.get("id"), "result": f"{asked.get('say')} {number}"}
            await connection.send(json.dumps(said))


@asynccontextmanager
async def dialled(port: int, name: str, url: str, trust: ssl.SSLContext | None) -> AsyncIterator[ClientConnection]:
    proxy = f"http://{name}:token@127.0.0.1:{port}"
    async with connect(url, proxy=proxy, ssl=trust, subprotocols=[Subprotocol("talk")]) as client:
        yield client


async def record(place: Place, walk: Walk) -> tuple[str, str, list[str | bytes]]:
    """The id of the run, the URL of the socket, and what the client heard."""
    writer = place.writer()
    recorder = Recorder(Desk(writer), RecorderOptions(confdir=place.authority.folder))
    await recorder.start()
    try:
        run = recorder.open_run(run_draft("", None))
        async with serve(rpc, "127.0.0.1", 0, subprotocols=[Subprotocol("talk")]) as server:
            url = f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/talk"
            async with dialled(recorder.port, run, url, None) as client:
                heard = await walk(client)
        await recorder.close_run(run, "agent_exit", 0)
    finally:
        await recorder.stop()
        writer.close()
    return run, url, heard


async def replay(
    place: Place, run: str, url: str, walk: Walk, options: ReplayOptions | None = None
) -> tuple[Report, list[str | bytes]]:
    async with place.replaying(run, options) as server:
        heard: list[str | bytes] = []
        async with dialled(server.port, run, url, None) as client:
            assert client.subprotocol == "talk"
            heard = await walk(client)
        return await server.stop(0), heard


async def until_closed(client: ClientConnection) -> list[str | bytes]:
    """What still comes, and the code and reason of the end."""
    heard = [await client.recv()]
    with pytest.raises(ConnectionClosed) as caught:
        await client.recv()
    received = caught.value.rcvd
    return [*heard, f"{received.code} {received.reason}" if received else "broken off"]


def told(*messages: object, secret: str = "") -> Walk:
    """A client that says these one after another, hears the answer of each, and leaves."""

    async def walk(client: ClientConnection) -> list[str | bytes]:
        heard = [await client.recv()]
        for message in messages:
            await client.send(message if isinstance(message, bytes) else json.dumps(message).replace("KEY", secret))
            answers = message.get("answers", 1) if isinstance(message, dict) else 1
            heard += [await client.recv() for _ in range(answers)]
        return heard

    return walk


def closed(walk: Walk) -> Walk:
    """The same client, which sees the end instead of an answer."""

    async def end(client: ClientConnection) -> list[str | bytes]:
        with pytest.raises(ConnectionClosed) as caught:
            await walk(client)
        return [str(caught.value)]

    return end


async def test_a_dialogue_is_had_again_message_for_message(place: Place) -> None:
    walk = told({"id": 1, "say": "grüße", "answers": 3}, b"\x00\xff" * 40_000, {"id": 2, "say": "KEY"}, secret=KEY)
    run, url, recorded = await record(place, walk)
    report, heard = await replay(place, run, url, walk)
    assert heard == recorded
    assert len(heard) == 6
    assert (report.exit_code, report.counts["matched"], report.counts["messages"]) == (0, 1, 3), report.text()
    with Reader.open(place.store, place.keys) as reader:
        told_twice = [
            [
                (event.facts.direction, event.facts.opcode, reader.body(event, event.facts.body))
                if isinstance(event.facts, WsMessage)
                else (event.facts.code, event.facts.by)
                for event in exchanges(reader.events(one))[0].messages
                if isinstance(event.facts, WsMessage | WsClose)
            ]
            for one in (run, reader.find("last:replay").id)
        ]
    assert told_twice[0] == told_twice[1]
    assert told_twice[0][-1] == (1000, "client")
    assert KEY not in str(told_twice)


async def test_ids_made_up_anew_stand_in_what_is_answered(place: Place) -> None:
    run, url, _ = await record(place, told({"jsonrpc": "2.0", "id": 1, "method": "m", "say": "a"}))
    walk = told({"jsonrpc": "2.0", "id": "x-77", "method": "m", "say": "a"})
    report, heard = await replay(place, run, url, walk)
    assert json.loads(heard[1]) == {"jsonrpc": "2.0", "id": "x-77", "result": "a 0"}
    assert report.exit_code == 0, report.text()
    report, _ = await replay(place, run, url, closed(walk), ReplayOptions(use_map=False))
    assert report.exit_code == 40


async def test_a_message_that_differs_is_named_with_its_place(place: Place) -> None:
    run, url, _ = await record(place, told({"say": "a"}, {"say": {"to": "b"}}, {"say": "c"}))
    walk = told({"say": "a"}, {"say": {"to": "x"}}, {"say": "c"})
    report, heard = await replay(place, run, url, closed(walk))
    assert "1008 (policy violation) edgetape replay: drifted at step 1" in str(heard)
    (drifted,) = json.loads(report.json())["drifted"]
    assert (drifted["pointer"], drifted["recorded"], drifted["live"]) == ("/say/to", '"b"', '"x"')
    assert drifted["request"] == f"message 4 of GET {url.replace('ws:', 'http:')}"
    assert report.exit_code == 40
    served = ReplayOptions(on_drift="serve")
    report, heard = await replay(place, run, url, walk, served)
    assert (len(heard), report.counts["drifted"], report.counts["messages"]) == (4, 1, 2)
    report, _ = await replay(place, run, url, walk, ReplayOptions(ignore=["body /say/to"]))
    assert report.exit_code == 0, report.text()


async def test_a_message_too_many_and_one_too_few_are_named(place: Place) -> None:
    run, url, _ = await record(place, told({"say": "a"}, {"say": "b"}))
    report, heard = await replay(place, run, url, closed(told({"say": "a"}, {"say": "b"}, {"say": "c"})))
    assert "1008 (policy violation) edgetape replay: more messages" in str(heard)
    assert (report.exit_code, report.counts["exhausted"]) == (41, 1)
    report, _ = await replay(place, run, url, told({"say": "a"}))
    assert report.exit_code == 42
    assert "message 4 of GET" in report.verdict


async def test_the_end_is_the_recorded_end(place: Place) -> None:
    async def left(client: ClientConnection) -> list[str | bytes]:
        await client.send(json.dumps({"leave": 4001}))
        return await until_closed(client)

    async def broken(client: ClientConnection) -> list[str | bytes]:
        await client.send(json.dumps({"break": True}))
        return await until_closed(client)

    for walk, end in ((left, "4001 as asked"), (broken, "broken off")):
        run, url, recorded = await record(place, walk)
        report, heard = await replay(place, run, url, walk)
        assert heard == recorded
        assert heard[-1] == end
        assert report.exit_code == 0, report.text()


async def test_a_request_that_asks_for_no_socket_is_refused_by_name(place: Place) -> None:
    run, url, _ = await record(place, told({"say": "a"}))
    async with place.replaying(run) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        target = url.replace("ws:", "http:")
        writer.write(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        assert b"step 1 became a WebSocket, and this request asks for none" in await reader.read()
        writer.close()
        assert (await server.stop(0)).exit_code == 125

"""WebSockets inside a CONNECT that pause: messages are looked at, changed and let go as answers over HTTP are."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from replay_server.injection import Edit, Injection, message_of
from replay_server.modes import NotAllowed
from replay_server.pause import Held, Pause
from replay_server.server import ReplayOptions, ReplayServer
from replay_server.sockets.dialogue import Dialogue
from store.core.model import WsMessage
from store.core.websocket import Direction
from store.exchange import exchanges
from store.reader import Reader
from tests.replay_server.recording import Place, Recording
from tests.replay_server.sockets.test_dialogue import write
from tests.support import responses_shape
from tests.support.dialogue import Turn

MODEL = [
    event.partition(b"data: ")[2].strip()
    for event in responses_shape.events(Turn(1, "m1", ("Low", " risk"), None, "stop", 7))
]


def tell(recording: Recording) -> None:
    recording.get("http://tools.example.com/1")
    said: list[tuple[Direction, object]] = [("to_client", {"n": 1}), ("to_client", {"n": 2}), ("to_server", {"ask": 1})]
    said += [("to_client", json.loads(each)) for each in MODEL]
    write(recording, [*said, ("to_server", {"ask": 2})])


@asynccontextmanager
async def talking(place: Place, options: ReplayOptions) -> AsyncIterator[tuple[ReplayServer, ClientConnection]]:
    async with place.replaying(place.record(tell), options) as server:
        trust = ssl.create_default_context(cafile=place.trusted)
        proxy = f"http://127.0.0.1:{server.port}"
        async with connect("wss://w.example.com/ws", proxy=proxy, ssl=trust) as client:
            yield server, client


async def held(pause: Pause, *, other_than: Held | None = None) -> Held:
    async with asyncio.timeout(30):
        while pause.held is None or pause.held is other_than:  # noqa: ASYNC110  # one listener is told: the terminal
            await asyncio.sleep(0.005)
    return pause.held


async def test_each_message_is_held_and_a_model_s_answer_as_one(place: Place) -> None:
    pause = Pause(until=2)
    async with talking(place, ReplayOptions(pause=pause)) as (server, client):
        first = await held(pause)
        assert (first.step, first.place, first.recorded.body) == (
            2,
            "message 1 of GET https://w.example.com/ws",
            b'{"n": 1}',
        )
        await asyncio.wait_for(await client.ping(), 10)
        with pytest.raises(NotAllowed, match="has no status"):
            pause.say("next", Injection(status=500))
        pause.say("next", Injection(edits=(Edit.parse("/n=7"),)))
        assert json.loads(await client.recv()) == {"n": 7}
        await held(pause, other_than=first)
        pause.say("next", Injection())
        assert json.loads(await client.recv()) == {"n": 2}
        await client.send(json.dumps({"ask": 1}))
        answer = await held(pause)
        message = message_of(answer.recorded)
        assert isinstance(message, dict)
        assert "Low risk" in json.dumps(message)
        pause.say("continue", Injection(edits=(Edit.parse("/output/0/content/0/text=High risk"),)))
        told = [json.loads(await client.recv())]
        while told[-1]["type"] != "response.completed":
            told.append(json.loads(await client.recv()))
        assert "".join(event["delta"] for event in told if event["type"].endswith("text.delta")) == "High risk"
        assert "Low" not in json.dumps(told)
        await client.send(json.dumps({"ask": 2}))
        with pytest.raises(ConnectionClosed):
            await client.recv()
        report = await server.stop(0)
    assert report.document["edited"] == [2, 2]
    assert report.counts["messages"] == 2
    with Reader.open(place.store, place.keys) as reader:
        (socket,) = exchanges(reader.events(reader.find("last:replay").id))
        bodies = [
            reader.body(event, event.facts.body) for event in socket.messages if isinstance(event.facts, WsMessage)
        ]
    assert bodies[0] == b'{"n": 7}'
    assert b"High risk" in bodies[-2]


async def test_a_client_that_leaves_while_a_message_is_held_lets_the_next_one_have_its_turn(place: Place) -> None:
    pause = Pause(each=True)
    async with talking(place, ReplayOptions(pause=pause)) as (server, client):
        await held(pause)
        await client.close(4321, "enough")
        async with asyncio.timeout(30):
            while pause.held is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        await server.stop(0)
    with Reader.open(place.store, place.keys) as reader:
        (socket,) = exchanges(reader.events(reader.find("last:replay").id))
    assert [getattr(event.facts, "code", None) for event in socket.messages] == [4321]


async def test_messages_keep_their_recorded_times_where_that_is_wanted(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Dialogue, "_wait_us", lambda _: 40_000)
    began = asyncio.get_running_loop().time()
    async with talking(place, ReplayOptions(pace="0.5")) as (_, client):
        await client.recv()
        await asyncio.wait_for(await client.ping(), 10)
        await client.recv()
    assert asyncio.get_running_loop().time() - began >= 0.16, "at half the speed, 80 ms before each of the two"

"""A fork on a WebSocket: another answer from one message on, and models asked over HTTP after it."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from replay_server.injection import Edit, Injection
from replay_server.modes import NotAllowed
from replay_server.plan import ComparePlan, ForkPlan, Plan
from replay_server.registry import Registry
from replay_server.server import LiveOptions, ReplayOptions, ReplayServer
from store.core.model import WsMessage
from store.core.websocket import Direction
from store.exchange import exchanges
from store.reader import Reader
from tests.replay_server.forking import reach
from tests.replay_server.recording import Place, Recording
from tests.replay_server.sockets.test_dialogue import write
from tests.replay_server.sockets.test_holding import MODEL

HOST = "api.openai.com"
URL = f"wss://{HOST}/v1/responses"
ASKED = {"type": "response.create", "model": "m1", "input": []}
HIGH = Injection(edits=(Edit.parse("/output/0/content/0/text=High risk"),))
FIRST = 3  # message 1 greets, 2 asks


def tell(recording: Recording) -> None:
    said: list[tuple[Direction, object]] = [("to_client", {"n": 1}), ("to_server", ASKED)]
    said += [("to_client", json.loads(each)) for each in MODEL]
    said += [("to_server", {"ping": 1}), ("to_client", {"pong": 1}), ("to_server", ASKED)]
    said += [("to_client", json.loads(each)) for each in MODEL]
    write(recording, said, url=f"https://{HOST}/v1/responses")


def plan(message: int | None, injection: Injection = HIGH, *, live: bool = False) -> ForkPlan:
    return ForkPlan(1, Registry().with_models([(HOST, 443)]), injection, live, message)


@asynccontextmanager
async def talking(place: Place, how: Plan) -> AsyncIterator[tuple[ReplayServer, ClientConnection]]:
    options = ReplayOptions(live=LiveOptions(how, reach, b""))
    async with place.replaying(place.record(tell), options) as server:
        trust = ssl.create_default_context(cafile=place.trusted)
        async with connect(URL, proxy=f"http://127.0.0.1:{server.port}", ssl=trust) as client:
            yield server, client


async def answer(client: ClientConnection) -> str:
    """What the model says, put together of its messages."""
    told = [json.loads(await client.recv())]
    while told[-1]["type"] != "response.completed":
        told.append(json.loads(await client.recv()))
    return "".join(event["delta"] for event in told if event["type"].endswith("text.delta"))


@pytest.mark.parametrize("message", [FIRST, FIRST + 2])
async def test_a_models_answer_is_another_one_and_the_model_is_asked_over_http_after_it(
    place: Place, message: int
) -> None:
    async with talking(place, plan(message)) as (server, client):
        assert json.loads(await client.recv()) == {"n": 1}
        await client.send(json.dumps(ASKED))
        assert await answer(client) == "High risk"
        await client.send(json.dumps({"ping": 1}))
        assert json.loads(await client.recv()) == {"pong": 1}
        await client.send(json.dumps(ASKED))
        with pytest.raises(ConnectionClosed) as closed:
            await client.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1012
        trust = ssl.create_default_context(cafile=place.trusted)
        with pytest.raises(InvalidStatus) as refused:
            async with asyncio.timeout(20), connect(URL, proxy=f"http://127.0.0.1:{server.port}", ssl=trust):
                pass
        assert refused.value.response.status_code == 426
        report = await server.stop(0, confined=True)
    assert report.exit_code == 0, report.text()
    fork = report.document["fork"]
    assert isinstance(fork, dict)
    assert (fork["reached"], fork["sockets"], fork["withheld"]) == (True, 1, [])
    assert f"FORKED at step 1 (message {message}: /output/0/content/0/text set)" in report.text()
    with Reader.open(place.store, place.keys) as reader:
        socket, _ = exchanges(reader.events(server.run))
        said = [reader.body(event, event.facts.body) for event in socket.messages if isinstance(event.facts, WsMessage)]
    assert any(b"High risk" in each for each in said)
    assert not any(b"Low" in each for each in said)


async def test_before_its_message_nothing_of_a_fork_goes_live(place: Place) -> None:
    async with talking(place, plan(FIRST + len(MODEL) + 1, Injection(body=b'{"pong": 7}'))) as (server, client):
        await client.recv()
        await client.send(json.dumps(ASKED))
        assert await answer(client) == "Low risk"
        await client.send(json.dumps({"ping": 1}))
        assert json.loads(await client.recv()) == {"pong": 7}
        report = await server.stop(0, confined=True)
    assert report.exit_code == 0, report.text()


async def test_a_comparison_tells_a_socket_to_a_model_to_speak_http(place: Place) -> None:
    with pytest.raises(InvalidStatus, match="426"):
        async with talking(place, ComparePlan(Registry().with_models([(HOST, 443)]))):
            pass


@pytest.mark.parametrize(
    "how, sentence",
    [
        (plan(None), "say which of its messages"),
        (plan(2), "message 2 of step 1 is none that the server said"),
        (plan(999), "message 999 of step 1 is none that the server said"),
        (plan(FIRST, Injection(status=500)), "has no status"),
        (plan(FIRST, live=True), "real servers are not asked for"),
        (ForkPlan(2, Registry(), HIGH, message=1), "is no WebSocket"),
    ],
)
async def test_what_makes_no_sense_is_refused_with_what_to_say_instead(
    place: Place, how: ForkPlan, sentence: str
) -> None:
    def both(recording: Recording) -> None:
        tell(recording)
        recording.get("http://tools.example.com/1")

    run = place.record(both)
    with pytest.raises(NotAllowed, match=sentence):
        async with place.replaying(run, ReplayOptions(live=LiveOptions(how, reach, b""))):
            pass

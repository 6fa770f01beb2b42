"""A replay that pauses: what is held, what may be said of it, and what the client hears meanwhile."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from replay_server import holding
from replay_server.answer import Recorded
from replay_server.console import Console
from replay_server.injection import Edit, Injection
from replay_server.modes import NotAllowed
from replay_server.pause import Held, Pause
from replay_server.server import ReplayOptions, ReplayServer
from store.exchange import exchanges
from store.reader import Reader
from tests.replay_server.forking import ask
from tests.replay_server.recording import CHAT, EVENTS, Place, Recording
from tests.replay_server.wires import dial, dial_through
from tests.support import openai_shape
from tests.support.dialogue import Turn

PLACE = "http://tools.example.com"
STREAM = openai_shape.events(Turn(1, "m1", ("Low", " risk"), None, "stop", 7), False)


def tell(recording: Recording) -> None:
    for number in range(1, 4):
        recording.get(f"{PLACE}/{number}", b'{"n": %d}' % number)


async def held(pause: Pause) -> Held:
    async with asyncio.timeout(30):
        while pause.held is None:  # noqa: ASYNC110  # one listener is told, and that is the terminal
            await asyncio.sleep(0.01)
    return pause.held


async def body(server: ReplayServer, number: int) -> bytes:
    return (await ask(server, "GET", f"{PLACE}/{number}")).partition(b"\r\n\r\n")[2]


def said(*edits: str) -> Injection:
    return Injection(edits=tuple(Edit.parse(edit) for edit in edits))


async def test_answers_are_held_from_a_step_on_until_somebody_goes_on(place: Place) -> None:
    pause = Pause(until=2)
    async with place.replaying(place.record(tell), ReplayOptions(pause=pause)) as server:
        assert await body(server, 1) == b'{"n": 1}'
        second = asyncio.ensure_future(body(server, 2))
        waiting = await held(pause)
        assert (waiting.step, waiting.place, waiting.recorded.body) == (2, f"GET {PLACE}/2", b'{"n": 2}')
        assert not second.done()
        pause.say("continue", Injection())
        assert await second == b'{"n": 2}'
        assert await body(server, 3) == b'{"n": 3}'
        report = await server.stop(0)
    assert report.verdict.startswith("REPLAYED: all 3")
    assert report.document["edited"] == []


async def test_a_held_answer_can_be_changed_and_the_next_one_is_held_too(place: Place) -> None:
    pause = Pause(each=True)
    async with place.replaying(place.record(tell), ReplayOptions(pause=pause)) as server:
        for number, words in ((1, ("/n=7",)), (2, ())):
            asking = asyncio.ensure_future(body(server, number))
            assert (await held(pause)).step == number
            with pytest.raises(NotAllowed):
                pause.say("next", said("/none/0=1"))
            pause.say("next", said(*words))
            assert await asking == (b'{"n": 7}' if words else b'{"n": 2}')
        report = await server.stop(0)
        reader_of = server.session.tape
    assert report.document["edited"] == [1]
    assert "answered otherwise by hand: step 1" in report.text()
    assert reader_of.run.steps == 3


async def test_a_replay_that_is_ended_by_hand_says_so(place: Place) -> None:
    pause = Pause(until=1)
    async with place.replaying(place.record(tell), ReplayOptions(pause=pause)) as server:
        asking = asyncio.ensure_future(body(server, 1))
        await held(pause)
        pause.say("stop", Injection())
        await asking
        assert pause.quit.is_set()
        report = await server.stop(143)
    assert report.verdict.startswith("STOPPED by hand at step 1; ")
    assert report.document["never_requested"] == []
    with pytest.raises(NotAllowed):
        pause.say("next", Injection())


async def test_parallel_requests_are_held_one_at_a_time(place: Place) -> None:
    pause = Pause(each=True)
    async with place.replaying(place.record(tell), ReplayOptions(pause=pause)) as server:
        asking = [asyncio.ensure_future(body(server, number)) for number in (1, 2, 3)]
        seen = []
        for _ in asking:
            seen.append((await held(pause)).step)
            pause.say("next", Injection())
            await asyncio.sleep(0)
        assert sorted(seen) == [1, 2, 3]
        assert await asyncio.gather(*asking) == [b'{"n": 1}', b'{"n": 2}', b'{"n": 3}']


async def test_a_stream_that_is_held_is_kept_alive_with_comments(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "KEEP_ALIVE_S", 0.05)

    def stream(recording: Recording) -> None:
        recording.post(CHAT, {}, b"".join(STREAM), headers=EVENTS, framing="chunked")

    pause = Pause(each=True)
    async with place.replaying(place.record(stream), ReplayOptions(pause=pause)) as server:
        wire = await dial_through(server, place, "api.openai.com:443")
        head = (b"POST /v1/chat/completions HTTP/1.1", b"Host: api.openai.com", b"Content-Type: application/json")
        wire.send(b"\r\n".join((*head, b"Accept: application/json", b"Content-Length: 2", b"", b"{}")))
        await wire.until(b": edgetape holds this answer\n\n\r\n")
        assert (await held(pause)).has_begun
        with pytest.raises(NotAllowed, match="has gone out already"):
            pause.say("next", Injection(status=500))
        pause.say("next", said("/choices/0/message/content=High risk"))
        await wire.until(b"0\r\n\r\n")
    assert wire.received.count(b"HTTP/1.1 200") == 1
    assert b'"content":"High"' in wire.received
    assert b"Low" not in wire.received
    assert wire.received.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    with Reader.open(place.store, place.keys) as reader:
        (exchange,) = exchanges(reader.events(reader.find("last:replay").id))
    assert exchange.response is not None
    assert exchange.response.stop == "stop", "the changed answer has labels of its own"


async def test_a_client_that_leaves_lets_the_next_one_have_its_turn(place: Place) -> None:
    pause = Pause(each=True)
    async with place.replaying(place.record(tell), ReplayOptions(pause=pause)) as server:
        wire = await dial(server)
        wire.send(f"GET {PLACE}/1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await held(pause)
        wire.close()
        asking = asyncio.ensure_future(body(server, 2))
        async with asyncio.timeout(30):
            while pause.held is None or pause.held.step != 2:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        pause.say("continue", Injection())
        assert await asking == b'{"n": 2}'


@asynccontextmanager
async def console(pause: Pause) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    listener = socket.create_server(("127.0.0.1", 0))
    served = Console(pause, "token-1")
    await served.start(listener)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    async with aiohttp.ClientSession(headers={"Authorization": "Bearer token-1"}) as client:
        yield client, url
    await served.stop()


async def test_programs_look_and_go_on_by_http() -> None:
    pause = Pause(each=True)
    async with console(pause) as (client, url):
        async with client.get(f"{url}/v1/paused") as answer:
            assert await answer.json() == {"paused": None}
        async with client.post(f"{url}/v1/go", json={"action": "next"}) as answer:
            assert answer.status == 409
        answered = Recorded(200, b"OK", EVENTS, "chunked", "complete", b"".join(STREAM))
        waiting = asyncio.ensure_future(pause.hold(Held(4, "POST x", answered)))
        async with client.get(f"{url}/v1/paused?wait=5") as answer:
            told = (await answer.json())["paused"]
        assert (told["step"], told["answer"]["message"]["choices"][0]["message"]["content"]) == (4, "Low risk")
        no_set, no_status = {"action": "next", "set": "x"}, {"action": "next", "status": 99}
        wrongs: tuple[object, ...] = ({"action": "fly"}, no_set, no_status, [], "x")
        for wrong in wrongs:
            async with client.post(f"{url}/v1/go", json=wrong) as answer:
                assert answer.status == 422
        async with client.post(f"{url}/v1/go", json={"action": "next", "status": 503, "body": "down"}) as answer:
            assert await answer.json() == {"gone": 4}
        assert await waiting == Injection(b"down", 503)


@pytest.mark.parametrize(
    "headers, status",
    [({"Authorization": "Bearer wrong"}, 401), ({"Authorization": ""}, 401), ({"Origin": "http://a.example"}, 403)],
)
async def test_only_who_has_the_token_and_is_no_page_may(headers: dict[str, str], status: int) -> None:
    async with console(Pause(each=True)) as (client, url), client.get(f"{url}/v1/paused", headers=headers) as answer:
        assert answer.status == status

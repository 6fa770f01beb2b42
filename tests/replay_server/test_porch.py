"""Plain requests are answered without a detour, everything else goes in by the door, and nobody can tell which."""

import asyncio
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from replay_server import door, porch
from replay_server.admission import Admission
from replay_server.answer import Live, Reply
from replay_server.beginning import Beginning
from replay_server.caller import Caller, Heard, says_no_more
from replay_server.findings import Clients
from store.core.form import Asked, Pairs
from tests.replay_server.recording import Place, Recording
from tests.replay_server.test_connect import GET, eager_tls, tell
from tests.replay_server.wires import dial, dial_through

ROOT = Path(__file__).parents[2]
POST = b"POST http://api.example.com/p?b=1&a=%7e HTTP/1.1\r\nHost: api.example.com\r\n"
PLAIN = (
    b"GET http://api.example.com/ HTTP/1.1\r\nhost: other\r\n\r\n",
    b"HEAD /h HTTP/1.1\r\nHost: h\r\nX-Spaced: \t a  b \t\r\nX-Empty:\r\nx-empty: 2\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: api.example.com\r\nConnection: keep-alive\r\n\r\n",
    POST + b"content-length: 3\r\nConnection: Close\r\n\r\na\r\n",
    POST + b"Content-Length: 0\r\n\r\n",
)
RARE = (
    POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\nab",
    POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nab",
    POST + b"Content-Length: +2\r\n\r\nab",
    b"get /a HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
    b"GET /a HTTP/1.0\r\nHost: api.example.com\r\n\r\n",
    b"GET /a HTTP/1.1\nHost: api.example.com\n\n",
    b"GET /a HTTP/1.1\r\nHost: a\r\nX: 1\r\n folded\r\n\r\n",
    b"GET /a HTTP/1.1\r\nHost: a\r\nX: \xff\r\n\r\n",
    b"GET /a HTTP/1.1\r\nHost: a\r\nX : 1\r\n\r\n",
    b"GET /a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET /a HTTP/1.1\r\n\r\n",
    b"GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
)


async def test_what_is_plain_is_read_as_aiohttp_reads_it(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async with place.replaying(place.record(tell)) as server:
        heard: list[tuple[Asked, Live, bool]] = []
        ask = server.session.ask

        def hear(raw: Asked, live: Live, *, placed: bool, ledger: None) -> Reply:
            heard.append((replace(raw, headers=tuple(raw.headers)), live, placed))
            reply = ask(raw, live, placed=placed, ledger=ledger)
            assert isinstance(reply, Reply)
            return reply

        monkeypatch.setattr(type(server.session), "ask", lambda _, raw, live, **more: hear(raw, live, **more))
        for asked in PLAIN:
            for _ in range(2):
                wire = await dial(server)
                wire.send(asked[:30])
                await asyncio.sleep(0.01)
                wire.send(asked[30:])
                await wire.until(b"\r\n\r\n" if asked.startswith(b"HEAD") else b"}")
                wire.close()
                monkeypatch.setattr(porch, "_read", lambda _: None)
            monkeypatch.undo()
            monkeypatch.setattr(type(server.session), "ask", lambda _, raw, live, **more: hear(raw, live, **more))
            by_us, by_aiohttp = heard[-2:]
            assert by_us == by_aiohttp
    assert len(heard) == 2 * len(PLAIN)


@pytest.mark.parametrize("asked", PLAIN)
def test_what_is_plain_needs_nobody_else(asked: bytes) -> None:
    head = asked.partition(b"\r\n\r\n")[0]
    assert porch._read(head + b"\r\n\r\n") is not None


@pytest.mark.parametrize("asked", RARE)
def test_what_could_be_read_in_two_ways_is_left_to_aiohttp(asked: bytes) -> None:
    head = asked.partition(b"\r\n\r\n")[0]
    assert porch._read(head + b"\r\n\r\n") is None


async def test_a_connection_goes_in_by_the_door_and_nothing_on_it_is_lost(place: Place) -> None:
    def tell(recording: Recording) -> None:
        for name in "abc":
            recording.get(f"http://api.example.com/{name}", name.encode() * 3)

    async with place.replaying(place.record(tell)) as server:
        wire = await dial(server)
        for path, rest in (("a", ""), ("b", "Transfer-Encoding: chunked\r\n"), ("c", "")):
            body = "0\r\n\r\n" if rest else ""
            wire.send(f"GET http://api.example.com/{path} HTTP/1.1\r\nHost: x\r\n{rest}\r\n{body}".encode())
        await wire.until(b"ccc")
        assert [name in wire.received for name in (b"aaa", b"bbb")] == [True, True]
        assert (await server.stop(0)).counts["matched"] == 3


async def test_a_client_that_has_said_all_it_has_to_say_is_answered(place: Place) -> None:
    async with place.replaying(place.record(tell)) as server:
        wire = await dial(server)
        wire.send(b"GET http://api.example.com/a HTTP/1.1\r\nHost: x\r\n\r\n")
        assert wire.transport is not None
        wire.transport.write_eof()
        await wire.until(b"absolute")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there the kernel tells that it listens")
@pytest.mark.parametrize(
    "asked",
    [
        b"GET http://api.example.com/a HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET http://api.example.com/a HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n",
    ],
)
async def test_one_that_has_said_all_is_answered_however_long_that_takes_and_then_let_go(
    asked: bytes, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended, admits = asyncio.Event(), Admission.admits

    async def admits_late(self: Admission, transport: asyncio.BaseTransport | None, headers: Pairs) -> bool:
        await ended.wait()
        return await admits(self, transport, headers)

    def noted(transport: asyncio.Transport | None) -> bool:
        ended.set()
        return says_no_more(transport)

    monkeypatch.setattr(Admission, "admits", admits_late)
    monkeypatch.setattr(porch, "says_no_more", noted)
    monkeypatch.setattr(door, "says_no_more", noted)
    async with place.replaying(place.record(tell)) as server:
        wire = await dial(server)
        wire.send(asked)
        assert wire.transport is not None
        wire.transport.write_eof()
        await wire.until(b"absolute")
        assert await wire.end() == "closed"


PLAINLY = b"GET http://api.example.com/a HTTP/1.1\r\nHost: x\r\n\r\n"
RARELY = PLAINLY.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    "last, answers",
    [(PLAINLY, 2), (RARELY, 2), (RARELY + RARELY + PLAINLY, 4), (PLAINLY[:-9], 1)],
    ids=["plain", "rare", "many", "half"],
)
async def test_one_that_asks_ahead_and_says_between_two_answers_that_this_was_all_is_answered_and_let_go(
    last: bytes, answers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end may come when one answer is out and the next request is about to be looked at."""
    monkeypatch.setattr(porch, "says_no_more", lambda _: True)
    monkeypatch.setattr(door, "says_no_more", lambda _: True)
    may_answer, answered = asyncio.Event(), asyncio.Event()

    async def respond(asked: Heard) -> bool:
        await may_answer.wait()
        await asked.line.put(b"answer")
        answered.set()
        return True

    def failed(error: Exception) -> None:
        raise error

    porches = porch.Porches(respond, failed, Clients())
    loop, (inner, outer) = asyncio.get_running_loop(), socket.socketpair()
    front, _ = await loop.create_connection(Beginning, sock=inner)
    speaks = porch.Porch(porches, Caller(None))
    front.set_protocol(speaks)
    speaks.connection_made(front)
    speaks.data_received(PLAINLY + last)
    may_answer.set()
    await answered.wait()
    if not speaks.eof_received():
        front.close()
    with outer:
        outer.setblocking(False)
        async with asyncio.timeout(20):
            heard = b""
            while piece := await loop.sock_recv(outer, 100):
                heard += piece
    assert heard == b"answer" * answers


async def test_one_that_asks_far_ahead_is_heard_to_the_end() -> None:
    """More than is kept for later has come, and is only a part of the next request."""
    may_answer, bodies = asyncio.Event(), list[int]()

    async def respond(asked: Heard) -> bool:
        await may_answer.wait()
        bodies.append(len(await asked.line.body()))
        return bodies[-1] == 0

    porches = porch.Porches(respond, lambda _: None, Clients())
    loop, (inner, outer) = asyncio.get_running_loop(), socket.socketpair()
    await loop.create_connection(lambda: porch.Porch(porches, Caller(None)), sock=inner)
    long = porch.AHEAD_BYTES_MAX * 3
    upload = b"PUT http://api.example.com/a HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % long
    outer.setblocking(False)
    with outer:
        sending = asyncio.ensure_future(loop.sock_sendall(outer, PLAINLY + upload + b"1" * long))
        async with asyncio.timeout(20):
            while not any(one._has_paused for one in porches.open):  # noqa: ASYNC110  # nobody is told of it
                await asyncio.sleep(0)
            may_answer.set()
            await sending
            assert await loop.sock_recv(outer, 1) == b""
    assert bodies == [0, long]


def test_every_way_in_is_open_on_uvloop_too(place: Place) -> None:
    uvloop = pytest.importorskip("uvloop", reason="this system has none")

    async def everything() -> None:
        async with place.replaying(place.record(tell)) as server:
            assert await asyncio.to_thread(eager_tls, server.port, place.trusted) == b"secure"
            for hello in (b"CONNECT api.example.com:443 HTTP/1.1\r\n\r\n", b"\x05\x01\x00"):
                wire = await dial(server)
                wire.send(hello)
                await wire.until(b"\r\n\r\n" if hello.startswith(b"CONNECT") else b"\x05\x00")
                if not hello.startswith(b"CONNECT"):
                    wire.send(b"\x05\x01\x00\x03\x0fapi.example.com\x01\xbb")
                wire.send(GET)
                await wire.until(b"plain inside" if hello.startswith(b"CONNECT") else b"}")
            wire = await dial(server)
            wire.send(b"GET http://api.example.com/a HTTP/1.1\r\nHost: x\r\n\r\n")
            await wire.until(b"absolute")
            wire = await dial_through(server, place, "api.example.com:443", protocols=("h2",))
            wire.close()
            await server.stop(0)
            assert server.clients.h2_only == {"api.example.com": 1}

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(everything())


def test_a_replay_of_plain_requests_does_not_even_load_aiohttp() -> None:
    script = "import sys, proxy.sessions.replaying; print('aiohttp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

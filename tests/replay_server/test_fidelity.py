"""What goes over the wire is what was recorded: bytes, cuts, times and failures."""

import asyncio
import socket
import sys
import time
from typing import cast

import pytest

from replay_server import send as sending
from replay_server.server import ReplayOptions
from store.core.model import Ended, ErrorKind
from store.exchange import exchanges
from store.reader import Reader
from tests.replay_server.recording import EVENTS, Place, Recording
from tests.replay_server.wires import Wire, dial, dial_through, records
from tests.replay_server.wires import asking as ask

HOST = "api.example.com:443"
PIECES = [b"data: a\n\n", b"data: b", b"b\n\ndata: c\n\n", b"data: [DONE]\n\n"]


def stream(recording: Recording, path: str = "/s", wait_us: int = 0) -> None:
    cuts = [(len(piece), wait_us) for piece in PIECES]
    url = f"https://api.example.com{path}"
    recording.get(url, b"".join(PIECES), headers=EVENTS, framing="chunked", cuts=cuts)


async def test_c016_a_stream_keeps_its_cuts_each_written_by_itself(place: Place) -> None:
    async with place.replaying(place.record(stream)) as server:
        received = await asyncio.to_thread(records, server, place, HOST, ask("/s"), b"0\r\n\r\n")
        chunks = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in PIECES]
        assert received[1:] == [*chunks, b"0\r\n\r\n"]
        assert (await server.stop(0)).exit_code == 0


@pytest.mark.parametrize("pace, recorded_s, least_s", [("instant", 3600, 0), ("recorded", 0.25, 1), ("9000", 900, 0.4)])
async def test_c016_a_stream_keeps_its_pace_as_far_as_asked(
    place: Place, pace: str, recorded_s: float, least_s: float
) -> None:
    """One that came faster than recorded is one that did not take the minutes or hours that were recorded."""
    run = place.record(lambda recording: stream(recording, wait_us=round(recorded_s * 1e6)))
    async with place.replaying(run, ReplayOptions(pace=pace)) as server:
        wire = await dial_through(server, place, HOST)
        began = time.monotonic()
        wire.send(ask("/s"))
        await wire.until(b"0\r\n\r\n")
        assert time.monotonic() - began >= 0.95 * least_s  # as exact as a table of pieces is
        await server.stop(0)


async def test_interim_answers_come_again_before_the_answer_that_they_came_before(place: Place) -> None:
    told = [(b":status", b"100"), (b":status", b"102"), (b":status", b"103"), (b"Link", b"</a>"), (b"Link", b"</b>")]
    url = "http://api.example.com/early"

    def tell(recording: Recording) -> None:
        recording.get(url, b"1", interim=told)
        recording.get(url, b"2", interim=told)

    async with place.replaying(place.record(tell)) as server:
        answers = []
        for version in ("1.1", "1.0"):
            wire = await dial(server)
            wire.send(f"GET {url} HTTP/{version}\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            await wire.end()
            answers.append(wire.received)
        await server.stop(0)
    hints = b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>\r\n\r\n"
    assert answers[0].startswith(hints + b"HTTP/1.1 200 OK\r\n")
    assert answers[1].startswith(b"HTTP/1.1 200 OK\r\n")
    with Reader.open(place.store, place.keys) as reader:
        kept = [one.response and one.response.interim for one in exchanges(reader.events(server.run))]
    assert kept == [[[name.decode(), value.decode()] for name, value in told], None]


async def test_c022_a_coded_body_goes_out_in_the_recorded_bytes(place: Place) -> None:
    coded = bytes.fromhex("1f8b0800000000000203ab56cacf56b22a292a4dad0500905fd4a70b000000")

    def tell(recording: Recording) -> None:
        headers = ((b"Content-Type", b"application/json"), (b"Content-Encoding", b"gzip"))
        recording.get("https://api.example.com/z", coded, headers=headers)

    async with place.replaying(place.record(tell)) as server:
        wire = await dial_through(server, place, HOST)
        wire.send(ask("/z", more="Accept-Encoding: identity\r\n"))
        received = await wire.until(coded)
        head = received.removesuffix(coded)
        assert head == (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 31\r\n\r\n"
        )
        await server.stop(0)


async def test_nothing_is_added_to_a_bare_answer(place: Place) -> None:
    def tell(recording: Recording) -> None:
        recording.get("https://api.example.com/n", b"", headers=(), status=204, framing="none")
        recording.get("https://api.example.com/m", b"x", headers=((b"X", b"\xff\xfe caf\xc3\xa9"),), status=299)

    async with place.replaying(place.record(tell)) as server:
        wire = await dial_through(server, place, HOST)
        wire.send(ask("/n"))
        assert await wire.until(b"\r\n\r\n") == b"HTTP/1.1 204 No Content\r\n\r\n"
        wire.pieces.clear()
        wire.send(ask("/m"))
        assert (
            await wire.until(b"\r\n\r\nx") == b"HTTP/1.1 299 \r\nX: \xff\xfe caf\xc3\xa9\r\nContent-Length: 1\r\n\r\nx"
        )
        await server.stop(0)


async def test_head_and_get_are_two_things(place: Place) -> None:
    def tell(recording: Recording) -> None:
        request = recording.ask("HEAD", "https://api.example.com/h", headers=())
        recording.answer(request, b"", headers=((b"Content-Length", b"77"),), framing="none")

    async with place.replaying(place.record(tell)) as server:
        wire = await dial_through(server, place, HOST)
        wire.send(ask("/h", method="HEAD"))
        assert b"Content-Length: 77" in await wire.until(b"\r\n\r\n")
        wire.pieces.clear()
        wire.send(ask("/h"))
        assert (await wire.until(b"}")).startswith(b"HTTP/1.1 422")
        assert (await server.stop(0)).counts["unexpected"] == 1


async def test_a_body_that_ends_by_closing_does_so_again(place: Place) -> None:
    def tell(recording: Recording) -> None:
        recording.get("https://api.example.com/c", b"until the end", headers=((b"A", b"1"),), framing="close")

    async with place.replaying(place.record(tell)) as server:
        wire = await dial_through(server, place, HOST)
        wire.send(ask("/c"))
        assert await wire.end() == "closed"
        assert wire.received == b"HTTP/1.1 200 OK\r\nA: 1\r\nConnection: close\r\n\r\nuntil the end"
        await server.stop(0)


async def test_an_http_1_0_client_gets_no_chunks(place: Place) -> None:
    async with place.replaying(place.record(stream)) as server:
        wire = await dial_through(server, place, HOST)
        wire.send(ask("/s", version="1.0"))
        assert await wire.end() == "closed"
        assert wire.received.endswith(b"\r\n\r\n" + b"".join(PIECES))
        await server.stop(0)


async def partial(place: Place, ended: Ended, options: ReplayOptions | None = None) -> tuple[Wire, float, str]:
    def tell(recording: Recording) -> None:
        headers = ((b"Content-Length", b"1000"),)
        recording.get("http://api.example.com/p", b"x" * 123, headers=headers, ended=ended)

    async with place.replaying(place.record(tell), options) as server:
        wire = await dial(server)
        began = time.monotonic()
        wire.send(ask("http://api.example.com/p"))
        how = await wire.end()
        lasted = time.monotonic() - began
        report = await server.stop(0)
        assert report.counts["matched"] == 1
        return wire, lasted, how


async def test_a_reset_comes_at_the_same_byte(place: Place) -> None:
    wire, _, how = await partial(place, "reset")
    assert wire.received.endswith(b"Content-Length: 1000\r\nConnection: close\r\n\r\n" + b"x" * 123)
    assert how == "ConnectionResetError"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there the system tells what a client has taken")
async def test_a_reset_waits_for_a_client_that_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system has still to send is thrown away by a reset."""
    monkeypatch.setattr(sending, "RESET_AFTER_S", 0)
    loop, body = asyncio.get_running_loop(), b"x" * 1_000_000
    made: asyncio.Future[asyncio.Transport] = loop.create_future()

    class Made(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            made.set_result(cast(asyncio.Transport, transport))

    async with await loop.create_server(Made, "127.0.0.1", 0) as server:
        with socket.create_connection(server.sockets[0].getsockname()) as slow:
            slow.setblocking(False)
            transport, came = await made, 0
            transport.write(body)
            resetting = asyncio.ensure_future(sending.reset(transport))
            await asyncio.sleep(0.1)
            assert not transport.is_closing()
            while came < len(body):
                came += len(await loop.sock_recv(slow, 1 << 16))
            with pytest.raises(ConnectionResetError):
                await loop.sock_recv(slow, 1)
            await resetting


async def test_a_server_that_closed_early_closes_at_the_same_byte(place: Place) -> None:
    wire, _, how = await partial(place, "closed")
    assert wire.received.endswith(b"Content-Length: 1000\r\nConnection: close\r\n\r\n" + b"x" * 123)
    assert how == "closed"


async def test_a_timeout_holds_and_then_resets(place: Place) -> None:
    wire, lasted, how = await partial(place, "timeout", ReplayOptions(hang_s_max=0.6))
    assert wire.received.endswith(b"x" * 123)
    assert (lasted > 0.5, how) == (True, "ConnectionResetError")


@pytest.mark.parametrize("kind, how", [("reset", "ConnectionResetError"), ("closed", "closed"), ("connect", "closed")])
async def test_a_failure_without_an_answer_is_that_failure_again(place: Place, kind: ErrorKind, how: str) -> None:
    def tell(recording: Recording) -> None:
        recording.fail(recording.ask("GET", "http://api.example.com/f", headers=()), kind)
        recording.get("http://api.example.com/f", b"second")

    async with place.replaying(place.record(tell)) as server:
        wire = await dial(server)
        wire.send(ask("http://api.example.com/f"))
        assert await wire.end() == how
        assert wire.received.startswith(b"HTTP/1.1 502 " if kind == "connect" else b"")
        assert bool(wire.received) == (kind == "connect")
        again = await dial(server)
        again.send(ask("http://api.example.com/f"))
        await again.until(b"second")
        assert (await server.stop(0)).exit_code == 0


async def test_a_client_that_leaves_ends_the_hold_at_once(place: Place) -> None:
    def tell(recording: Recording) -> None:
        recording.fail(recording.ask("GET", "http://api.example.com/f", headers=()), "timeout")

    async with place.replaying(place.record(tell), ReplayOptions(hang_s_max=3600)) as server:
        wire = await dial(server)
        wire.send(ask("http://api.example.com/f"))
        async with asyncio.timeout(30):
            while not any(porch.answering for porch in server._porches.open):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            wire.close()
            while any(porch.answering for porch in server._porches.open):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        report = await server.stop(0)
        assert report.counts["matched"] == 1


async def test_a_429_is_an_answer_like_any_other(place: Place) -> None:
    def tell(recording: Recording) -> None:
        headers = ((b"Retry-After", b"30"),)
        recording.get("http://api.example.com/r", b"slow down", status=429, headers=headers)
        recording.get("http://api.example.com/r", b"fine")

    async with place.replaying(place.record(tell)) as server:
        wire = await dial(server)
        wire.send(ask("http://api.example.com/r"))
        assert b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 30\r\n" in await wire.until(b"slow down")
        wire.send(ask("http://api.example.com/r"))
        await wire.until(b"fine")
        await server.stop(0)


@pytest.mark.parametrize("cause", ["truncated", "recorder_stopped", "no outcome"])
async def test_what_is_not_whole_is_refused_by_name(place: Place, cause: str) -> None:
    def tell(recording: Recording) -> None:
        request = recording.ask("GET", "http://api.example.com/t", headers=())
        if cause == "truncated":
            recording.answer(request, b"half", truncated=True)
        elif cause == "recorder_stopped":
            recording.answer(request, b"half", ended="recorder_stopped")

    async with place.replaying(place.record(tell)) as server:
        wire = await dial(server)
        wire.send(ask("http://api.example.com/t"))
        received = await wire.until(b"}")
        assert received.startswith(b"HTTP/1.1 422")
        assert b"step 1" in received
        assert b"half" not in received
        report = await server.stop(0)
        assert (report.exit_code, report.counts["unserved"]) == (125, 1)
        assert report.verdict.startswith("NOT SERVED")


async def test_a_body_that_is_gone_is_refused_by_name(place: Place) -> None:
    def tell(recording: Recording) -> None:
        recording.get("http://api.example.com/g", b"gone with the wind")

    run = place.record(tell)
    place.lose_bodies(run)
    async with place.replaying(run) as server:
        wire = await dial(server)
        wire.send(ask("http://api.example.com/g"))
        received = await wire.until(b"}")
        assert b"the recorded answer of step 1 cannot be served" in received
        report = await server.stop(0)
        assert (report.exit_code, report.counts["unserved"]) == (125, 1)

"""Pieces that are carried across reach agent, tee and hooks as by mitmproxy's own layers, whatever their framing is."""

import asyncio
import random
import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path

import h11
import pytest
import trustme
from h11._readers import ChunkedReader
from h11._receivebuffer import ReceiveBuffer
from mitmproxy.http import HTTPFlow

from addons import http1, records, relay
from store.authority import Authority
from tests.addons.raw import connected, get, intercepted, served, until
from tests.addons.stories import ENDS, KINDS, OK, stories
from tests.addons.test_quickening import Heard, engine

SEED = 20_26


class Copies(Heard):
    """Hears every hook, by the path of its flow, and copies what streams."""

    def __init__(self, slow: frozenset[str]) -> None:
        self.by_path: dict[str, list[str]] = {}
        self.pieces: dict[str, list[bytes]] = {}
        super().__init__(slow)

    def _hearing(self, name: str, slow: bool, broken: bool) -> object:
        def hear(told: object) -> None:
            if isinstance(told, HTTPFlow) and told.request.method != "CONNECT":
                self.by_path.setdefault(told.request.path, []).append(f"{name} {told.error and told.error.msg}")
                if name == "responseheaders" and told.response is not None:
                    told.response.stream = copying(self.pieces.setdefault(told.request.path, []))

        async def wait(told: object) -> None:
            await asyncio.sleep(0.01)
            hear(told)

        return wait if slow else hear


def copying(pieces: list[bytes]) -> Callable[[bytes], bytes]:
    """A tee that keeps what it sees in a list."""

    def tee(piece: bytes) -> bytes:
        pieces.append(piece)
        return piece

    return tee


async def told(
    folder: Path, slow: frozenset[str], secure: trustme.CA | None, *, inline: bool
) -> tuple[list[tuple[object, ...]], list[str]]:
    """Of each story: what the agent saw, what the tee did, and which hooks were called; and what went wrong."""
    all_of_them, heard = stories(SEED), Copies(slow)
    context, roots = None, folder / "roots.pem"
    if secure is not None:
        secure.cert_pem.write_to_path(str(roots))
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        secure.issue_cert("127.0.0.1").configure_cert(context)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1]
        await all_of_them[int(path.rpartition(b"/")[2])].serve(writer)

    async def ask(number: int, up: int, port: int) -> None:
        if secure is None:
            async with connected(port) as streams:
                streams[1].write(get(f"http://127.0.0.1:{up}/{number}"))
                await all_of_them[number].hear(streams)
        else:
            root = Authority.open_or_create(folder / "authority").certificate_path
            async with intercepted(port, f"127.0.0.1:{up}", root) as streams:
                streams[1].write(b"GET /%d HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" % number)
                await all_of_them[number].hear(streams)

    started = engine(folder, heard, inline=inline, roots=roots if secure else None)
    async with started as (running, crashes), served(serve, context) as up:
        port = running.listening[0].port
        await asyncio.gather(*(ask(number, up, port) for number in range(len(all_of_them))))
        await until(lambda: running.connections == 0)
    outcome: list[tuple[object, ...]] = []
    for number, one in enumerate(all_of_them):
        path = f"/{number}"
        assert one.seen.startswith(OK), one
        body = b"".join(heard.pieces[path])
        if one.end == "cut by the agent":  # how much is under way when it leaves is for the clock to say
            outcome.append((one.name, heard.by_path[path], body.startswith(one.body)))
        else:
            outcome.append((one.name, heard.by_path[path], body, one.seen))
    return outcome, crashes


@pytest.mark.parametrize(
    "slow", [frozenset(), frozenset(("responseheaders", "response", "error"))], ids=["at once", "late"]
)
@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
async def test_agents_tees_and_hooks_see_the_same_as_by_the_layers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: frozenset[str], secure: bool
) -> None:
    carried: list[int] = []
    cut = http1.cut

    def counted(side: http1.TowardsServer, data: bytes) -> tuple[list[bytes], bytes]:
        pieces, rest = cut(side, data)
        carried.append(len(pieces))
        return pieces, rest

    monkeypatch.setattr(relay, "cut", counted)
    authority = trustme.CA() if secure else None
    theirs = await told(tmp_path, slow, authority, inline=False)
    assert not carried
    ours = await told(tmp_path, slow, authority, inline=True)
    assert sum(carried) > len(KINDS) * len(ENDS)
    assert ours == theirs
    assert not ours[1]


async def test_what_an_agent_is_slow_to_read_waits_at_its_server_and_comes_in_order(tmp_path: Path) -> None:
    many, sent = 2_500, [0]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"Connection: close\r\n\r\n")
        for number in range(many):
            writer.write(b"%4096d" % number)
            await writer.drain()
            await asyncio.sleep(0)  # so that each comes by itself
            sent[0] += 1

    started = engine(tmp_path, Copies(frozenset()), inline=True)
    async with started as (run, crashes), served(serve) as up, connected(run.listening[0].port) as (reader, writer):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 17)
        writer.write(get(f"http://127.0.0.1:{up}/0"))
        await until(lambda: sent[0] > 0)
        (connection,) = run._server.connections.values()
        towards_agent = connection.transports[connection.client].writer
        assert isinstance(towards_agent, asyncio.StreamWriter)
        unsent, before = 0, -1
        while before != sent[0]:
            before = sent[0]
            for _ in range(50):
                unsent = max(unsent, towards_agent.transport.get_write_buffer_size())
                await asyncio.sleep(0.001)
        answer = await reader.read()
    assert 0 < unsent <= relay.UNSENT_BYTES_MAX + records.READ_BYTES_MAX
    assert [int(number) for number in answer.partition(b"\r\n\r\n")[2].split()] == list(range(many))
    assert not crashes


@pytest.mark.parametrize("by", ["a hook", "another event"])
async def test_no_piece_overtakes_one_that_the_layers_have_to_read(tmp_path: Path, by: str) -> None:
    asked, goes_on = asyncio.Event(), asyncio.Event()

    async def request(_: HTTPFlow) -> None:
        asked.set()
        if by == "a hook":
            await goes_on.wait()

    def requestheaders(flow: HTTPFlow) -> None:
        flow.request.stream = True

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"Transfer-Encoding: chunked\r\n\r\n4\r\none,\r\n")
        await asked.wait()
        for part in (b"4;by=layers\r\ntwo,\r\n", b"5\r\nthree\r\n"):
            writer.write(part)
            await asyncio.sleep(0.05)
        goes_on.set()
        writer.write(b"0\r\n\r\n")

    heard = Copies(frozenset())
    vars(heard).update(request=request, requestheaders=requestheaders)
    started = engine(tmp_path, heard, inline=True)
    async with started as (run, crashes), served(serve) as up, connected(run.listening[0].port) as (reader, writer):
        writer.write(get(f"http://127.0.0.1:{up}/0", b"Transfer-Encoding: chunked", method=b"POST"))
        await reader.readuntil(b"one,")
        (connection,) = run._server.connections.values()
        async with connection._server_event_lock if by == "another event" else nullcontext():
            writer.write(b"0\r\n\r\n")
            if by == "another event":
                asked.set()
            await goes_on.wait()
        await reader.readuntil(b"0\r\n\r\n")
    assert b"".join(heard.pieces["/0"]) == b"one,two,three"
    assert not crashes


async def test_no_piece_overtakes_what_waits_for_a_writer(tmp_path: Path) -> None:
    goes_on, last = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"Transfer-Encoding: chunked\r\n\r\n4\r\none,\r\n")
        await goes_on.wait()
        writer.write(b"4\r\nfour\r\n")
        await last.wait()
        writer.write(b"0\r\n\r\n")

    heard = Copies(frozenset())
    started = engine(tmp_path, heard, inline=True)
    async with started as (run, crashes), served(serve) as up, connected(run.listening[0].port) as (reader, writer):
        writer.write(get(f"http://127.0.0.1:{up}/0"))
        await reader.readuntil(b"one,")
        (connection,) = run._server.connections.values()
        (waiting,) = (io.reader for one, io in connection.transports.items() if one is not connection.client)
        assert isinstance(waiting, asyncio.StreamReader)
        async with connection._drain_lock:
            asyncio.StreamReader.feed_data(waiting, b"4\r\ntwo,\r\n")
            await reader.readuntil(b"two,")
            asyncio.StreamReader.feed_data(waiting, b"6\r\nthree,\r\n")
            goes_on.set()
            await asyncio.sleep(0.05)
        last.set()
        await reader.readuntil(b"0\r\n\r\n")
    assert b"".join(heard.pieces["/0"]) == b"one,two,three,four"
    assert not crashes


@pytest.mark.parametrize("seed", range(30))
def test_chunks_are_cut_as_by_h11_wherever_they_come_in_two(seed: int) -> None:
    chance = random.Random(seed)
    sizes = [chance.choice((1, 2, 15, 16, 300)) for _ in range(6)]
    spelled = [b"%x", b"%X", b"00%x", b"%x;a=b", b"%x \t"]
    whole = b"".join(chance.choice(spelled) % size + b"\r\n" + b"y" * size + b"\r\n" for size in sizes)
    whole += chance.choice((b"0\r\n\r\n", b"0\r\nX: 1\r\n\r\n", b"-1\r\n", b"5\r\nhelloXX"))
    cuts = sorted(chance.randrange(len(whole)) for _ in range(chance.randrange(12)))
    parts = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True) if end > start]
    assert mixed(parts) == by_h11(parts)


def by_h11(parts: Sequence[bytes]) -> tuple[bytes, str]:
    """The body in chunks, and how it ends."""
    return _read(ChunkedReader(), ReceiveBuffer(), parts, cutting=False)


def mixed(parts: Sequence[bytes]) -> tuple[bytes, str]:
    """The same, with what is left to h11 read by it."""
    return _read(ChunkedReader(), ReceiveBuffer(), parts, cutting=True)


def _read(
    reader: ChunkedReader, received: ReceiveBuffer, parts: Sequence[bytes], *, cutting: bool
) -> tuple[bytes, str]:
    body = b""
    for part in parts:
        rest = part
        if cutting and not received:
            pieces, rest = http1.cut_chunks(reader, part)
            assert all(pieces)
            body += b"".join(pieces)
        received += rest
        try:
            while (event := reader(received)) is not None:
                if isinstance(event, h11.EndOfMessage):
                    return body, f"ended with {list(event.headers)}"
                body += bytes(event.data)
        except h11.ProtocolError:
            return body, "malformed"
    return body, "goes on"

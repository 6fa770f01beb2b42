"""A stream reaches the agent as it comes, and the log whole, with the length and the time of every piece."""

import asyncio
import time
from pathlib import Path

import httpx
import pytest

from addons.options import Durability
from store.core import chunks
from store.core.text import Apart
from tests.addons.raw import ask, connected, get, served, until
from tests.addons.recording import Recording, recording
from tests.support.provider import Provider


async def test_c001_each_event_reaches_the_agent_before_the_next_is_written(tmp_path: Path) -> None:
    heard = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head + b"9\r\ndata: a\n\n\r\n")
        await heard.wait()  # the second event is written only once the agent has had the first
        writer.write(b"9\r\ndata: b\n\n\r\n0\r\n\r\n")
        await writer.drain()

    async with served(serve) as port, recording(tmp_path) as made:
        async with (
            httpx.AsyncClient(proxy=made.proxy) as client,
            client.stream("GET", f"http://127.0.0.1:{port}/") as answer,
        ):
            pieces = answer.aiter_raw()
            assert await anext(pieces) == b"data: a\n\n"
            heard.set()
            assert [piece async for piece in pieces] == [b"data: b\n\n"]
        assert made.response_body(made.exchanges()[0]) == b"data: a\n\ndata: b\n\n"


async def test_an_event_stream_with_a_length_is_not_held_either(tmp_path: Path) -> None:
    heard = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 18\r\n\r\ndata: a\n\n")
        await heard.wait()
        writer.write(b"data: b\n\n")
        await writer.drain()

    async with served(serve) as port, recording(tmp_path) as made:
        async with (
            httpx.AsyncClient(proxy=made.proxy) as client,
            client.stream("GET", f"http://127.0.0.1:{port}/") as answer,
        ):
            pieces = answer.aiter_raw()
            assert await anext(pieces) == b"data: a\n\n"
            heard.set()
            assert [piece async for piece in pieces] == [b"data: b\n\n"]
        assert made.exchanges()[0].response is not None


@pytest.mark.parametrize(
    "body",
    [
        b'id: 1\ndata: {"a":1}\n\n: ping\n\ndata: {"a":2}\n\ndata: [DONE]\n\n',
        b'data: {"t":"\xe5\x8c\x97"}\n\n',
    ],
    ids=["comments stay", "a character is cut in two"],
)
async def test_c009_c011_the_bytes_of_a_stream_are_never_touched(tmp_path: Path, body: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for piece in (body[:13], body[13:]):
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
            await asyncio.sleep(0.03)
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async with served(serve) as port, recording(tmp_path) as made:
        answer = await ask(made.recorder.port, get(f"http://127.0.0.1:{port}/"))
        assert answer.endswith(b"\r\n\r\nd\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (body[:13], len(body) - 13, body[13:]))
        (exchange,) = made.exchanges()
        assert made.response_body(exchange) == body
        assert [chunk.length for chunk in chunk_table(made)] == [13, len(body) - 13]


async def test_lengths_and_times_of_chunks_are_kept(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        await ask(made.recorder.port, get(provider.url + "/fault/slow-sse?n=4&ms=80"))
        table = chunk_table(made)
        assert [chunk.length for chunk in table] == [len(b'id: 0\ndata: {"n":0}\n\n')] * 4
        assert all(60_000 < chunk.wait_us < 500_000 for chunk in table[1:])


async def test_a_stream_without_length_is_passed_on_at_once(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        started = time.monotonic()
        async with (
            httpx.AsyncClient(proxy=made.proxy) as client,
            client.stream("GET", provider.url + "/fault/big/300000?chunked&ms=400") as answer,
        ):
            await anext(answer.aiter_raw())
            first = time.monotonic() - started
        assert first < 1.0


async def test_pieces_of_an_open_stream_are_on_disk_soon(tmp_path: Path) -> None:
    hang = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head + b"9\r\ndata: a\n\n\r\n")
        await writer.drain()
        await hang.wait()

    async with served(serve) as port, recording(tmp_path) as made:
        async with connected(made.recorder.port) as (reader, writer):
            writer.write(get(f"http://127.0.0.1:{port}/"))
            await reader.readuntil(b"data: a\n\n")
            await until(lambda: pending(made) == [("head", True), ("answer", True)])
        hang.set()
        await until(lambda: pending(made) == [])


async def test_a_short_stream_leaves_no_pieces_behind(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        await ask(made.recorder.port, get(provider.url + "/fault/slow-sse?n=3&ms=150"))
        assert pending(made) == []


@pytest.mark.parametrize("durability", ["strict", "group"])
async def test_both_durabilities_record_the_same(tmp_path: Path, provider: Provider, durability: Durability) -> None:
    async with recording(tmp_path, durability=durability) as made:
        await ask(made.recorder.port, get(provider.url + "/fault/slow-sse?n=2&ms=10"))
        await ask(made.recorder.port, get(provider.url + "/a", method=b"POST", body=b"b"))
    found = made.exchanges()
    assert [exchange.response and exchange.response.ended for exchange in found] == ["complete", "complete"]


def chunk_table(made: Recording) -> list[chunks.Chunk]:
    (exchange,) = made.exchanges()
    assert exchange.response is not None
    assert exchange.outcome is not None
    assert isinstance(exchange.response.chunks, Apart)
    with made.reader() as reader:
        return list(chunks.decode(reader.body(exchange.outcome, exchange.response.chunks)))


def pending(made: Recording) -> list[tuple[str, bool]]:
    with made.reader() as reader:
        rows = reader._connection.execute("SELECT part, length(piece) > 0 FROM pending ORDER BY rowid").fetchall()
    return [(part, bool(filled)) for part, filled in rows]

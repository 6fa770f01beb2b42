"""A stream reaches the agent as it comes, and the log whole, with the length and the time of every piece."""

import asyncio
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from addons.options import Durability
from store.core import chunks
from store.core.text import Apart
from tests.addons.raw import ask, connected, get, served, until
from tests.addons.recording import Recording, recording
from tests.support.provider import Provider
from tests.support.steps import stepping

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


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
            httpx.AsyncClient(timeout=30, proxy=made.proxy) as client,
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
            httpx.AsyncClient(timeout=30, proxy=made.proxy) as client,
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
    pieces = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (body[:13], body[13:])]
    async with stepping(HEAD, *pieces, b"0\r\n\r\n") as steps, recording(tmp_path) as made:
        answer = await steps.asked(made.recorder.port)
        assert answer.endswith(b"\r\n\r\n" + b"".join(pieces) + b"0\r\n\r\n")
        (exchange,) = made.exchanges()
        assert made.response_body(exchange) == body
        assert [chunk.length for chunk in chunk_table(made)] == [13, len(body) - 13]


async def test_lengths_and_times_of_chunks_are_kept(tmp_path: Path) -> None:
    async with (
        stepping(HEAD, *[b"9\r\ndata: a\n\n\r\n"] * 4, b"0\r\n\r\n", pause_s=0.08) as steps,
        recording(tmp_path) as made,
    ):
        await steps.asked(made.recorder.port)
        table = chunk_table(made)
        assert [chunk.length for chunk in table] == [9] * 4
        moments = pairwise(zip(steps.written_s, steps.had_s, strict=True))  # between the two it passed the recorder
        for chunk, (before, after) in zip(table[1:], moments, strict=False):
            least_us, most_us = (after[0] - before[1]) * 1e6, (after[1] - before[0]) * 1e6
            assert least_us >= 0.08e6
            assert 0.95 * least_us - 1 <= chunk.wait_us <= 1.05 * most_us + 1  # as exact as a table is


async def test_a_stream_without_length_is_passed_on_at_once(tmp_path: Path) -> None:
    head = HEAD.replace(b"text/event-stream", b"text/plain")
    piece = b"3e8\r\n" + b"x" * 1000 + b"\r\n"
    async with stepping(head, *[piece] * 4, b"0\r\n\r\n") as steps, recording(tmp_path) as made:
        assert (await steps.asked(made.recorder.port)).endswith(piece * 4 + b"0\r\n\r\n")


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

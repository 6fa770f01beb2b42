"""What a client says and waits for around its request: `Expect`, and the end of its own side."""

import asyncio
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.addons.exact import RUN, begun, recorded, scripted
from tests.addons.raw import connected, served, until
from tests.addons.recording import Recording, recording

pytestmark = pytest.mark.asyncio(loop_scope="module")

OK = b"HTTP/1.1 200 OK\r\n"
EXPECTS = b"Expect: 100-Continue\r\nContent-Length: 5\r\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def made(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Recording]:
    async with recording(tmp_path_factory.mktemp("expect")) as made:
        yield made


async def test_what_a_client_expects_is_for_the_server_to_give(made: Recording) -> None:
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 100 Continue\r\nX-From: server\r\n\r\n")
        body = await reader.readexactly(5)
        writer.write(OK + b"Content-Length: 5\r\nConnection: close\r\n\r\n" + body)
        await writer.drain()

    async with served(serve) as port, connected(made.recorder.port) as (reader, writer):
        writer.write(b"POST http://127.0.0.1:%d/ HTTP/1.1\r\nHost: h\r\n%s%sexpects\r\n\r\n" % (port, EXPECTS, RUN))
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\nX-From: server\r\n\r\n"
        writer.write(b"hello")
        assert (await reader.read()).endswith(b"\r\n\r\nhello")
    assert heads == [b"POST / HTTP/1.1\r\nHost: h\r\n" + EXPECTS + b"\r\n"]
    exchange = await recorded(made, "expects")
    assert (b"Expect", b"100-Continue") in made.request_headers(exchange)
    assert made.upload(exchange) == ("complete", b"hello")


async def test_a_server_may_refuse_an_upload_by_its_head(made: Recording) -> None:
    refusal = b"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n"
    async with scripted(refusal) as server, connected(made.recorder.port) as (reader, writer):
        place = server.url.encode()
        writer.write(b"POST %s HTTP/1.1\r\nHost: h\r\n%s%srefused\r\n\r\n" % (place, EXPECTS, RUN))
        assert await reader.readuntil(b"\r\n\r\n") == refusal
    exchange = await recorded(made, "refused")
    assert exchange.response is not None
    assert (exchange.response.status, exchange.response.ended) == (417, "complete")
    await until(lambda: made.exchanges("refused")[0].upload is not None)
    assert made.upload(made.exchanges("refused")[0]) in (("client_gone", b""), ("reset", b""), ("closed", b""))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there the kernel tells")
async def test_an_agent_that_has_only_said_its_last_word_gets_its_answer(made: Recording) -> None:
    answered = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await answered.wait()
        writer.write(OK + b"Content-Length: 2\r\n\r\nok")
        await writer.drain()

    async with served(serve) as port, connected(made.recorder.port) as (reader, writer):
        writer.write(b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: h\r\n%shalf\r\n\r\n" % (port, RUN))
        writer.write_eof()
        await until(lambda: bool(begun(made, "half")))
        answered.set()
        assert await reader.read() == OK + b"Content-Length: 2\r\n\r\nok"
    response = (await recorded(made, "half")).response
    assert response is not None
    assert response.ended == "complete"

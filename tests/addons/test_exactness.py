"""Cases that other recorders got wrong, each in its smallest form: the wire and the record agree byte for byte."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from addons.tee import Tee
from tests.addons.exact import RUN, echoing, exchanged, recorded, scripted, write_slowly
from tests.addons.raw import connected, get, served, tunnelled, until
from tests.addons.recording import Recording, recording

pytestmark = pytest.mark.asyncio(loop_scope="module")

ZSTD = bytes.fromhex("28b52ffd200d690000") + b'{"model":"m"}'
OK = b"HTTP/1.1 200 OK\r\n"
BODIES = {
    "order": (b"application/json", b'{"id":"x","choices":[],"created":1}'),
    "twice": (b"application/json", b'{"a":1,"a":2}'),
    "large number": (b"application/json", b'{"n":12345678901234567890}'),
    "float": (b"application/json", b'{"t":1.0}'),
    "beyond floats": (b"application/json", b'{"e":1e400}'),
    "no utf-8": (b"application/json", b'{"a":"\xff"}'),
    "latin-1": (b"text/plain; charset=ISO-8859-1", b"\xe9"),
    "gzip as a file": (b"application/x-gzip", b"\x1f\x8b\x08\x00"),
    "a picture with =": (b"image/jpeg", b"\xff\xd8\xff\xe1\x00\xe8Exif=1&two=x"),
    "base64": (b"text/plain", b"dGVzdA=="),
    "a cut frame of AWS": (b"application/vnd.amazon.eventstream", bytes.fromhex("0000004a0000002aacda")),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def made(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Recording]:
    async with recording(tmp_path_factory.mktemp("exact")) as made:
        yield made


@pytest.mark.parametrize("name", BODIES)
async def test_c037_a_body_is_stored_as_it_came_and_never_spelled_anew(made: Recording, name: str) -> None:
    kind, body = BODIES[name]
    async with echoing(kind) as (port, seen):
        raw = get(f"http://127.0.0.1:{port}/", b"Content-Type: " + kind, method=b"POST", body=body)
        answer, exchange = await exchanged(made, name, raw)
    assert seen == [body]
    assert answer.endswith(b"\r\n\r\n" + body)
    assert made.request_body(exchange) == made.response_body(exchange) == body


async def test_c027_a_request_in_zstd_passes_untouched_and_is_understood(made: Recording) -> None:
    async with echoing(b"application/json", b"Content-Encoding: zstd\r\n") as (port, seen):
        url = f"http://127.0.0.1:{port}/v1/chat/completions"
        raw = get(url, b"Content-Type: application/json", b"Content-Encoding: zstd", method=b"POST", body=ZSTD)
        _, exchange = await exchanged(made, "zstd", raw)
        broken = ZSTD[:12] + b"\xff" * 10
        answer, other = await exchanged(made, "broken zstd", raw.replace(ZSTD, broken))
    assert seen == [ZSTD, broken]
    assert made.request_body(exchange) == made.response_body(exchange) == ZSTD
    assert exchange.facts.model == "m"
    assert answer.startswith(OK)
    assert other.facts.body is not None


@pytest.mark.parametrize(
    "head, pieces",
    [
        (b"Transfer-Encoding: chunked\r\n", (b"6\r\ndata: \r\n", b"3\r\na\n\n\r\n", b"0\r\n\r\n")),
        (b"Content-Type: text/event-stream\r\nContent-Length: 9\r\n", (b"data: ", b"a\n\n")),
        (b"Connection: close\r\n", (b"data: ", b"a\n\n")),
    ],
    ids=["chunked", "length", "close"],
)
async def test_c003_what_passes_as_a_stream_is_stored_whole(
    made: Recording, head: bytes, pieces: tuple[bytes, ...]
) -> None:
    async with scripted(OK + head + b"\r\n", *pieces) as server:
        answer, exchange = await exchanged(made, f"stream {head!r}", get(server.url))
    assert answer.endswith(b"\r\n\r\n" + b"".join(pieces))
    assert made.response_body(exchange) == b"data: a\n\n"
    assert exchange.response is not None
    assert (exchange.response.ended, exchange.response.chunks is not None) == ("complete", True)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 204 No Content\r\n\r\n",
        OK + b"Content-Length: 0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\nContent-Encoding: gzip\r\nContent-Length: 12\r\n\r\n",
        OK + b"Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n",
    ],
)
async def test_an_empty_body_is_a_whole_one_whatever_it_claims_to_be(made: Recording, answer: bytes) -> None:
    async with scripted(answer) as server:
        came, exchange = await exchanged(made, f"empty {answer!r}", get(server.url))
    assert came == answer
    assert exchange.response is not None
    assert (exchange.response.ended, exchange.response.body) == ("complete", None)


async def test_a_head_with_the_length_of_its_get_is_followed_by_the_next_answer(made: Recording) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"Content-Encoding: gzip\r\nContent-Length: 1488324\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"Content-Length: 2\r\n\r\nok")
        await writer.drain()

    async with served(serve) as port, connected(made.recorder.port) as (reader, writer):
        for method in (b"HEAD", b"GET"):
            writer.write(method + b" http://127.0.0.1:%d/ HTTP/1.1\r\nHost: h\r\n%shead\r\n\r\n" % (port, RUN))
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(OK)
        assert await reader.readexactly(2) == b"ok"
    first, second = made.exchanges("head")
    assert (first.response and first.response.framing, made.response_body(second)) == ("none", b"ok")


async def test_a_request_leaves_as_it_came_with_its_framing(made: Recording) -> None:
    sent = [b"5\r\nhello\r\n", b"5\r\nworld\r\n", b"0\r\n\r\n"]
    got: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await reader.readuntil(b"0\r\n\r\n"))
        writer.write(OK + b"Content-Length: 0\r\n\r\n")
        await writer.drain()

    head = b"Host: h\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\nCookie: k=1; k=1\r\nX-A: 1\r\nX-A: 2\r\n"
    async with served(serve) as port, connected(made.recorder.port) as streams:
        line = b"PUT http://127.0.0.1:%d/t?loc=1&loc=2&loc=1 HTTP/1.1\r\n" % port
        await write_slowly(streams, line + head + RUN + b"as it came\r\n\r\n", *sent)
        await streams[0].readuntil(b"\r\n\r\n")
    assert got == [b"PUT /t?loc=1&loc=2&loc=1 HTTP/1.1\r\n" + head + b"\r\n" + b"".join(sent)]
    assert made.upload(await recorded(made, "as it came")) == ("complete", b"helloworld")


async def test_a_server_is_let_go_as_soon_as_its_agent_has_left(made: Recording) -> None:
    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"Transfer-Encoding: chunked\r\n\r\n")
        try:
            while not reader.at_eof():  # the recorder reads on for as long as its agent does
                writer.write(b"400\r\n" + b"x" * 1024 + b"\r\n")
                await writer.drain()
                await asyncio.sleep(0.005)
        finally:
            gone.set()

    async with served(serve) as port:
        async with connected(made.recorder.port) as (reader, writer):
            writer.write(get(f"http://127.0.0.1:{port}/", RUN + b"left"))
            await reader.readexactly(2048)
        async with asyncio.timeout(30):
            await gone.wait()
    response = (await recorded(made, "left")).response
    assert response is not None
    assert response.ended == "client_gone"


@pytest.mark.parametrize(
    "fields", [b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", b"Content-Length: 5\r\nContent-Length: 6\r\n"]
)
async def test_an_answer_of_two_lengths_is_refused_on_record(made: Recording, fields: bytes) -> None:
    async with scripted(OK + fields + b"\r\n5\r\nhello\r\n0\r\n\r\n") as server:
        answer, exchange = await exchanged(made, f"two lengths {fields!r}", get(server.url))
    assert not answer.startswith(OK)
    assert exchange.error is not None


async def test_an_answer_that_asks_its_agent_to_go_past_us_is_kept_whole_and_passed_on_without(made: Recording) -> None:
    head = OK + b'Content-Length: 2\r\nAlt-Svc: h3=":443"; ma=86400\r\nX-Last: 1\r\n\r\n'
    async with scripted(head + b"ok") as server:
        answer, exchange = await exchanged(made, "alternative", get(server.url))
    assert answer == OK + b"Content-Length: 2\r\nX-Last: 1\r\n\r\nok"
    assert exchange.outcome is not None
    assert exchange.response is not None
    with made.reader() as reader:
        assert (b"Alt-Svc", b'h3=":443"; ma=86400') in reader.pairs(exchange.outcome, exchange.response.headers)


async def test_a_length_with_leading_zeros_is_a_length(made: Recording) -> None:
    async with scripted(OK + b"Content-Length: 0002\r\n\r\nok") as server:
        answer, exchange = await exchanged(made, "zeros", get(server.url))
    assert answer == OK + b"Content-Length: 0002\r\n\r\nok"
    assert made.response_body(exchange) == b"ok"


@pytest.mark.parametrize(
    "target, host, port",
    [
        ("http://xn--j1ay.xn--p1ai.invalid:8080/p", "xn--j1ay.xn--p1ai.invalid", 8080),
        ("http://xn--fa-hia.invalid/p", "xn--fa-hia.invalid", 80),
        ("http://foo_bar.invalid/p", "foo_bar.invalid", 80),
        ("http://[::1]:1/p", "::1", 1),
    ],
)
async def test_a_host_is_recorded_as_it_was_named(made: Recording, target: str, host: str, port: int) -> None:
    answer, exchange = await exchanged(made, target, get(target))
    assert answer.startswith(b"HTTP/1.1 502 ")
    assert (exchange.facts.host, exchange.facts.port, exchange.facts.path) == (host, port, "/p")
    with pytest.raises(ConnectionError, match="502"):
        async with tunnelled(made.recorder.port, target.split("/")[2] + (":80" if port == 80 else "")):
            pass


async def test_localhost_is_reached_whichever_family_its_server_listens_on(made: Recording) -> None:
    async with scripted(OK + b"Content-Length: 2\r\n\r\nok") as server:
        url = server.url.replace("127.0.0.1", "localhost")
        answer, exchange = await exchanged(made, "localhost", get(url))
    assert answer.endswith(b"ok")
    assert (exchange.facts.host, exchange.response and exchange.response.upstream) == (
        "localhost",
        f"127.0.0.1:{server.port}",
    )


async def test_a_token_that_the_server_repeats_is_taken_out_there_too(made: Recording) -> None:
    body = b'{"you_sent":"Bearer abcdef-0123456789-token"}'
    async with scripted(OK + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)) as server:
        raw = get(server.url, b"Authorization: Bearer abcdef-0123456789-token")
        answer, exchange = await exchanged(made, "repeated", raw)
    assert answer.endswith(body)
    assert b"0123456789" not in made.response_body(exchange)


async def test_c091_secrets_of_a_token_exchange_are_stored_neither_of_request_nor_answer(made: Recording) -> None:
    asked = b"grant_type=client_credentials&client_secret=s3cr3t"
    told = b'{"access_token":"abc","refresh_token":"def"}'
    head = b"Content-Type: application/json\r\nSet-Cookie: sid=ghi; Path=/\r\nContent-Length: %d\r\n\r\n" % len(told)
    async with scripted(OK + head + told) as server:
        kind = b"Content-Type: application/x-www-form-urlencoded"
        raw = get(server.url + "oauth2/token", kind, method=b"POST", body=asked)
        answer, exchange = await exchanged(made, "token", raw)
    assert answer.endswith(b"\r\n\r\n" + told)
    assert exchange.outcome is not None
    assert exchange.response is not None
    with made.reader() as reader:
        fields = reader.pairs(exchange.outcome, exchange.response.headers)
    stored = made.request_body(exchange) + made.response_body(exchange) + b"".join(value for _, value in fields)
    assert not [secret for secret in (b"s3cr3t", b"abc", b"def", b"ghi") if secret in stored]
    assert (exchange.response.exact, exchange.response.wire_bytes) == (False, len(told))


async def test_a_body_is_truncated_by_the_byte_beyond_the_limit_and_not_at_it() -> None:
    for length, truncated in ((5, False), (6, True)):
        tee = Tee(0, 5, lambda _: None)
        tee(b"abcdef"[:length])
        body = tee.body()
        assert (body.content, body.cut_bytes, tee.seen_bytes) == (b"abcde", length if truncated else 0, length)
        tee.close()


async def test_nothing_failed_unseen(made: Recording) -> None:
    await until(lambda: made.recorder.counts.failures == 0)

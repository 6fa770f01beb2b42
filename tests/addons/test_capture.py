"""What is recorded of ordinary exchanges is what crossed the wire, byte for byte and in its order."""

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from store.core.model import HttpRequest, HttpResponse, RunOpen
from tests.addons.raw import ANSWER_S_MAX, ask, connected, get, intercepted, served, tunnelled
from tests.addons.recording import recording
from tests.support.authority import ServerCertificate
from tests.support.processes import running_module
from tests.support.provider import Provider

MIB = 1024 * 1024


async def test_a_plain_exchange_is_a_request_and_its_outcome(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        async with httpx.AsyncClient(timeout=30, proxy=made.proxy) as client:
            answer = await client.post(provider.url + "/orders?page=2", json={"a": 1})
        (exchange,) = made.exchanges()
        assert [type(fact) for fact in made.facts()] == [RunOpen, HttpRequest, HttpResponse]
        assert (exchange.facts.method, exchange.facts.path, exchange.facts.port) == ("POST", "/orders", provider.port)
        with made.reader() as reader:
            assert reader.body(exchange.request, exchange.facts.query) == b"page=2"
        assert made.request_body(exchange) == b'{"a":1}'
        assert made.response_body(exchange) == answer.content
        assert exchange.response is not None
        assert (exchange.response.ended, exchange.response.framing) == ("complete", "length")
        assert made.recorder.counts.exchanges == 1


async def test_c030_headers_keep_order_case_and_repeats_on_the_wire_and_in_the_log(
    tmp_path: Path, provider: Provider
) -> None:
    odd = [b"Via: 2", b"vARY: 1", b"Via: 3", b"User-Agent: caf\xe9"]
    async with recording(tmp_path) as made:
        answer = await ask(made.recorder.port, get(provider.url + "/fault/odd-headers", *odd))
        (exchange,) = made.exchanges()
        expected = [(b"Host", b"upstream"), (b"Connection", b"close"), (b"Via", b"2"), (b"vARY", b"1"), (b"Via", b"3")]
        assert made.request_headers(exchange) == [*expected, (b"User-Agent", b"caf\xe9")]
        assert provider.seen()[0].headers == tuple(made.request_headers(exchange))
        assert exchange.outcome is not None
        assert exchange.response is not None
        with made.reader() as reader:
            recorded = reader.pairs(exchange.outcome, exchange.response.headers)
        sent = [tuple(line.split(b": ", 1)) for line in answer.split(b"\r\n\r\n")[0].split(b"\r\n")[1:]]
        assert [name for name, _ in recorded] == [line[0].rstrip(b":") for line in sent]
        assert [name for name, _ in recorded][:4] == [b"X-ODD-Case", b"Set-Cookie", b"x-odd-case", b"Set-Cookie"]


async def test_c022_a_coded_body_is_kept_as_it_crossed_the_wire(tmp_path: Path, provider: Provider) -> None:
    coded = gzip.compress(b'{"model":"m"}', mtime=0)
    async with recording(tmp_path) as made:
        request = get(provider.url + "/fault/gzip", b"Content-Encoding: gzip", method=b"POST", body=coded)
        answer = await ask(made.recorder.port, request)
        (exchange,) = made.exchanges()
        assert made.request_body(exchange) == coded == provider.seen()[0].body
        assert made.response_body(exchange) == answer.partition(b"\r\n\r\n")[2]
        assert gzip.decompress(made.response_body(exchange)).startswith(b"{")


@pytest.mark.parametrize(
    "fault, method, framing, ended",
    [
        ("no-length", b"GET", "close", "complete"),
        ("chunked", b"GET", "chunked", "complete"),
        ("204", b"GET", "none", "complete"),
        ("304", b"GET", "none", "complete"),
        ("big/10", b"HEAD", "none", "complete"),
        ("half-close", b"GET", "close", "complete"),
    ],
)
async def test_framing_is_recorded_as_a_fact(
    tmp_path: Path, provider: Provider, fault: str, method: bytes, framing: str, ended: str
) -> None:
    async with recording(tmp_path) as made:
        answer = await ask(made.recorder.port, get(f"{provider.url}/fault/{fault}", method=method))
        (exchange,) = made.exchanges()
        assert exchange.response is not None
        assert (exchange.response.framing, exchange.response.ended) == (framing, ended)
        head, _, body = answer.partition(b"\r\n\r\n")
        recorded = made.response_body(exchange)
        assert recorded == (b"" if framing == "none" else recorded)
        if framing == "close":
            assert recorded == body
        assert head.startswith(b"HTTP/1.1 ")


async def test_a_keep_alive_connection_carries_several_exchanges_of_http_1_0_and_1_1(tmp_path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            line = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0]
            version = line.split(b" ")[-1]
            writer.write(version + b" 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok")
            await writer.drain()

    async with served(serve) as port, recording(tmp_path) as made:
        async with connected(made.recorder.port) as (reader, writer):
            for version in (b"HTTP/1.0", b"HTTP/1.1"):
                url = b"http://127.0.0.1:%d/" % port
                writer.write(b"GET " + url + b" " + version + b"\r\nHost: x\r\nConnection: keep-alive\r\n\r\n")
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.startswith(version + b" 200 OK")
                assert await reader.readexactly(2) == b"ok"
        found = [(one.facts.http_version, one.response and one.response.http_version) for one in made.exchanges()]
        assert found == [("HTTP/1.0", "HTTP/1.0"), ("HTTP/1.1", "HTTP/1.1")]


@pytest.mark.parametrize(
    "rest", [b"", b"GET /half HT", b"PUT http://h/ HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n1"]
)
async def test_an_agent_that_asks_ahead_and_says_that_this_was_all_gets_every_answer(
    tmp_path: Path, provider: Provider, rest: bytes
) -> None:
    asked = b"".join(b"GET %s/slowly?%d HTTP/1.1\r\nHost: x\r\n\r\n" % (provider.url.encode(), at) for at in range(3))
    async with recording(tmp_path) as made:
        async with connected(made.recorder.port) as (reader, writer):
            writer.write(asked + rest)
            writer.write_eof()
            async with asyncio.timeout(ANSWER_S_MAX):
                assert (await reader.read()).count(b"HTTP/1.1 200") == 3
        assert len(provider.seen()) == 3


async def test_a_very_long_query_and_header_and_a_path_of_other_bytes_are_recorded(
    tmp_path: Path, provider: Provider
) -> None:
    query, long = b"q=" + b"a" * 100_000, b"h" * 80_000
    raw = b"GET %s/caf\xe9?%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: %s\r\n\r\n"
    async with recording(tmp_path) as made:
        await ask(made.recorder.port, raw % (provider.url.encode(), query, long))
        (exchange,) = made.exchanges()
        with made.reader() as reader:
            assert reader.body(exchange.request, exchange.facts.query) == query
            assert reader.text(exchange.request, exchange.facts.path) == b"/caf\xe9"
        assert (b"Accept", long) in made.request_headers(exchange)


async def test_https_is_opened_and_recorded_with_what_tls_told(
    tmp_path: Path, tls_provider: Provider, upstream_root: Path
) -> None:
    async with recording(tmp_path, upstream_ca=upstream_root) as made:
        trust = ssl.create_default_context(cafile=str(made.authority))
        async with httpx.AsyncClient(timeout=30, proxy=made.proxy, verify=trust) as client:
            await client.post(tls_provider.url + "/a", json={"n": 1})
            await client.post(tls_provider.url.replace("127.0.0.1", "localhost") + "/b", json={"n": 2})
        first, second = made.exchanges()
        assert (first.facts.scheme, first.facts.host, second.facts.host) == ("https", "127.0.0.1", "localhost")
        assert first.response is not None
        assert str(first.response.tls).startswith("TLSv1.3 ")
        assert first.response.upstream == f"127.0.0.1:{tls_provider.port}"


async def test_http2_on_both_sides_keeps_streams_apart_with_their_trailers(
    tmp_path: Path, upstream_certificate: ServerCertificate, upstream_root: Path
) -> None:
    files = (str(upstream_certificate.certificate), str(upstream_certificate.key))
    with running_module("tests.support.h2_echo", "--tls", *files) as server:
        async with recording(tmp_path, upstream_ca=upstream_root) as made:
            trust = ssl.create_default_context(cafile=str(made.authority))
            async with httpx.AsyncClient(timeout=30, proxy=made.proxy, verify=trust, http2=True) as client:
                answers = await asyncio.gather(
                    client.get(server.url + "/stream?n=3&ms=60"),
                    client.post(server.url + "/echo", content=b"x" * 70_000),
                    client.get(server.url + "/trailers"),
                )
            assert {answer.http_version for answer in answers} == {"HTTP/2"}
            found = {str(one.facts.path): one for one in made.exchanges()}
            assert {(one.facts.host, one.facts.port) for one in found.values()} == {("127.0.0.1", server.port)}
            assert made.response_body(found["/stream"]) == b"data: 0\n\ndata: 1\n\ndata: 2\n\n" == answers[0].content
            assert made.request_body(found["/echo"]) == b"x" * 70_000
            assert json.loads(made.response_body(found["/echo"]))["body"] == "x" * 70_000
            response = found["/trailers"].response
            assert response is not None
            assert (response.framing, response.http_version) == ("frames", "HTTP/2.0")
            assert response.trailers == [["x-checksum", "scripted"]]


async def test_plain_http_inside_a_connect_is_recorded(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        async with tunnelled(made.recorder.port, f"127.0.0.1:{provider.port}") as (reader, writer):
            writer.write(b"GET /inside HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 200 OK")
        (exchange,) = made.exchanges()
        assert (exchange.facts.scheme, exchange.facts.path, exchange.facts.port) == ("http", "/inside", provider.port)


async def test_a_long_upload_streams_and_is_recorded_when_it_ends(tmp_path: Path, provider: Provider) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for number in range(3):
            yield b"%d" % number * 40_000
            await asyncio.sleep(0.02)

    async with recording(tmp_path) as made:
        async with httpx.AsyncClient(timeout=30, proxy=made.proxy) as client:
            await client.post(provider.url + "/upload", content=pieces())
        (exchange,) = made.exchanges()
        assert exchange.facts.streaming
        assert exchange.facts.body is None
        body = b"0" * 40_000 + b"1" * 40_000 + b"2" * 40_000
        assert provider.seen()[0].body == body
        assert made.upload(exchange) == ("complete", body)


async def test_secrets_of_the_wire_do_not_reach_the_store(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path, secrets=("from-the-environment-1",)) as made:
        fields = (b"Authorization: Bearer canary-1", b"Cookie: s=canary-2", b"X-Api-Key: canary-3")
        url = provider.url + "/fault/odd-headers?api_key=canary-4"
        await ask(made.recorder.port, get(url, *fields, b"X-Note: from-the-environment-1"))
        assert b"canary-3" in provider.seen()[0].head
        (exchange,) = made.exchanges()
        assert exchange.response is not None
        written = repr(made.events()).encode() + b"".join(
            path.read_bytes() for path in made.folder.rglob("*") if path.is_file()
        )
        for secret in (b"canary-1", b"canary-2", b"canary-3", b"canary-4", b"from-the-environment-1", b"session=one"):
            assert secret not in written


async def test_labels_say_what_was_asked_and_answered(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        body = {"model": "scripted-1", "messages": [{"role": "user", "content": "hi"}], "temperature": 0.5}
        async with httpx.AsyncClient(timeout=30, proxy=made.proxy) as client:
            await client.post(provider.url + "/v1/chat/completions", json=body)
        (exchange,) = made.exchanges()
        assert (exchange.facts.kind, exchange.facts.boundary) == ("llm", "decision")
        assert exchange.facts.model == "scripted-1"
        assert exchange.response is not None
        assert exchange.response.model == "scripted-1"
        assert exchange.response.usage


@pytest.mark.parametrize("size", [9 * MIB, MIB])  # one streams by its length, the other would be held whole
async def test_a_body_beyond_the_limit_passes_whole_and_is_recorded_as_truncated(
    tmp_path: Path, provider: Provider, size: int
) -> None:
    async with recording(tmp_path, body_bytes_max=100_000) as made:
        answer = await ask(made.recorder.port, get(f"{provider.url}/fault/big/{size}"))
        body = answer.partition(b"\r\n\r\n")[2]
        assert len(body) == size
        (exchange,) = made.exchanges()
        assert exchange.response is not None
        assert (exchange.response.truncated, exchange.response.wire_bytes) == (True, size)
        assert made.response_body(exchange) == body[:100_000]


async def test_what_a_label_cannot_spell_does_not_fail_the_exchange(tmp_path: Path, provider: Provider) -> None:
    body = b'{"model":"\\ud800","messages":[{"role":"user","content":"\\udfff"}]}'
    async with recording(tmp_path) as made:
        raw = get(provider.url + "/v1/chat/completions", method=b"POST", body=body)
        answer = await ask(made.recorder.port, raw)
        assert b" 503 " not in answer.split(b"\r\n")[0]
        (exchange,) = made.exchanges()
        assert made.request_body(exchange) == body
        assert exchange.outcome is not None


@pytest.mark.parametrize(
    "status, body",
    [
        (b"200", b'{"choices":[],"usage":{"prompt_tokens":123456789012345678901234567890,"total_tokens":1e400}}'),
        (b"200", b'{"choices":[],"model":"' + b"m" * 100_000 + b'"}'),
        (b"99999999999999999999", b"{}"),
    ],
)
async def test_an_answer_that_no_record_could_spell_still_passes(tmp_path: Path, status: bytes, body: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 %s OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (status, len(body), body))
        await writer.drain()

    async with served(serve) as port, recording(tmp_path) as made:
        asked = get(f"http://127.0.0.1:{port}/v1/chat/completions", method=b"POST", body=b'{"messages":[]}')
        assert (await ask(made.recorder.port, asked)).endswith(b"\r\n\r\n" + body)
        assert made.response_body(made.exchanges()[0]) == body


async def test_several_agents_at_once_lose_nothing(tmp_path: Path, tls_provider: Provider, upstream_root: Path) -> None:
    async with recording(tmp_path, upstream_ca=upstream_root) as made:

        async def agent(number: int) -> None:
            place = f"localhost:{tls_provider.port}"
            async with intercepted(made.recorder.port, place, made.authority) as (reader, writer):
                for turn in range(5):
                    writer.write(b"GET /%d/%d HTTP/1.1\r\nHost: h\r\n\r\n" % (number, turn))
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                    assert json.loads(await reader.readexactly(length))["path"] == f"/{number}/{turn}"

        await asyncio.gather(*(agent(number) for number in range(8)))
        paths = {str(one.facts.path) for one in made.exchanges() if one.response is not None}
        assert paths == {f"/{number}/{turn}" for number in range(8) for turn in range(5)}

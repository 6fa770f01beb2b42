"""Every request gets exactly one outcome, with what had come, whoever ended it and however."""

import asyncio
import socket
import ssl
import struct
from functools import partial
from pathlib import Path

import httpx
import pytest

from store.core.model import HttpError, HttpRequest, HttpResponse
from tests.addons.raw import ask, connected, get, intercepted, served, tunnelled, until
from tests.addons.recording import Recording, recording
from tests.support.authority import ServerCertificate, make_authority
from tests.support.ports import closed_port
from tests.support.processes import running_module
from tests.support.provider import Options, Provider, serving


def outcomes(made: Recording) -> list[str]:
    """`ended` or error kind of every exchange, in order; fails where a request has no outcome, or two."""
    facts = made.facts()
    answered = [fact.req for fact in facts if isinstance(fact, HttpResponse | HttpError)]
    assert len(answered) == len(set(answered)) == sum(isinstance(fact, HttpRequest) for fact in facts)
    return [one.response.ended if one.response else one.error.kind if one.error else "" for one in made.exchanges()]


@pytest.mark.parametrize(
    "fault, expected",
    [
        ("reset", "reset"),
        ("close", "closed"),
        ("reset-after/100?chunked", "reset"),
        ("close-after/100", "closed"),
        ("bad-chunk", "closed or reset"),  # the server ends, and so do we: which comes first is its affair
        ("503", "complete"),
    ],
)
async def test_what_the_server_does_is_recorded(tmp_path: Path, provider: Provider, fault: str, expected: str) -> None:
    async with recording(tmp_path) as made:
        await ask(made.recorder.port, get(f"{provider.url}/fault/{fault}"))
        (outcome,) = outcomes(made)
        assert outcome in expected.split(" or ")
        assert made.recorder.counts.failures == 0


async def test_a_held_answer_that_is_cut_reaches_agent_and_log_as_far_as_it_came(
    tmp_path: Path, provider: Provider
) -> None:
    async with recording(tmp_path) as made:
        answer = await ask(made.recorder.port, get(f"{provider.url}/fault/close-after/100"))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK")
        assert len(body) == 100
        (exchange,) = made.exchanges()
        assert made.response_body(exchange) == body
        assert exchange.response is not None
        assert (exchange.response.framing, exchange.response.ended) == ("length", "closed")


async def test_a_streamed_answer_that_is_cut_is_kept_as_far_as_it_came(tmp_path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head + b"9\r\ndata: a\n\n\r\n")
        await writer.drain()
        await asyncio.sleep(0.05)
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    async with served(serve) as port, recording(tmp_path) as made:
        answer = await ask(made.recorder.port, get(f"http://127.0.0.1:{port}/"))
        assert answer.endswith(b"9\r\ndata: a\n\n\r\n")
        assert outcomes(made) == ["reset"]
        assert made.response_body(made.exchanges()[0]) == b"data: a\n\n"


async def test_c005_an_agent_that_leaves_in_the_middle_of_a_stream(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        async with connected(made.recorder.port) as (reader, writer):
            writer.write(get(provider.url + "/fault/slow-sse?n=100&ms=50"))
            await reader.readuntil(b'data: {"n":1}')
        await until(lambda: made.recorder.counts.exchanges == 1)
        assert outcomes(made) == ["client_gone"]
        assert made.response_body(made.exchanges()[0]).startswith(b'id: 0\ndata: {"n":0}\n\n')


async def test_an_agent_that_leaves_before_the_answer(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        async with connected(made.recorder.port) as (_, writer):
            writer.write(get(provider.url + "/fault/timeout"))
            await until(lambda: len(provider.seen()) == 1)
        await until(lambda: made.recorder.counts.exchanges == 1)
        assert outcomes(made) == ["client_gone"]


async def test_an_agent_that_leaves_while_it_uploads(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:

        def has_come(framing: bytes) -> bool:
            uploads = [live.upload for live in made.recorder._flows.left()]  # what is held has come with its head
            return any(upload.seen_bytes == 5 if upload else b"Content-Length" in framing for upload in uploads)

        def is_over(count: int) -> bool:
            return made.recorder.counts.exchanges == count

        for number, framing in enumerate((b"Content-Length: 1000", b"Transfer-Encoding: chunked")):
            async with connected(made.recorder.port) as (_, writer):
                head = get(provider.url + "/up", framing, method=b"POST")
                writer.write(head + (b"5\r\nhello\r\n" if b"chunked" in framing else b"hello"))
                await until(partial(has_come, framing))
            await until(partial(is_over, number + 1))
        assert outcomes(made) == ["client_gone", "client_gone"]
        for exchange in made.exchanges():
            assert made.upload(exchange) == ("client_gone", b"hello")


async def test_silence_longer_than_allowed_is_a_timeout(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path, silence_s_max=1) as made:
        assert await ask(made.recorder.port, get(provider.url + "/fault/timeout")) == b""
        await ask(made.recorder.port, get(provider.url + "/fault/hang-after/100?chunked"))
        await until(lambda: made.recorder.counts.exchanges == 2)
        assert outcomes(made) == ["timeout", "timeout"]
        assert len(made.response_body(made.exchanges()[1])) == 100


async def test_a_port_where_nobody_listens(tmp_path: Path) -> None:
    async with recording(tmp_path) as made:
        with closed_port() as port:
            answer = await ask(made.recorder.port, get(f"http://127.0.0.1:{port}/"))
            with pytest.raises(ConnectionError, match="502"):
                async with tunnelled(made.recorder.port, f"127.0.0.1:{port}"):
                    pass
        assert answer.startswith(b"HTTP/1.1 502 ")
        assert outcomes(made) == ["connect", "connect"]
        connect = made.exchanges()[1].facts
        assert (connect.method, connect.host, connect.port) == ("CONNECT", "127.0.0.1", port)


async def test_a_host_that_has_no_address(tmp_path: Path) -> None:
    async with recording(tmp_path) as made:
        assert (await ask(made.recorder.port, get("http://no.such.host.invalid/"))).startswith(b"HTTP/1.1 502 ")
        assert outcomes(made) == ["dns"]


async def test_a_server_whose_certificate_leads_nowhere(tmp_path: Path, tls_provider: Provider) -> None:
    async with recording(tmp_path) as made:
        place = f"localhost:{tls_provider.port}"
        async with intercepted(made.recorder.port, place, made.authority) as (reader, writer):
            writer.write(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 502 ")
        assert outcomes(made) == ["tls"]
        assert tls_provider.seen() == ()
        error = made.exchanges()[0].error
        assert error is not None
        with made.reader() as reader_:
            outcome = made.exchanges()[0].outcome
            assert outcome is not None
            assert b"ertificate" in reader_.body(outcome, error.detail)


async def test_an_agent_that_does_not_trust_us_is_counted_by_host(tmp_path: Path, tls_provider: Provider) -> None:
    stranger = make_authority(tmp_path / "stranger")
    async with recording(tmp_path, upstream_ca=stranger.root) as made:
        with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
            async with intercepted(made.recorder.port, f"localhost:{tls_provider.port}", stranger.root):
                pass
        await until(lambda: made.recorder.counts.distrusted == {"localhost": 1})


async def test_a_stream_of_http2_that_the_server_resets_and_one_that_the_agent_leaves(
    tmp_path: Path, upstream_certificate: ServerCertificate, upstream_root: Path
) -> None:
    files = (str(upstream_certificate.certificate), str(upstream_certificate.key))
    with running_module("tests.support.h2_echo", "--tls", *files) as server:
        async with recording(tmp_path, upstream_ca=upstream_root) as made:
            trust = ssl.create_default_context(cafile=str(made.authority))
            async with httpx.AsyncClient(timeout=30, proxy=made.proxy, verify=trust, http2=True) as client:
                with pytest.raises(httpx.RemoteProtocolError):
                    await client.get(server.url + "/reset?after=10")
                async with client.stream("GET", server.url + "/stream?n=50&ms=100") as answer:
                    await anext(answer.aiter_raw())
            await until(lambda: made.recorder.counts.exchanges == 2)
            assert outcomes(made) == ["reset", "client_gone"]
            first, second = made.exchanges()
            assert len(made.response_body(first)) == 10
            assert made.response_body(second).startswith(b"data: 0\n\n")


async def test_c071_a_failed_attempt_and_its_retry_are_both_recorded_in_order(tmp_path: Path) -> None:
    with serving(Options()) as provider:
        provider.arm("reset-after/0", "/v1", 1)
        provider.arm("status/429?retry_after=30", "/v1", 1)
        async with recording(tmp_path) as made:
            for _ in range(3):
                await ask(made.recorder.port, get(provider.url + "/v1/x", method=b"POST", body=b"same"))
            found = [(one.response.status, one.response.ended) for one in made.exchanges() if one.response]
            assert found == [(200, "reset"), (429, "complete"), (200, "complete")]


async def test_an_early_answer_to_an_upload_that_never_ends(tmp_path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
        await writer.drain()
        await reader.read()

    async with served(serve) as port, recording(tmp_path) as made:
        async with connected(made.recorder.port) as (reader, writer):
            head = get(f"http://127.0.0.1:{port}/", b"Transfer-Encoding: chunked", method=b"POST")
            writer.write(head + b"5\r\nhello\r\n")
            await reader.readuntil(b"big")
        await until(lambda: any(exchange.upload is not None for exchange in made.exchanges()))
        assert outcomes(made) == ["complete"]
        (exchange,) = made.exchanges()
        assert made.upload(exchange) == ("client_gone", b"hello")


async def test_a_request_that_could_smuggle_another_is_refused_and_recorded(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        both = (b"Content-Length: 5", b"Transfer-Encoding: chunked")
        answer = await ask(made.recorder.port, get(provider.url + "/", *both, method=b"POST") + b"0\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert provider.seen() == ()
        assert outcomes(made) == ["refused"]

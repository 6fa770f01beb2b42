"""What mitmproxy by itself would lose reaches the agent, the server and the log whole."""

import asyncio
from pathlib import Path

import pytest
from mitmproxy import version
from mitmproxy.proxy.layers import http

from addons.repairs import EngineFailed, repair
from tests.addons.raw import ask, connected, get, intercepted, served
from tests.addons.recording import recording
from tests.support.provider import Provider


async def test_http1_trailers_of_an_answer(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        answer = await ask(made.recorder.port, get(provider.url + "/fault/trailers", b"TE: trailers"))
        assert answer.endswith(b"0\r\nX-Checksum: scripted\r\n\r\n")
        (exchange,) = made.exchanges()
        assert exchange.response is not None
        assert (exchange.response.trailers, exchange.response.ended) == ([["X-Checksum", "scripted"]], "complete")
        assert provider.seen()[0].header("te") == "trailers"
        assert made.recorder.counts.failures == 0


async def test_http1_trailers_of_an_upload(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        chunked = get(provider.url + "/up", b"Transfer-Encoding: chunked", method=b"POST")
        await ask(made.recorder.port, chunked + b"3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n")
        assert provider.seen()[0].trailers == b"X-Sum: 1\r\n"
        assert made.upload(made.exchanges()[0]) == ("complete", b"abc")


async def test_a_connection_goes_on_after_trailers(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made, connected(made.recorder.port) as (reader, writer):
        for _ in range(2):
            writer.write(f"GET {provider.url}/fault/trailers HTTP/1.1\r\nHost: h\r\n\r\n".encode())
            assert (await reader.readuntil(b"X-Checksum: scripted\r\n\r\n")).startswith(b"HTTP/1.1 200 OK")


async def test_early_hints_pass_on_before_the_final_answer(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        answer = await ask(made.recorder.port, get(provider.url + "/fault/early-hints"))
        hints, _, final = answer.partition(b"\r\n\r\n")
        assert hints == b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload"
        assert final.startswith(b"HTTP/1.1 200 OK\r\n")
        (exchange,) = made.exchanges()
        assert exchange.response is not None
        assert exchange.response.status == 200
        assert exchange.response.interim == [[":status", "103"], ["Link", "</style.css>; rel=preload"]]


async def test_early_hints_pass_on_inside_tls(tmp_path: Path, tls_provider: Provider, upstream_root: Path) -> None:
    async with recording(tmp_path, upstream_ca=upstream_root) as made:
        place = f"localhost:{tls_provider.port}"
        async with intercepted(made.recorder.port, place, made.authority) as (reader, writer):
            writer.write(b"GET /fault/early-hints HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 103 Early Hints\r\n")
        assert b"\r\n\r\nHTTP/1.1 200 OK\r\n" in answer


async def test_an_interim_answer_that_comes_in_pieces_and_one_for_http_1_0(tmp_path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in (b"HTTP/1.1 102 Proc", b"essing\r\n", b"\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.03)
        writer.write(b"Content-Length: 2\r\nConnection: close\r\n\r\nok")
        await writer.drain()

    async with served(serve) as port, recording(tmp_path) as made:
        raw = get(f"http://127.0.0.1:{port}/")
        answer = await ask(made.recorder.port, raw)
        assert answer.startswith(b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\n")
        assert answer.endswith(b"\r\n\r\nok")
        old = await ask(made.recorder.port, raw.replace(b"HTTP/1.1\r\n", b"HTTP/1.0\r\n", 1))
        assert old.startswith(b"HTTP/1.1 200 OK\r\n")
        kept = [exchange.response and exchange.response.interim for exchange in made.exchanges()]
        assert kept == [[[":status", "102"], [":status", "100"]]] * 2


@pytest.mark.parametrize(
    "target, path",
    [(b"/caf\xe9?q=\xff", b"/caf\xe9?q=\xff"), (b"?q=1", b"/?q=1"), (b"", b"/"), (b"/a b", None)],
)
async def test_odd_paths_of_absolute_urls(
    tmp_path: Path, provider: Provider, target: bytes, path: bytes | None
) -> None:
    async with recording(tmp_path) as made:
        url = provider.url.encode() + target
        answer = await ask(made.recorder.port, b"GET " + url + b" HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        if path is None:
            assert answer.startswith(b"HTTP/1.1 400 ")
        else:
            assert provider.seen()[0].line == b"GET " + path + b" HTTP/1.1"


async def test_a_body_that_comes_with_the_next_request_in_one_piece(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made, connected(made.recorder.port) as (reader, writer):
        one = f"POST {provider.url}/1 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        two = f"GET {provider.url}/2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
        writer.write((one + two).encode())
        assert (await reader.read()).count(b"HTTP/1.1 200 OK") == 2
        assert [exchange.facts.path for exchange in made.exchanges()] == ["/1", "/2"]


def test_a_mitmproxy_that_the_repairs_do_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    repair()
    repair()
    monkeypatch.setattr(version, "VERSION", "13.0.0")
    monkeypatch.setattr(http, "HttpStream", object)
    with pytest.raises(EngineFailed) as caught:
        repair()
    assert "13.0.0" in str(caught.value)

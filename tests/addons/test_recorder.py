"""A recorder starts with a clear word or not at all, and stops without losing what goes on."""

import ast
import asyncio
import os
import shutil
import ssl
import sys
from pathlib import Path

import anthropic
import httpx2
import openai
import pytest

from addons.guard import UnsafeAddress
from addons.recorder import EngineFailed, NoAuthority, Recorder, RecorderOptions
from store.core.errors import UnknownRun
from store.drafting.desk import Desk
from store.trust import NoRoots
from store.verify import Terms, verify
from store.writer import Writer
from tests.addons.raw import ask, connected, get, served, until
from tests.addons.recording import Recording, recording
from tests.support.provider import Provider

ADDONS = Path(__file__).parents[2] / "addons"


async def test_a_busy_port_is_said(tmp_path: Path) -> None:
    async with recording(tmp_path / "one") as made:
        port = made.recorder.port
    async with served(lambda _, __: asyncio.sleep(0)) as port:
        with pytest.raises(EngineFailed) as caught:
            async with recording(tmp_path / "two", listen_port=port):
                pass
        assert str(port) in str(caught.value)
        assert "--port" in caught.value.hint


async def test_without_an_authority_none_is_made_up(tmp_path: Path) -> None:
    writer = Writer.open(tmp_path / "store", tmp_path / "keys")
    with pytest.raises(NoAuthority):
        await Recorder(Desk(writer), RecorderOptions(confdir=tmp_path / "nothing")).start()
    writer.close()
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("content", [None, b"no certificate"])
async def test_roots_that_are_none_are_said(tmp_path: Path, content: bytes | None) -> None:
    roots = tmp_path / "roots.pem"
    if content is not None:
        roots.write_bytes(content)
    with pytest.raises(NoRoots, match=r"roots\.pem"):
        async with recording(tmp_path, upstream_ca=roots):
            pass


async def test_an_open_address_without_a_token_is_refused_before_anything_listens(tmp_path: Path) -> None:
    with pytest.raises(UnsafeAddress):
        async with recording(tmp_path, listen_host="0.0.0.0"):
            pass


async def test_one_recorder_after_another_works_in_one_process(tmp_path: Path, provider: Provider) -> None:
    for turn in ("one", "two"):
        async with recording(tmp_path / turn) as made:
            assert (await ask(made.recorder.port, get(provider.url + "/" + turn))).startswith(b"HTTP/1.1 200 ")
            port = made.recorder.port
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
        assert [exchange.facts.path for exchange in made.exchanges()] == ["/" + turn]


async def test_what_goes_on_at_the_stop_is_let_end(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        asking = asyncio.ensure_future(ask(made.recorder.port, get(provider.url + "/fault/slow-sse?n=5&ms=100")))
        await until(lambda: len(provider.seen()) == 1)
        await made.recorder.stop()
        assert (await asking).endswith(b"0\r\n\r\n")
    assert [exchange.response and exchange.response.ended for exchange in made.exchanges()] == ["complete"]
    assert made.run("last").reason == "normal"


async def test_what_does_not_end_is_cut_and_recorded_so(tmp_path: Path, provider: Provider) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head + b"9\r\ndata: a\n\n\r\n")
        await reader.read()

    async with served(serve) as port, recording(tmp_path, drain_s=0.2) as made:
        silence = asyncio.ensure_future(ask(made.recorder.port, get(provider.url + "/fault/timeout")))
        async with connected(made.recorder.port) as (reader, writer):
            writer.write(get(f"http://127.0.0.1:{port}/begun"))
            await reader.readuntil(b"data: a\n\n")
            await until(lambda: len(provider.seen()) == 1)
            await made.recorder.stop()
            await silence
    found = {str(one.facts.path): one for one in made.exchanges()}
    silent, begun = found["/fault/timeout"], found["/begun"]
    assert silent.error is not None
    assert begun.response is not None
    assert (silent.error.kind, begun.response.ended) == ("recorder_stopped", "recorder_stopped")
    assert made.response_body(begun) == b"data: a\n\n"
    assert made.recorder.counts.failures == 0


async def test_closing_a_run_waits_for_connections_that_are_just_breaking(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        async with connected(made.recorder.port) as (reader, writer):
            writer.write(get(provider.url + "/fault/slow-sse?n=100&ms=50", b"X-Edgetape-Run: r"))
            await reader.readuntil(b'"n":1}')
        await made.recorder.close_run("r", "agent_exit")
        (exchange,) = made.exchanges("r")
        assert exchange.response is not None
        assert exchange.response.ended == "client_gone"
        with pytest.raises(UnknownRun):
            await made.recorder.close_run("r", "agent_exit")


async def test_closing_a_run_cuts_what_does_not_end(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        request = get(provider.url + "/fault/hang-after/10?chunked", b"X-Edgetape-Run: r")
        hanging = asyncio.ensure_future(ask(made.recorder.port, request))
        await until(lambda: len(provider.seen()) == 1)
        await made.recorder.close_run("r", "operator")
        await hanging
        (exchange,) = made.exchanges("r")
        assert exchange.response is not None
        assert exchange.response.ended == "recorder_stopped"
        assert made.recorder.counts.failures == 0


async def test_a_fault_inside_the_engine_is_counted_and_its_connection_ends(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise RuntimeError("a fault inside the engine")

    async with recording(tmp_path) as made:
        monkeypatch.setattr("addons.http1.TowardsServer.read_headers", crash)
        await ask(made.recorder.port, get(provider.url + "/"))
        await until(lambda: made.recorder.counts.exchanges == 1)
        assert made.recorder.counts.failures >= 1
        assert "a fault inside the engine" in made.recorder.counts.last_failure
        (exchange,) = made.exchanges()
        assert exchange.outcome is not None


async def test_what_was_recorded_verifies(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        for path in ("/a", "/fault/slow-sse?n=2&ms=5", "/fault/reset"):
            await ask(made.recorder.port, get(provider.url + path))
    verdict = verify(made.folder, made.keys, "last", Terms(deep=True))
    assert verdict.findings == ()


async def test_the_clients_of_both_providers_work_unchanged(
    tmp_path: Path, tls_provider: Provider, upstream_root: Path
) -> None:
    async with recording(tmp_path, upstream_ca=upstream_root) as made:
        trust = ssl.create_default_context(cafile=str(made.authority))
        async with httpx2.AsyncClient(timeout=30, proxy=made.proxy, verify=trust) as http:
            one = openai.AsyncOpenAI(base_url=tls_provider.url + "/v1", api_key="sk-canary-1", http_client=http)
            stream = await one.chat.completions.create(
                model="m-1", messages=[{"role": "user", "content": "hi"}], stream=True
            )
            words = [chunk.choices[0].delta.content or "" async for chunk in stream]
            two = anthropic.AsyncAnthropic(base_url=tls_provider.url, api_key="sk-canary-2", http_client=http)
            message = await two.messages.create(
                model="m-2", max_tokens=50, messages=[{"role": "user", "content": "hi"}]
            )
        assert "".join(words)
        assert message.content
        first, second = made.exchanges()
        assert (first.facts.model, second.facts.model) == ("m-1", "m-2")
        assert (first.facts.kind, second.facts.kind) == ("llm", "llm")
        assert first.response is not None
        assert first.response.stop == "stop"


CLIENTS = {
    "curl": ["curl", "-sS", "URL"],
    "wget": ["wget", "-qO-", "--ca-certificate", "ROOT", "URL"],
    "urllib": [sys.executable, "-c", "import sys,urllib.request as u;u.urlopen(sys.argv[1]).read()", "URL"],
    "requests": [sys.executable, "-c", "import sys,requests;requests.get(sys.argv[1]).raise_for_status()", "URL"],
    "httpx": [sys.executable, "-c", "import sys,httpx;httpx.get(sys.argv[1]).raise_for_status()", "URL"],
}


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_client_that_knows_only_its_environment_is_recorded(
    tmp_path: Path, tls_provider: Provider, upstream_root: Path, client: str
) -> None:
    if shutil.which(CLIENTS[client][0]) is None:
        pytest.skip(f"{client} is not installed here")
    async with recording(tmp_path, upstream_ca=upstream_root) as made:
        environment = {**os.environ, **variables(made, client)}
        words = {"URL": f"https://localhost:{tls_provider.port}/from/{client}", "ROOT": str(made.authority)}
        command = [words.get(word, word) for word in CLIENTS[client]]
        process = await asyncio.create_subprocess_exec(*command, env=environment)
        assert await process.wait() == 0
        assert [exchange.facts.path for exchange in made.exchanges(client)] == [f"/from/{client}"]


def variables(made: Recording, run: str) -> dict[str, str]:
    proxy = made.proxy.replace("//", f"//{run}:x@")
    names = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
    return {"https_proxy": proxy, "HTTPS_PROXY": proxy, **dict.fromkeys(names, str(made.authority))}


def test_only_the_repairs_import_what_mitmproxy_keeps_private() -> None:
    private = {
        path.name
        for path in ADDONS.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [*(alias.name for alias in node.names), getattr(node, "module", None) or ""]
        if any(part.startswith("_") and not part.startswith("__") for part in name.split("."))
    }
    assert private == {"repairs.py", "http1.py", "http2.py", "interim.py", "shortcuts.py", "straight.py"}

"""Quick connections call the same hooks in the same order as mitmproxy's own, and survive the same faults."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mitmproxy import hooks, version
from mitmproxy.http import HTTPFlow
from mitmproxy.proxy import mode_servers

from addons import quickening, records
from addons.embedding import Engine, Glimpse, Terms, Verdict
from addons.listeners import Listener
from store.authority import Authority
from tests.addons.raw import ask, connected, get, served

ROOTS = Path(__file__)  # nothing is verified by it here: no server of these tests speaks TLS
OUTSIDE = frozenset(("client_connected", "client_disconnected", "server_connected", "server_disconnected"))


class Heard:
    """Hears every hook; those in `slow` have to wait, and those in `broken` raise."""

    def __init__(self, slow: frozenset[str] = frozenset(), broken: frozenset[str] = frozenset()) -> None:
        self.names: list[str] = []
        for name in hooks.all_hooks:
            if name not in ("load", "configure", "done", "running", "update", "next_layer", "add_log"):
                setattr(self, name, self._hearing(name, name in slow, name in broken))

    def _hearing(self, name: str, slow: bool, broken: bool) -> object:
        def hear(told: object) -> None:
            self.names.append(name)
            if name == "responseheaders" and isinstance(told, HTTPFlow) and told.request.path.startswith("/stream"):
                assert told.response is not None
                told.response.stream = True
            if broken:
                raise RuntimeError("as asked")

        async def wait(told: object) -> None:
            await asyncio.sleep(0.01)
            hear(told)

        return wait if slow else hear


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while head := await reader.readuntil(b"\r\n\r\n"):
        if b"Content-Length: 5" in head:
            await reader.readexactly(5)
        if head.startswith(b"GET /stream"):
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
        elif head.startswith(b"GET /broken"):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhell")
            return
        else:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")


async def over(_: Glimpse) -> Verdict:
    return "http"


@asynccontextmanager
async def engine(
    folder: Path, heard: Heard, *, inline: bool, roots: Path | None = None
) -> AsyncIterator[tuple[Engine, list[str]]]:
    crashes: list[str] = []
    authority = Authority.open_or_create(folder / "authority")
    terms = Terms(
        listening=(Listener("127.0.0.1", 0),),
        confdir=authority.folder,
        roots=roots or authority.certificate_path,
        silence_s_max=60,
        filtered=False,
        inline=inline,
        decide=over,
        crashed=lambda message, _: crashes.append(message),
    )
    running = await Engine.start(terms, [heard])
    try:
        yield running, crashes
    finally:
        await running.stop()


async def story(folder: Path, heard: Heard, *, inline: bool) -> list[list[str]]:
    """The hooks of each of some exchanges, one after another, on connections of their own."""
    told: list[list[str]] = []

    def turn() -> None:
        told.append([name for name in heard.names if name not in OUTSIDE])
        heard.names.clear()

    async with engine(folder, heard, inline=inline) as (running, _), served(answer) as up:
        port = running.listening[0].port
        url = f"http://127.0.0.1:{up}"
        requests = [get(f"{url}/"), get(f"{url}/", method=b"POST", body=b"12345"), get(f"{url}/stream")]
        for raw in [*requests, get(f"{url}/broken"), b"no request at all\r\n\r\n"]:
            await ask(port, raw)
            turn()
        async with connected(port) as (reader, writer):  # one after another, and two at once, on one connection
            once = get(f"{url}/").replace(b"Connection: close\r\n", b"")
            writer.write(once)
            await reader.readuntil(b"hello")
            writer.write(once + once)
            await reader.readuntil(b"hello")
            await reader.readuntil(b"hello")
        turn()
    return told


@pytest.mark.parametrize(
    "slow",
    [frozenset(), frozenset(("requestheaders", "response")), frozenset(("server_connect", "request", "error"))],
    ids=["none waits", "headers and answers wait", "connections and bodies wait"],
)
async def test_hooks_come_in_the_order_of_mitmproxy_s_own(tmp_path: Path, slow: frozenset[str]) -> None:
    ours = await story(tmp_path, Heard(slow), inline=True)
    theirs = await story(tmp_path, Heard(slow), inline=False)
    assert ours == theirs
    assert ours[0] == ["requestheaders", "request", "server_connect", "responseheaders", "response"]


def test_on_uvloop_they_come_in_the_same_order(tmp_path: Path) -> None:
    uvloop = pytest.importorskip("uvloop", reason="this system has none")
    with asyncio.Runner() as plain:
        theirs = plain.run(story(tmp_path, Heard(), inline=False))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as quick:
        assert quick.run(story(tmp_path, Heard(), inline=True)) == theirs


async def test_a_hook_that_raises_is_told_of_and_costs_no_answer(tmp_path: Path) -> None:
    heard = Heard(broken=frozenset(("requestheaders", "response")))
    async with engine(tmp_path, heard, inline=True) as (running, crashes), served(answer) as up:
        assert b"hello" in await ask(running.listening[0].port, get(f"http://127.0.0.1:{up}/"))
    assert len(crashes) == 2


@pytest.mark.parametrize("name", ["_lib", "_ffi"])
def test_with_an_unknown_pyopenssl_mitmproxy_stays_as_it_is(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(records, name, None)
    assert not quickening.quicken()


def test_an_unknown_mitmproxy_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert quickening.quicken()
    monkeypatch.setattr(version, "VERSION", "12.9.0")
    assert not quickening.quicken()
    assert mode_servers.ProxyConnectionHandler.__module__.startswith("mitmproxy.")

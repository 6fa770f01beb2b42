"""Nothing but a fork can reach a server: its client stands alone, and the only other way out leads to loopback."""

import ast
import socket
import sys
from pathlib import Path

import pytest

from replay_server import local
from replay_server.answer import Live, Reply
from replay_server.server import ReplayOptions
from replay_server.target import Authority
from store.core.form import Asked, Endpoint
from tests.replay_server.recording import Place, Recording
from tests.support.provider import Provider

WING = Path(local.__file__).parent
CLIENTS = {
    "aiohttp.client",
    "ftplib",
    "http.client",
    "httpcore",
    "httpx",
    "requests",
    "smtplib",
    "urllib.request",
    "urllib3",
}
CONNECTS = {
    "ClientSession",
    "TCPConnector",
    "connect",
    "connect_ex",
    "create_connection",
    "open_connection",
    "sock_connect",
}


def found(source: str) -> set[str]:
    """What in a module's source could open a connection."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=imported):
                names |= {name.name for name in imported} & CLIENTS
            case ast.ImportFrom(module=str(module), names=imported):
                names |= {module, *(f"{module}.{name.name}" for name in imported)} & CLIENTS
                names |= {name.name for name in imported} & CONNECTS
            case ast.Attribute(attr=name) | ast.Name(id=name) if name in CONNECTS:
                names.add(name)
    return names


def test_only_the_client_of_the_live_modes_and_the_way_to_the_agents_own_listener_connect() -> None:
    out = {path.name: found(path.read_text()) for path in WING.rglob("*.py")}
    assert len(out) > 20
    ways = {"local.py": {"create_connection"}, "upstream.py": {"create_connection", "ClientSession"}}
    assert {name: opened for name, opened in out.items() if opened} == ways


async def test_a_replay_opens_no_connection_whatever_is_asked_and_does_not_even_load_the_client(
    place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []

    def tell(recording: Recording) -> None:
        recording.get(f"{provider.url}/a")

    monkeypatch.delitem(sys.modules, "replay_server.upstream", raising=False)
    monkeypatch.setattr(socket.socket, "connect", lambda _, address: opened.append(address))
    async with place.replaying(place.record(tell), ReplayOptions(on_drift="serve")) as server:
        for path in ("/a", "/a", "/b", "/a?x=1"):
            asked = Asked(Endpoint("GET", "http", "127.0.0.1", provider.port, path.encode()))
            assert isinstance(server.session.ask(asked, Live("GET"), placed=True), Reply)
        report = await server.stop(0)
    assert (provider.seen(), opened) == ((), [])
    assert report.document["upstream_connections"] == 0
    assert "replay_server.upstream" not in sys.modules


@pytest.mark.parametrize("source", ["import httpx", "from aiohttp import ClientSession", "loop.create_connection(x)"])
def test_a_way_out_would_be_seen(source: str) -> None:
    assert found(source)


@pytest.mark.parametrize("host", ["192.0.2.1", "example.com", "10.0.0.1", "::ffff:192.0.2.1"])
async def test_that_way_leads_to_loopback_only(host: str) -> None:
    assert await local.reach(Authority("http", host, 9)) is None

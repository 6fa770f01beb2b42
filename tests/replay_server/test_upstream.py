"""No code of this wing can reach a server: there is no client in it, and the one way out leads to loopback."""

import ast
from pathlib import Path

import pytest

from replay_server import local
from replay_server.target import Authority

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


def test_only_the_way_to_the_agents_own_listener_connects() -> None:
    out = {path.name: found(path.read_text()) for path in WING.glob("*.py")}
    assert len(out) > 20
    assert {name: ways for name, ways in out.items() if ways} == {"local.py": {"create_connection"}}


@pytest.mark.parametrize("source", ["import httpx", "from aiohttp import ClientSession", "loop.create_connection(x)"])
def test_a_way_out_would_be_seen(source: str) -> None:
    assert found(source)


@pytest.mark.parametrize("host", ["192.0.2.1", "example.com", "10.0.0.1", "::ffff:192.0.2.1"])
async def test_that_way_leads_to_loopback_only(host: str) -> None:
    assert await local.reach(Authority("http", host, 9)) is None

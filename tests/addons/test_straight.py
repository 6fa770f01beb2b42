"""The short way into a CONNECT is taken, and makes no difference that an agent, a server or an add-on sees."""

import asyncio
import ssl
from pathlib import Path

import pytest
import trustme
from mitmproxy.options import Options
from mitmproxy.proxy import layer
from mitmproxy.proxy.context import Context
from mitmproxy.test import tflow
from OpenSSL import SSL

from addons import records, straight
from addons.socks import Socks
from store.authority import Authority
from tests.addons.raw import ANSWER_S_MAX, get, intercepted, served, tunnelled, until
from tests.addons.test_quickening import OUTSIDE, Heard, answer, engine

type Story = list[tuple[bytes, list[str]]]


LONG = bytes(range(256)) * 300  # some records of TLS


async def echoed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers a long body with itself, and all else as `answer` does."""
    if (await reader.readexactly(6)).startswith(b"PUT"):
        await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(len(LONG))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    await answer(reader, writer)


async def inside(folder: Path, heard: Heard, *, inline: bool, secure: trustme.CA | None = None) -> Story:
    """What comes back in some tunnels, one after another, and the hooks of each."""
    told: Story = []
    context, roots = None, folder / "roots.pem"
    if secure is not None:
        secure.cert_pem.write_to_path(str(roots))
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        secure.issue_cert("127.0.0.1").configure_cert(context)
    root = Authority.open_or_create(folder / "authority").certificate_path
    started = engine(folder, heard, inline=inline, roots=roots if secure else None)
    async with started as (running, crashes), served(echoed, context) as up:
        kept = b"GET / HTTP/1.1\r\nHost: upstream\r\n\r\n"
        stories = [
            [get("/")],
            [kept, kept, b"POST / HTTP/1.1\r\nHost: upstream\r\nContent-Length: 5\r\nConnection: close\r\n\r\n12345"],
            [get("/stream")],
            [get("/broken")],
            [b"PUT / HTTP/1.1\r\nHost: upstream\r\nContent-Length: %d\r\n\r\n%b" % (len(LONG), LONG), get("/")],
        ]
        for story in stories:
            to = running.listening[0].port, f"127.0.0.1:{up}"
            async with intercepted(*to, root) if secure else tunnelled(*to) as (reader, writer):
                for raw in story[:-1]:
                    writer.write(raw)
                    await reader.readuntil(raw[-100:] if raw.startswith(b"PUT") else b"hello")
                writer.write(story[-1])
                async with asyncio.timeout(ANSWER_S_MAX):
                    answered = await reader.read()
            await until(lambda: not running.connections)
            told.append((answered, [name for name in heard.names if name not in OUTSIDE]))
            heard.names.clear()
        with pytest.raises(ConnectionError, match="502"):
            async with tunnelled(running.listening[0].port, "127.0.0.1:1"):
                pass
        assert not crashes
    return told


@pytest.mark.parametrize(
    "slow",
    [frozenset(), frozenset(("http_connected", "requestheaders", "response")), frozenset(("http_connect", "request"))],
    ids=["none waits", "tunnels and headers wait", "connects and bodies wait"],
)
@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
async def test_tunnels_are_as_those_of_mitmproxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: frozenset[str], secure: bool
) -> None:
    authority, opened, open_ = trustme.CA() if secure else None, list[bytes](), records.opened

    def counted(session: SSL.Connection, data: bytes) -> tuple[bytes, bool]:
        plain, odd = open_(session, data)
        opened.append(plain)
        return plain, odd

    monkeypatch.setattr(records, "opened", counted)
    theirs = await inside(tmp_path, Heard(slow), inline=False, secure=authority)
    assert not opened
    ours = await inside(tmp_path, Heard(slow), inline=True, secure=authority)
    assert ours == theirs
    assert ours[0][1][:3] == ["http_connect", "server_connect", "http_connected"]
    assert sum(map(bool, opened)) >= len(ours) if secure else not opened


async def test_it_is_taken_by_each_tunnel_and_by_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[straight.Inside | None] = []
    find = straight.inside

    def finding(outermost: layer.Layer) -> straight.Inside | None:
        found.append(find(outermost))
        return found[-1]

    monkeypatch.setattr(straight, "inside", finding)
    stories = await inside(tmp_path, Heard(), inline=True)
    assert len(found) == len(stories)
    assert None not in found


def test_there_is_none_through_layers_that_are_none_of_these() -> None:
    assert straight.inside(Socks(Context(tflow.tclient_conn(), Options()))) is None

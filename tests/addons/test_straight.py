"""The short way into a CONNECT is taken, and makes no difference that an agent, a server or an add-on sees."""

import asyncio
from pathlib import Path

import pytest
from mitmproxy.options import Options
from mitmproxy.proxy import layer
from mitmproxy.proxy.context import Context
from mitmproxy.test import tflow

from addons import straight
from addons.socks import Socks
from tests.addons.raw import ANSWER_S_MAX, get, served, tunnelled, until
from tests.addons.test_quickening import OUTSIDE, Heard, answer, engine

type Story = list[tuple[bytes, list[str]]]


async def inside(folder: Path, heard: Heard, *, inline: bool) -> Story:
    """What comes back in some tunnels, one after another, and the hooks of each."""
    told: Story = []
    async with engine(folder, heard, inline=inline) as (running, crashes), served(answer) as up:
        kept = b"GET / HTTP/1.1\r\nHost: upstream\r\n\r\n"
        stories = [
            [get("/")],
            [kept, kept, b"POST / HTTP/1.1\r\nHost: upstream\r\nContent-Length: 5\r\nConnection: close\r\n\r\n12345"],
            [get("/stream")],
            [get("/broken")],
        ]
        for story in stories:
            async with tunnelled(running.listening[0].port, f"127.0.0.1:{up}") as (reader, writer):
                for raw in story[:-1]:
                    writer.write(raw)
                    await reader.readuntil(b"hello")
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
async def test_tunnels_are_as_those_of_mitmproxy(tmp_path: Path, slow: frozenset[str]) -> None:
    ours = await inside(tmp_path, Heard(slow), inline=True)
    theirs = await inside(tmp_path, Heard(slow), inline=False)
    assert ours == theirs
    assert ours[0][1][:3] == ["http_connect", "server_connect", "http_connected"]


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

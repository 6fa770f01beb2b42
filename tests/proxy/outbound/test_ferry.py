"""Connections are opened outside and handed in: directly, by a proxy, and into a confinement whose agent gets none."""

import asyncio
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from proxy.outbound.dial import dial, route_of
from proxy.outbound.ferry import Ferry, pair, reach, serve
from store.egress import Route, Unreached
from tests.proxy.confined.outside import outside_listener
from tests.support.ports import closed_port
from tests.support.processes import running_module

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux passes descriptors so")


@contextmanager
def ferried(route: Route) -> Iterator[Ferry]:
    outer, inner = pair()
    task = asyncio.get_running_loop().create_task(serve(outer, route))
    with outer, inner:
        yield Ferry(inner)
        task.cancel()


async def test_connections_are_handed_in_each_to_who_asked_for_it() -> None:
    with outside_listener() as (one, _), outside_listener() as (two, _), ferried(lambda *_: None) as ferry:
        opened = await asyncio.gather(*(ferry.dial("http", "127.0.0.1", port) for port in (one, two, one)))
        assert [connection.getpeername()[1] for connection in opened] == [one, two, one]
        assert not any(os.get_inheritable(connection.fileno()) for connection in opened)
        assert not any(connection.getblocking() for connection in opened)
        for connection in opened:
            connection.close()


async def test_what_cannot_be_reached_is_named_on_the_inner_side() -> None:
    with ferried(lambda *_: None) as ferry:
        with closed_port() as port, pytest.raises(Unreached) as refused:
            await ferry.dial("http", "127.0.0.1", port)
        with pytest.raises(Unreached) as unknown:
            await ferry.dial("https", "nobody.invalid", 443)
    assert (refused.value.kind, unknown.value.kind) == ("connect", "dns")


async def test_an_outer_end_that_is_gone_leaves_nobody_waiting() -> None:
    outer, inner = pair()
    with inner:
        asking = asyncio.create_task(Ferry(inner).dial("http", "127.0.0.1", 9))
        await asyncio.sleep(0)
        outer.close()
        with pytest.raises((Unreached, OSError)):
            await asyncio.wait_for(asking, 10)


async def test_the_users_proxy_is_gone_through_with_its_credentials() -> None:
    with (
        outside_listener() as (port, seen),
        running_module("tests.support.forward_proxy", "--require", "us:er") as proxy,
    ):
        url = f"http://us:er@127.0.0.1:{proxy.port}"
        connection = await reach(lambda *_: url)("https", "127.0.0.1", port)
        connection.setblocking(True)
        with connection:
            connection.sendall(b"hello")
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(10) == b"HELLO"
        with pytest.raises(Unreached, match="the proxy refused"):
            dial("127.0.0.1", port, f"http://127.0.0.1:{proxy.port}")
    assert seen == [b"hello"]


def test_the_way_out_is_the_users_own() -> None:
    route = route_of({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "inside.example"})
    assert route("https", "api.example.com", 443) == "http://proxy:3128"
    assert route("https", "inside.example", 443) is None


@pytest.mark.parametrize("via", ["https://proxy:3128", "socks5://proxy:1080"])
def test_a_proxy_that_a_fork_cannot_go_through_is_named(via: str) -> None:
    with pytest.raises(Unreached, match="proxy"):
        dial("127.0.0.1", 9, via)

"""Shorter steps come to what mitmproxy's own come to, and are taken back whole."""

import asyncio
import uuid
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as some
from mitmproxy import connection, hooks
from mitmproxy.addonmanager import LoadHook
from mitmproxy.http import Headers
from mitmproxy.options import Options
from mitmproxy.proxy import layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.server import TimeoutWatchdog
from mitmproxy.test import tflow

from addons import shortcuts

NAMES = some.sampled_from([b"Accept", b"accept", b"ACCEPT", b"Set-Cookie", b"X-\xe9"])
VALUES = some.binary(max_size=4)


@pytest.fixture(autouse=True)
def again() -> Iterator[None]:
    yield
    shortcuts.shorten(on=False)


def both(look: Callable[[], object]) -> tuple[object, object]:
    """What something comes to with the shorter steps, and with mitmproxy's own."""
    outcomes = []
    for on in (True, False):
        shortcuts.shorten(on=on)
        outcomes.append(look())
    return outcomes[0], outcomes[1]


def test_what_was_there_before_is_there_again() -> None:
    shortcuts.shorten(on=False)  # a recorder of a test before may have left them
    before = {(kind, name): vars(kind).get(name) for kind, name, _ in shortcuts._SHORTER}
    shortcuts.shorten(on=True)
    assert not any(vars(kind)[name] is before[kind, name] for kind, name in before)
    shortcuts.shorten(on=False)
    assert {(kind, name): vars(kind).get(name) for kind, name in before} == before


@given(some.lists(some.tuples(NAMES, VALUES), max_size=4))
def test_headers_are_found_alike(fields: list[tuple[bytes, bytes]]) -> None:
    headers = Headers(fields)

    def look() -> object:
        names: list[str | bytes] = ["accept", b"Accept", "set-cookie", "x-\udce9", b"none"]
        found = [(headers.get(name), headers.get(name, "?"), headers.get_all(name), name in headers) for name in names]
        return found, dict(headers)

    ours, theirs = both(look)
    assert ours == theirs


def test_a_forked_context_shares_all_but_the_list_of_its_layers() -> None:
    shortcuts.shorten(on=True)
    context = Context(tflow.tclient_conn(), Options())
    below = layer.NextLayer(context)
    context.layers.append(below)
    fork = context.fork()
    assert (fork.client, fork.server, fork.options) == (context.client, context.server, context.options)
    assert fork.layers == [below]
    assert fork.layers is not context.layers
    assert vars(fork).keys() == vars(context).keys()


def test_options_are_read_alike_and_cannot_be_changed_by_whoever_reads_them() -> None:
    options = Options(listen_port=8080, tcp_hosts=["a"])
    ours, theirs = both(
        lambda: {
            name: getattr(options, name) for name in ("listen_port", "tcp_hosts", "mode", "confdir", "client_certs")
        }
    )
    assert ours == theirs
    shortcuts.shorten(on=True)
    options.tcp_hosts.append("b")
    assert options.tcp_hosts == ["a"]


def test_connections_are_the_same_by_their_ids() -> None:
    one, other = tflow.tserver_conn(), tflow.tserver_conn()
    twin: connection.Server = connection.Server.from_state(one.get_state())
    ours, theirs = both(lambda: (one == one, one == twin, one == other, one == "?", one in {one: 1}))  # noqa: PLR0124
    assert ours == theirs == (True, True, False, False, True)


def test_hooks_have_the_same_arguments() -> None:
    flow = tflow.tflow()
    for kind in (hooks.all_hooks["request"], hooks.all_hooks["tls_established_client"], LoadHook):
        ours, theirs = both(kind(flow).args)
        assert ours == theirs == [flow]


async def test_a_watch_goes_on_only_when_nothing_is_waited_for() -> None:
    shortcuts.shorten(on=True)
    watch = TimeoutWatchdog(60, asyncio.sleep)  # type: ignore[arg-type]
    with watch.disarm():
        with pytest.raises(RuntimeError, match="as asked"), watch.disarm():
            raise RuntimeError("as asked")
        assert not watch.can_timeout.is_set()
    assert watch.can_timeout.is_set()


def test_ids_are_drawn_as_version_4_and_spelled_as_ever() -> None:
    shortcuts.shorten(on=True)
    drawn = [tflow.tflow().id for _ in range(50)] + [tflow.tserver_conn().copy().id for _ in range(50)]
    assert len(set(drawn)) == len(drawn)
    for one in drawn:
        assert str(uuid.UUID(one)) == one
        assert (uuid.UUID(one).version, uuid.UUID(one).variant) == (4, uuid.RFC_4122)

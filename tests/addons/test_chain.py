"""The proxy that the user had set before us stays on the way, where it was meant to be."""

from pathlib import Path

from store.egress import Route
from tests.addons.raw import ask, echo, get, intercepted, served, tunnelled
from tests.addons.recording import recording
from tests.support.processes import Running, running_module
from tests.support.provider import Provider


def through(url: str, *hosts: str) -> Route:
    """A route that takes only these hosts through the proxy (none: all)."""
    return lambda scheme, host, port: url if not hosts or host in hosts else None


def asked(proxy: Running) -> list[str]:
    return proxy.stderr().splitlines()


async def test_plain_requests_go_through_in_absolute_form_and_https_by_connect(
    tmp_path: Path, provider: Provider, tls_provider: Provider, upstream_root: Path
) -> None:
    with running_module("tests.support.forward_proxy", "--require", "us:er") as proxy:
        route = through(proxy.url.replace("//", "//us:er@"))
        async with recording(tmp_path, upstream_ca=upstream_root, route=route) as made:
            answer = await ask(made.recorder.port, get(provider.url + "/plain?a=b", b"X-Kept: 1"))
            assert answer.startswith(b"HTTP/1.1 200 ")
            place = f"localhost:{tls_provider.port}"
            async with intercepted(made.recorder.port, place, made.authority) as (reader, writer):
                writer.write(b"GET /tls HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
            first, second = made.exchanges()
            assert (first.facts.host, first.facts.port, first.facts.path) == ("127.0.0.1", provider.port, "/plain")
            assert (second.facts.host, second.facts.port) == ("localhost", tls_provider.port)
            assert provider.seen()[0].header("host") == "upstream"
            lines = " ".join(asked(proxy))
            assert f"GET {provider.url}/plain?a=b HTTP/1.1" in lines
            assert f"CONNECT {place} HTTP/1.1" in lines


async def test_what_the_user_excepted_goes_out_directly(
    tmp_path: Path, provider: Provider, tls_provider: Provider, upstream_root: Path
) -> None:
    with running_module("tests.support.forward_proxy") as proxy:
        route = through(proxy.url, "only.this.host.invalid")
        async with recording(tmp_path, upstream_ca=upstream_root, route=route) as made:
            await ask(made.recorder.port, get(provider.url + "/"))
            place = f"localhost:{tls_provider.port}"
            async with intercepted(made.recorder.port, place, made.authority) as (reader, writer):
                writer.write(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
            assert asked(proxy) == []


async def test_what_is_tunnelled_goes_through_as_well(tmp_path: Path) -> None:
    with running_module("tests.support.forward_proxy") as proxy:
        async with served(echo) as port, recording(tmp_path, route=through(proxy.url)) as made:
            async with tunnelled(made.recorder.port, f"127.0.0.1:{port}") as (reader, writer):
                writer.write(b"\x00abc")
                assert await reader.readexactly(4) == b"\x00ABC"
            assert f"CONNECT 127.0.0.1:{port} HTTP/1.1" in " ".join(asked(proxy))


async def test_a_proxy_that_refuses_is_recorded_as_a_failed_connection(tmp_path: Path, tls_provider: Provider) -> None:
    with running_module("tests.support.forward_proxy", "--require", "us:er") as proxy:
        async with recording(tmp_path, route=through(proxy.url)) as made:
            place = f"localhost:{tls_provider.port}"
            async with intercepted(made.recorder.port, place, made.authority) as (reader, writer):
                writer.write(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                assert (await reader.read()).startswith(b"HTTP/1.1 502 ")
            (exchange,) = made.exchanges()
            assert exchange.error is not None
            assert exchange.error.kind == "connect"


async def test_a_proxy_that_cannot_be_used_is_said_and_nothing_goes_around_it(
    tmp_path: Path, provider: Provider
) -> None:
    async with recording(tmp_path, route=through("socks5://proxy:1080")) as made:
        answer = await ask(made.recorder.port, get(provider.url + "/"))
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"http:// or https://" in answer
        assert provider.seen() == ()


async def test_the_agents_own_processes_are_never_asked_through_the_proxy(tmp_path: Path, provider: Provider) -> None:
    with running_module("tests.support.forward_proxy") as proxy:
        owns = provider.port.__eq__
        async with recording(tmp_path, route=through(proxy.url), owns_port=owns) as made:
            assert (await ask(made.recorder.port, get(provider.url + "/"))).startswith(b"HTTP/1.1 200 ")
            async with tunnelled(made.recorder.port, f"127.0.0.1:{provider.port}") as (reader, writer):
                writer.write(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
            assert asked(proxy) == []


async def test_an_upgrade_to_http2_without_tls_is_not_asked_for(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        fields = (b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQAAP__")
        raw = get(provider.url + "/", *fields).replace(
            b"Connection: close", b"Connection: Upgrade, HTTP2-Settings, close"
        )
        assert (await ask(made.recorder.port, raw)).startswith(b"HTTP/1.1 200 ")
        (request,) = provider.seen()
        assert (request.header("upgrade"), request.header("http2-settings")) == (None, None)
        assert request.header("connection") == "close"
        assert (b"Upgrade", b"h2c") in made.request_headers(made.exchanges()[0])

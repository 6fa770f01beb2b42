"""A port that stands for a server: nothing of it is left in what is recorded and what leaves."""

import json
from pathlib import Path

import pytest

from addons.places import Places
from store.core.base import Base
from tests.addons.raw import ask, get, tunnelled
from tests.addons.recording import recording
from tests.addons.test_run_tag import basic
from tests.support.ports import closed_port
from tests.support.provider import Provider


def head(path: str, *fields: str, method: str = "GET", host: str = "127.0.0.1:9") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"hOsT: {host}", *fields, "Connection: close", "", ""]
    return "\r\n".join(lines).encode()


def told(answer: bytes) -> dict[str, object]:
    """What the provider's echo says of the request that reached it."""
    found: dict[str, object] = json.loads(answer.partition(b"\r\n\r\n")[2])
    return found


async def test_a_request_is_recorded_and_sent_as_the_server_s_own(tmp_path: Path, provider: Provider) -> None:
    base = Base("http", "127.0.0.1", provider.port)
    async with recording(tmp_path, bases=(base,)) as made:
        answer = await ask(made.recorder.bases[0].listens, head("/v1/echo?a=1", "X-Edgetape-Run: mine", "X-B: c"))
        echo = told(answer)
        assert echo["target"] == "/v1/echo?a=1"
        assert echo["headers"] == [["hOsT", base.authority], ["X-B", "c"], ["Connection", "close"]]
        (exchange,) = made.exchanges("mine")
        assert (exchange.facts.scheme, exchange.facts.host, exchange.facts.port) == ("http", "127.0.0.1", provider.port)
        assert exchange.facts.path == "/v1/echo"
        assert (b"hOsT", base.authority.encode()) in made.request_headers(exchange)


async def test_the_path_names_run_and_token(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path, token="s3cret", bases=(Base("http", "127.0.0.1", provider.port),)) as made:
        port = made.recorder.bases[0].listens
        assert (await ask(port, head("/~run/mine:wrong/v1"))).startswith(b"HTTP/1.1 407 ")
        assert (await ask(port, head("/v1"))).startswith(b"HTTP/1.1 407 ")
        assert told(await ask(port, head("/~run/mine:s3cret/v1?q")))["target"] == "/v1?q"
        echo = told(await ask(port, head("/v2", "X-Edgetape-Token: s3cret", "X-Edgetape-Run: mine")))
        assert "s3cret" not in json.dumps(echo)
        assert [exchange.facts.path for exchange in made.exchanges("mine")] == ["/v1", "/v2"]


async def test_a_port_of_one_run_needs_no_word_from_the_client(tmp_path: Path, provider: Provider) -> None:
    base = Base("http", "127.0.0.1", provider.port, run="nightly")
    async with recording(tmp_path, token="s3cret", bases=(base,)) as made:
        assert (await ask(made.recorder.bases[0].listens, head("/v1"))).startswith(b"HTTP/1.1 200 ")
        assert len(made.exchanges("nightly")) == 1


@pytest.mark.parametrize("path", ["http://192.0.2.1/v1", "http://elsewhere.example/v1"])
async def test_it_is_a_way_to_its_server_and_to_nobody_else(tmp_path: Path, provider: Provider, path: str) -> None:
    async with recording(tmp_path, bases=(Base("http", "127.0.0.1", provider.port),)) as made:
        port = made.recorder.bases[0].listens
        assert told(await ask(port, head(path)))["target"] == "/v1"
        answer = await ask(port, head("192.0.2.1:443", method="CONNECT", host="192.0.2.1:443"))
        assert answer.startswith(b"HTTP/1.1 405 ")


async def test_a_client_that_asks_the_proxy_for_the_port_gets_there_too(tmp_path: Path, provider: Provider) -> None:
    base, only = Base("http", "127.0.0.1", provider.port), Places.parse([f"127.0.0.1:{provider.port}"])
    async with recording(tmp_path, bases=(base,), allow_hosts=only, token="s3cret") as made:
        place, field = f"127.0.0.1:{made.recorder.bases[0].listens}", basic("mine", "s3cret")
        assert told(await ask(made.recorder.port, get(f"http://{place}/v1", field)))["target"] == "/v1"
        with pytest.raises(ConnectionError, match="407"):
            async with tunnelled(made.recorder.port, place):
                pass
        async with tunnelled(made.recorder.port, place, field.decode()) as (reader, writer):
            writer.write(head("/v2", host=place))
            assert told(await reader.read())["target"] == "/v2"
        assert [(each.facts.port, each.facts.path) for each in made.exchanges("mine")] == [
            (provider.port, "/v1"),
            (provider.port, "/v2"),
        ]


async def test_a_server_that_cannot_be_reached_is_on_record(tmp_path: Path) -> None:
    with closed_port() as port:
        async with recording(tmp_path, bases=(Base("https", "127.0.0.1", port),)) as made:
            answer = await ask(made.recorder.bases[0].listens, head("/v1"))
            assert answer.startswith(b"HTTP/1.1 502 ")
            (exchange,) = made.exchanges()
            assert exchange.error is not None
            assert exchange.error.kind == "connect"


async def test_the_recorder_s_own_calls_are_answered_there_too(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path, bases=(Base("http", "127.0.0.1", provider.port),)) as made:
        answer = await ask(made.recorder.bases[0].listens, head("/v1/uuid", host="edgetape.internal"))
        assert "uuid" in told(answer)
        assert provider.seen() == ()

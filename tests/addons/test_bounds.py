"""Who may be reached through a recorder that serves agents it does not know."""

import socket
from pathlib import Path

import pytest

from addons import bounds
from addons.places import Places
from tests.addons.raw import ask, get, tunnelled
from tests.addons.recording import recording
from tests.support.provider import Provider

URLS = ["http://169.254.169.254/latest", "http://metadata.google.internal/", "http://2852039166/"]


@pytest.mark.parametrize("url", URLS)
async def test_a_cloud_s_own_addresses_are_refused_however_they_are_spelled_and_it_is_on_record(
    tmp_path: Path, url: str
) -> None:
    async with recording(tmp_path, bars_metadata=True) as made:
        answer = await ask(made.recorder.port, get(url, b"X-Edgetape-Run: a", method=b"PUT", body=b"12345"))
        assert answer.split(b" ")[1] in (b"403", b"502")
        assert b"cloud" in answer
        (exchange,) = made.exchanges("a")
        assert exchange.error is not None
        assert exchange.error.kind == "refused"
        with pytest.raises(ConnectionError, match="HTTP"):
            async with tunnelled(made.recorder.port, url.split("/")[2] + ":80", "X-Edgetape-Run: b"):
                pass
        (exchange,) = made.exchanges("b")
        assert exchange.error is not None
        assert (exchange.facts.method, exchange.error.kind) == ("CONNECT", "refused")
        assert made.recorder.counts.refused == 2


async def test_only_the_servers_of_the_list_are_reached(tmp_path: Path, provider: Provider) -> None:
    only = Places.parse([f"127.0.0.1:{provider.port}", "*.example"])
    async with recording(tmp_path, allow_hosts=only) as made:
        port = made.recorder.port
        assert (await ask(port, get(provider.url + "/1"))).startswith(b"HTTP/1.1 200 ")
        assert (await ask(port, get("http://127.0.0.1:9/2"))).startswith(b"HTTP/1.1 403 ")
        assert (await ask(port, get("http://edgetape.internal/v1/now"))).startswith(b"HTTP/1.1 200 ")
        with pytest.raises(ConnectionError, match="403"):
            async with tunnelled(port, "api.other:443"):
                pass
        kinds = [exchange.error and exchange.error.kind for exchange in made.exchanges()]
        assert kinds == [None, "refused", "refused"]


async def test_a_name_that_stands_for_another_address_a_moment_later_gets_no_byte_there(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with recording(tmp_path, bars_metadata=True) as made:
        looked = iter((False, True))  # what was looked up is an address like any other
        monkeypatch.setattr(bounds, "is_metadata", lambda host: host == "127.0.0.1" and next(looked))
        answer = await ask(made.recorder.port, get(f"http://localhost:{provider.port}/1"))
        assert b"200 OK" not in answer.split(b"\r\n")[0]
        assert provider.seen() == ()
        assert [exchange.response for exchange in made.exchanges()] == [None]


async def test_the_recorder_is_not_reached_by_the_address_that_a_name_stands_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with recording(tmp_path) as made:
        real, port = socket.getaddrinfo, made.recorder.port
        # The guard asks for the name first, and is told another address than the dialling a moment later.
        asked: list[object] = []

        def rebinding(host: object, *rest: object, **more: object) -> object:
            if host != "turns.example":
                return real(host, *rest, **more)  # type: ignore[arg-type]
            asked.append(host)
            address = "192.0.2.1" if len(asked) == 1 else "127.0.0.1"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

        monkeypatch.setattr(socket, "getaddrinfo", rebinding)
        answer = await ask(port, get(f"http://turns.example:{port}/", b"X-Edgetape-Run: loop"))
        assert b"200 OK" not in answer.split(b"\r\n")[0]
        assert len(asked) == 2
        assert len(made.exchanges("loop")) == 1


@pytest.mark.parametrize("named", [False, True])
async def test_an_agent_on_another_machine_does_not_reach_what_only_ours_can(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    allowed = Places.parse(["127.0.0.1", "near.example", "localhost"]) if named else None
    async with recording(tmp_path, allow_hosts=allowed) as made:
        agents = made.recorder.port  # they are the ones who come to this port
        monkeypatch.setattr(bounds.Bounds, "_is_here", staticmethod(lambda client: client.sockname[1] != agents))
        real = socket.getaddrinfo
        near = lambda host, *rest, **more: real("127.0.0.1" if host == "near.example" else host, *rest, **more)  # noqa: E731
        monkeypatch.setattr(socket, "getaddrinfo", near)
        answers = [
            await ask(agents, get(f"http://{host}:{provider.port}/"))
            for host in ("127.0.0.1", "localhost", "near.example")
        ]
        for target in ("localhost", "near.example"):
            try:
                async with tunnelled(agents, f"{target}:{provider.port}"):
                    answers.append(b"HTTP/1.1 200 ")
            except ConnectionError as error:
                answers.append(str(error).encode())
    assert [b" 200 " in answer[:20] for answer in answers] == [named] * 5
    assert named or all(b"the recorder's own machine" in answer for answer in answers[:3])
    assert len(provider.seen()) == (3 if named else 0)

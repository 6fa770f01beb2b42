"""Nobody uses the recorder who may not, and nobody reaches the recorder through itself."""

import base64
from pathlib import Path

import pytest

from addons.guard import UnsafeAddress, check_address
from addons.listeners import is_loopback
from tests.addons.raw import ask, get, tunnelled
from tests.addons.recording import recording
from tests.support.provider import Provider


def credentials(password: str) -> bytes:
    return b"Proxy-Authorization: Basic " + base64.b64encode(f"run:{password}".encode())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "", "example.org"])
def test_an_address_that_others_reach_needs_a_token(host: str) -> None:
    with pytest.raises(UnsafeAddress) as caught:
        check_address(host, has_token=False)
    assert "token" in caught.value.hint
    check_address(host, has_token=True)


@pytest.mark.parametrize(
    "host, expected",
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("LocalHost.", True),
        ("api.localhost", True),
        ("localhost.example.org", False),
        ("10.0.0.1", False),
        ("0.0.0.0", False),
        ("example.org", False),
    ],
)
def test_loopback_is_told_by_name_or_address(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


async def test_without_the_token_nothing_passes_and_nothing_is_recorded(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path, token="s3cret") as made:
        for fields in ((), (credentials("wrong"),)):
            answer = await ask(made.recorder.port, get(provider.url + "/", *fields))
            assert answer.startswith(b"HTTP/1.1 407 Proxy Authentication Required")
            assert b'Proxy-Authenticate: Basic realm="edgetape"' in answer
            with pytest.raises(ConnectionError, match="407"):
                async with tunnelled(made.recorder.port, f"127.0.0.1:{provider.port}", *(f.decode() for f in fields)):
                    pass
        assert provider.seen() == ()
        assert made.recorder.counts.refused == 4
        with made.reader() as reader:
            assert reader.runs() == []


async def test_the_agents_own_processes_need_no_token_but_no_wrong_one_either(
    tmp_path: Path, provider: Provider
) -> None:
    asked: list[tuple[int, int]] = []

    def owns(port: int, to_port: int) -> bool:
        asked.append((port, to_port))
        return True

    async with recording(tmp_path, token="s3cret", owns_connection=owns) as made:
        port = made.recorder.port
        async with tunnelled(port, f"127.0.0.1:{provider.port}") as (reader, writer):
            writer.write(b"GET /java HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 200")
            assert asked == [(writer.get_extra_info("sockname")[1], port)]
        assert (await ask(port, get(provider.url + "/", credentials("wrong")))).startswith(b"HTTP/1.1 407 ")


async def test_with_the_token_plain_requests_and_all_inside_a_connect_pass(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path, token="s3cret") as made:
        assert (await ask(made.recorder.port, get(provider.url + "/1", credentials("s3cret")))).startswith(
            b"HTTP/1.1 200"
        )
        field = credentials("s3cret").decode()
        async with tunnelled(made.recorder.port, f"127.0.0.1:{provider.port}", field) as (reader, writer):
            writer.write(b"GET /2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 200")
        assert [exchange.facts.path for exchange in made.exchanges("run")] == ["/1", "/2"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "127.0.0.2"])
async def test_the_ways_back_to_the_recorder_are_refused(tmp_path: Path, host: str) -> None:
    async with recording(tmp_path) as made:
        port = made.recorder.port
        answer = await ask(port, get(f"http://{host}:{port}/"))
        assert answer.startswith(b"HTTP/1.1 403 ")
        with pytest.raises(ConnectionError, match="403"):
            async with tunnelled(port, f"{host}:{port}"):
                pass
        assert made.recorder.counts.refused == 2


async def test_a_request_that_takes_the_recorder_for_a_server_is_told_so(tmp_path: Path) -> None:
    async with recording(tmp_path) as made:
        port = made.recorder.port
        raw = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode()
        answer = await ask(port, raw)
        assert answer.startswith(b"HTTP/1.1 403 ")
        assert b"which is a proxy and no server" in answer


async def test_an_agent_cannot_bind_a_recorder_to_the_world_by_accident(tmp_path: Path) -> None:
    with pytest.raises(UnsafeAddress):
        async with recording(tmp_path, listen_host="0.0.0.0"):
            pass


async def test_beyond_loopback_it_listens_with_a_token_and_still_refuses_itself(
    tmp_path: Path, provider: Provider
) -> None:
    async with recording(tmp_path, listen_host="0.0.0.0", token="s3cret") as made:
        port = made.recorder.port
        assert (await ask(port, get(provider.url + "/", credentials("s3cret")))).startswith(b"HTTP/1.1 200")
        assert (await ask(port, get(f"http://localhost:{port}/", credentials("s3cret")))).startswith(b"HTTP/1.1 403")

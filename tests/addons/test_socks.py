"""SOCKS5 on the proxy's port: recorded as what comes through a CONNECT is."""

import asyncio
from pathlib import Path

import pytest

from store.core.socks import reply
from tests.addons.raw import connected
from tests.addons.recording import recording
from tests.support.ports import closed_port
from tests.support.provider import Provider


def hello(host: str, port: int, user: str = "mine", password: str = "x") -> bytes:
    """Everything that a client says, without waiting for an answer."""
    said = bytes([1, len(user)]) + user.encode() + bytes([len(password)]) + password.encode()
    return b"\x05\x02\x00\x02" + said + b"\x05\x01\x00\x03" + bytes([len(host)]) + host.encode() + port.to_bytes(2)


GREETED = b"\x05\x02\x01\x00"
GET = b"GET /socks HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize("pieces", [1, 5])
async def test_it_is_recorded_in_the_run_that_the_user_name_says(
    tmp_path: Path, provider: Provider, pieces: int
) -> None:
    async with recording(tmp_path) as made, connected(made.recorder.port) as (reader, writer):
        sent = hello("127.0.0.1", provider.port) + GET
        step = -(-len(sent) // pieces)
        for at in range(0, len(sent), step):
            writer.write(sent[at : at + step])
            await writer.drain()
            await asyncio.sleep(0)
        answer = await reader.read()
        assert answer.startswith(GREETED + reply(0) + b"HTTP/1.1 200 ")
        (exchange,) = made.exchanges("mine")
        assert (exchange.facts.path, exchange.facts.port) == ("/socks", provider.port)


async def test_the_token_counts_there_too(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path, token="s3cret") as made:
        for password, code in (("wrong", 2), ("s3cret", 0)):
            async with connected(made.recorder.port) as (reader, writer):
                writer.write(hello("127.0.0.1", provider.port, password=password))
                assert await reader.readexactly(14) == GREETED + reply(code)
        async with connected(made.recorder.port) as (reader, writer):
            writer.write(b"\x05\x01\x00\x05\x01\x00\x03\x01h\x00\x50")
            assert await reader.read() == b"\x05\x00" + reply(2)


async def test_a_server_that_cannot_be_reached_is_on_record(tmp_path: Path) -> None:
    with closed_port() as port:
        async with recording(tmp_path) as made, connected(made.recorder.port) as (reader, writer):
            writer.write(hello("127.0.0.1", port))
            assert await reader.read() == GREETED + reply(5)
            (exchange,) = made.exchanges("mine")
            assert exchange.error is not None
            assert (exchange.facts.method, exchange.error.kind) == ("CONNECT", "connect")


async def test_what_is_no_socks_is_closed(tmp_path: Path) -> None:
    async with recording(tmp_path) as made, connected(made.recorder.port) as (reader, writer):
        writer.write(b"\x05\x01\x01")
        assert await reader.read() == b"\x05\xff"

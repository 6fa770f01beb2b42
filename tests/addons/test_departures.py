"""An agent may leave at any moment, or say that this was all: its run stays whole, and nothing stays behind."""

import asyncio
import socket
import struct
from pathlib import Path

import pytest

from tests.addons.raw import ANSWER_S_MAX, connected, echo, served, until
from tests.addons.recording import recording

CONNECT = b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n"
AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: closing resets the connection


SAID = (
    b"",
    b"\x05\x01\x00",
    CONNECT,
    CONNECT + b"\x16\x03\x01",
    CONNECT + b"\x00abc",
    b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: h\r\n\r\n",
)


@pytest.mark.parametrize("resets", [False, True], ids=["leaves", "resets"])
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_an_agent_that_has_left_before_it_is_heard_is_no_fault(tmp_path: Path, resets: bool, loop: str) -> None:
    loops = pytest.importorskip(loop, reason="this system has none")

    async def leave() -> None:
        async with served(echo) as port, recording(tmp_path) as made:
            for said in SAID:
                # The loop stands still meanwhile.
                with socket.create_connection(("127.0.0.1", made.recorder.port)) as connection:
                    connection.sendall(said.replace(b"%d", str(port).encode()))
                    if resets:
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
                async with connected(made.recorder.port) as (reader, writer):  # after it, in its turn
                    writer.write(CONNECT % port + b"\x00xyz")
                    await reader.readuntil(b"\x00XYZ")
                await until(lambda: not made.recorder.standing.connections)
                assert made.recorder.counts.failures == 0, (said, made.recorder.counts.last_failure)

    with asyncio.Runner(loop_factory=loops.new_event_loop) as runner:
        runner.run(leave())


async def test_one_that_says_all_at_once_hears_the_end_of_its_tunnel(tmp_path: Path) -> None:
    async with served(echo) as port, recording(tmp_path) as made:
        async with connected(made.recorder.port) as (reader, writer):
            writer.write(CONNECT % port + b"\x00this")
            writer.write_eof()
            async with asyncio.timeout(ANSWER_S_MAX):
                assert (await reader.read()).endswith(b"\r\n\r\n\x00THIS")
        await until(lambda: not made.recorder.standing.connections)

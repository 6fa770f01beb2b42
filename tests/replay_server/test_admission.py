"""Only the agent eats a replay's answers: whoever brings its token, and its own processes."""

import base64

import pytest

from replay_server.server import ReplayOptions
from tests.replay_server.recording import Place, Recording
from tests.replay_server.wires import dial

TOKEN = "the-token-of-this-replay"
GOOD, BAD = (base64.b64encode(f"run:{password}".encode()).decode() for password in (TOKEN, "guessed"))
HOST = "api.example.com"


def tell(recording: Recording) -> None:
    recording.get(f"http://{HOST}/a", b"the only answer")


def basic(said: str) -> str:
    return f"Proxy-Authorization: Basic {said}\r\n" if said else ""


@pytest.mark.parametrize("said", ["", BAD])
@pytest.mark.parametrize("connects", [True, False])
async def test_a_stranger_gets_no_answer_and_the_agent_finds_it_there(place: Place, said: str, connects: bool) -> None:
    line = f"CONNECT {HOST}:80 HTTP/1.1" if connects else f"GET http://{HOST}/a HTTP/1.1"
    asked = [f"{line}\r\nHost: {HOST}\r\n{basic(one)}\r\n" for one in (said, GOOD)]
    asked_connections: list[tuple[int, int]] = []

    def owns(port: int, to_port: int) -> bool:
        asked_connections.append((port, to_port))
        return False

    options = ReplayOptions(token=TOKEN, owns_connection=owns)
    async with place.replaying(place.record(tell), options) as server:
        stranger = await dial(server)
        stranger.send(asked[0].encode())
        assert await stranger.end() == "closed"
        assert stranger.received.startswith(b"HTTP/1.1 407 ")
        assert b"Proxy-Authenticate: Basic" in stranger.received
        agent = await dial(server)
        agent.send(asked[1].encode())
        if connects:
            await agent.until(b"\r\n\r\n")
            agent.send(f"GET /a HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        await agent.until(b"the only answer")
        report = await server.stop(0)
        assert (report.exit_code, server.clients.strangers) == (0, 1)
        assert "brought no token" in report.text()
        assert [port for _, port in asked_connections] == ([server.port] if not said else [])


async def test_a_process_of_the_agent_needs_no_token(place: Place) -> None:
    options = ReplayOptions(token=TOKEN, owns_connection=lambda port, to_port: port > 0 and to_port == server.port)
    async with place.replaying(place.record(tell), options) as server:
        wire = await dial(server)
        wire.send(f"GET http://{HOST}/a HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        await wire.until(b"the only answer")
        assert (await server.stop(0)).exit_code == 0

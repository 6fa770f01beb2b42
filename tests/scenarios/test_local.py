"""What an agent says to servers of its own passes through as a tunnel, under `record` and under `replay` alike."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.scenarios.kept import kept, proven, tunnels
from tests.support.command import Command
from tests.support.provider import Provider

AGENT = """
import sys, urllib.request
from tests.support import grpc_echo, websocket_echo
print(grpc_echo.both("hello"))
print(websocket_echo.both(["one", "two"]))
print(urllib.request.urlopen(sys.argv[1], timeout=30).read())
"""


def test_grpc_and_a_websocket_to_children_of_the_agent_work_recorded_and_replayed(
    tmp_path: Path, provider: Provider
) -> None:
    command = Command(tmp_path)
    recorded = command.run("record", "--name", "local", "--", sys.executable, "-c", AGENT, provider.url + "/outside")
    assert recorded.code == 0, recorded.err
    assert recorded.out.splitlines()[:2] == ["['hello']", "['echo: one', 'echo: two']"]
    assert [one.place for one in kept(command.store, "local")] == [provider.url + "/outside"]
    assert tunnels(command.store, "local") == ["local", "local"]
    assert "a server of the agent's own" in command.run("show", "local").out
    replayed = command.run("replay", "local")
    assert (replayed.code, replayed.out) == (0, recorded.out), replayed.err
    assert tunnels(command.store, "last:replay") == ["local", "local"]
    proven(command.store)


def test_with_local_record_a_server_of_the_agents_own_is_recorded_like_any_other(tmp_path: Path) -> None:
    command = Command(tmp_path)
    program = "from tests.support import websocket_echo\nprint(websocket_echo.both(['one', 'two']))"
    recorded = command.run("record", "--local", "record", "--", sys.executable, "-c", program)
    assert (recorded.code, recorded.out) == (0, "['echo: one', 'echo: two']\n"), recorded.err
    (handshake,) = kept(command.store)
    assert (handshake.status, tunnels(command.store)) == (101, [])
    assert "1 exchange" in recorded.err
    proven(command.store)

"""A replayed agent cannot get out: what tries is refused and named, and only a port that is allowed is reached."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.proxy.confined.inside import confined
from tests.scenarios.kept import proven
from tests.support.command import Command
from tests.support.provider import Provider

REFUSAL = confined(["true"]).unconfined
needs_confinement = pytest.mark.skipif(bool(REFUSAL), reason=REFUSAL)
OUTSIDE = "198.51.100.7"  # a documentation address (RFC 5737): nothing is ever there

# One request through the proxy, then whatever the program in argv[2] does.
AGENT = """
import os, socket, subprocess, sys, urllib.request
sys.stdout.write(urllib.request.urlopen(sys.argv[1], timeout=30).read().decode() + "\\n")
exec(sys.argv[2])
"""
RAW = f"""
try:
    socket.create_connection(("{OUTSIDE}", 5432), 5)
except OSError as error:
    print(type(error).__name__)
"""
UDP = f"import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('{OUTSIDE}', 4000))"
BY_A_CHILD = f"subprocess.run([sys.executable, '-c', {UDP!r}])"
DATABASE = """
with socket.create_connection(("127.0.0.1", int(os.environ["DATABASE_PORT"])), 10) as database:
    database.sendall(b"select")
    print(database.recv(100).decode())
"""


def agent(url: str, then: str = "") -> list[str]:
    return [sys.executable, "-c", AGENT, url, then]


@pytest.fixture
def recorded(tmp_path: Path, provider: Provider) -> tuple[Command, str]:
    """A command over a store with one recorded run, and what it asked for."""
    command, url = Command(tmp_path), provider.url + "/asked"
    said = command.run("record", "--", *agent(url))
    assert said.code == 0, said.err
    return command, url


@contextmanager
def database() -> Iterator[int]:
    """A server on this machine that is no HTTP server: its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    client.sendall(b"rows for " + client.recv(100))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


@needs_confinement
def test_a_raw_socket_of_the_agent_or_of_its_child_is_refused_named_and_exit_43(
    recorded: tuple[Command, str],
) -> None:
    command, url = recorded
    replayed = command.run("replay", "last", "--", *agent(url, RAW + BY_A_CHILD))
    assert replayed.code == 43, replayed.err
    assert replayed.verdict == f"REFUSED: TCP to {OUTSIDE}:5432, and 1 more; nothing could get out"
    assert f"refused: UDP to {OUTSIDE}:4000" in replayed.err
    report = command.folder / "report.json"
    again = command.run("replay", "last", "--report", str(report), "--no-confine", "--", *agent(url, "pass"))
    assert again.code == 0
    assert again.verdict.endswith("UNCONFINED: the replay server opened 0 connections")
    assert json.loads(report.read_text())["confinement"] == "unconfined"


@needs_confinement
def test_only_a_port_that_is_allowed_is_reached(recorded: tuple[Command, str]) -> None:
    command, url = recorded
    with database() as port:
        with_port = Command(command.folder, {"DATABASE_PORT": str(port)})
        allowed = with_port.run("replay", "last", "--allow-local", str(port), "--", *agent(url, DATABASE))
        assert (allowed.code, allowed.out.splitlines()[1:]) == (0, ["rows for select"]), allowed.err
        refused = with_port.run("replay", "last", "--", *agent(url, DATABASE))
    assert refused.code == 1
    assert "ConnectionRefusedError" in refused.err
    assert "REPLAYED" in refused.verdict
    proven(command.store)


@needs_confinement
def test_a_refused_attempt_outranks_a_miss_and_a_miss_outranks_a_drift(recorded: tuple[Command, str]) -> None:
    command, url = recorded
    missed = "try: urllib.request.urlopen(sys.argv[1] + '-else', timeout=9)\nexcept OSError as error: print(error)\n"
    replayed = command.run("replay", "last", "--", *agent(url, missed + RAW))
    assert replayed.code == 43
    assert "unexpected: request 2" in replayed.err
    drifted = command.run("replay", "last", "--on-drift", "serve", "--", *agent(url + "?drift=1", missed))
    assert drifted.code == 41, drifted.err
    assert "drifted at step 1" in drifted.err

"""A loopback listener is known as the agent's own by the process that holds it, and only then."""

import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from store import diagnosis
from store.ownership import MARKER_VARIABLE, ProcessTree, owns_connection, owns_listener

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="process trees are read from /proc")

MARKER = secrets.token_hex(8)  # another session of these tests may run beside us
LISTEN = (
    "import socket, sys\n"
    "server = socket.socket(socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET)\n"
    "server.bind((sys.argv[1], 0)); server.listen()\n"
    "print(server.getsockname()[1], flush=True)\n"
    "sys.stdin.read()\n"
)


@contextmanager
def listening(
    *start: str, address: str = "127.0.0.1", marker: str | None = MARKER
) -> Iterator[tuple[ProcessTree, int]]:
    """Runs a listener, with words of another command in front; gives its tree and its port."""
    environment = {"PATH": os.environ["PATH"]} | ({} if marker is None else {MARKER_VARIABLE: marker})
    process = subprocess.Popen(
        [*start, sys.executable, "-c", LISTEN, address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield ProcessTree(process.pid, MARKER), int(process.stdout.readline())
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(60)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.5", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1"])
def test_a_listener_of_the_agents_process_is_its_own(address: str) -> None:
    with listening(address=address) as (tree, port):
        assert owns_listener(tree, port)


def test_a_listener_of_a_grandchild_is_the_agents_own_also_without_the_marker() -> None:
    with listening("sh", "-c", 'exec 3<&0; "$@" <&3 & wait', "sh", marker=None) as (tree, port):
        assert owns_listener(tree, port)


def test_a_listener_whose_parent_has_ended_is_known_by_the_marker() -> None:
    with listening("sh", "-c", 'exec 3<&0; setsid "$@" <&3 & exit', "sh") as (tree, port):
        assert owns_listener(tree, port)
        os.waitid(os.P_PID, tree.root, os.WEXITED | os.WNOWAIT)  # the parent, which is in no hurry
        assert owns_listener(tree, port)
        assert not owns_listener(ProcessTree(tree.root, "another"), port)


def test_the_marker_is_known_inside_that_of_a_recording_within_the_recording() -> None:
    with listening(marker=f"{MARKER}:inner") as (tree, port):
        assert owns_listener(ProcessTree(0, MARKER), port)
        assert owns_listener(ProcessTree(0, "inner"), port)
        assert not owns_listener(ProcessTree(0, MARKER[:-1]), port)
        assert tree.root in ProcessTree(0, MARKER).members()


def test_a_listener_of_somebody_else_is_not_the_agents() -> None:
    with socket.create_server(("127.0.0.1", 0)) as ours, listening() as (tree, _):
        assert not owns_listener(tree, ours.getsockname()[1])
        assert not owns_listener(ProcessTree(tree.root, MARKER), 1)


def test_a_connection_is_not_taken_for_a_listener() -> None:
    with listening() as (tree, port), socket.create_connection(("127.0.0.1", port)) as client:
        assert not owns_listener(tree, client.getsockname()[1])


def test_an_ended_agent_owns_nothing() -> None:
    with listening() as (tree, port):
        pass
    assert not owns_listener(tree, port)
    assert tree.members() == frozenset()


def test_a_connection_is_the_agents_by_the_process_that_holds_its_near_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        far = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", far)) as connection:
            near = connection.getsockname()[1]
            us = ProcessTree(os.getpid(), MARKER)
            assert owns_connection(us, near, far)
            assert not owns_connection(us, near, near)
            assert not owns_connection(us, far, far)
            with listening() as (tree, _):
                assert not owns_connection(tree, near, far)


@pytest.mark.parametrize("asked", ["the kernel", "the table"])
@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_the_end_of_a_connection_is_found_whomever_we_ask(
    asked: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if asked == "the table":
        monkeypatch.setattr(diagnosis, "inodes", lambda *_: set())
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as server:
        server.bind((address, 0))
        server.listen()
        with socket.create_connection(server.getsockname()[:2]) as connection:
            near, far = (end.getsockname()[1] for end in (connection, server))
            us = ProcessTree(os.getpid(), MARKER)
            assert owns_connection(us, near, far)
            assert owns_connection(us, near, far), "also when it is known who held it"
            assert asked == "the table" or diagnosis.inodes(near, far) == {str(os.fstat(connection.fileno()).st_ino)}
            assert not diagnosis.inodes(far, far), "a listener is no connection"


def test_a_later_process_with_the_number_of_one_that_held_a_connection_is_not_the_agent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        far = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", far)) as connection:
            us = ProcessTree(0, MARKER, {os.getpid(): b"another time"})
            assert not owns_connection(us, connection.getsockname()[1], far)

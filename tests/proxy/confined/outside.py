"""What tests of confinement share: a server outside, and an agent that tries to reach something."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.proxy.agent.wrapper import python
from tests.proxy.confined.inside import confined

WAIT_S_MAX = 60.0
REFUSAL = confined(["true"]).unconfined
needs_namespaces = pytest.mark.skipif(bool(REFUSAL), reason=REFUSAL)

CONNECT = """
import socket, sys, time
began = time.monotonic()
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), 10)
    print("connected")
except OSError as error:
    print(type(error).__name__)
assert time.monotonic() - began < 5, "it was not refused at once"
"""


def connect(host: str, port: int) -> list[str]:
    return [*python(CONNECT), host, str(port)]


@contextmanager
def outside_listener() -> Iterator[tuple[int, list[bytes]]]:
    """A server outside, on 127.0.0.1: its port, and what came in on each connection, answered in capitals."""
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    seen.append(client.makefile("rb").read())
                    client.sendall(seen[-1].upper())

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1], seen
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(WAIT_S_MAX)


def own_address() -> str:
    """An address of this machine that is not loopback; sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address but loopback")
        return str(probe.getsockname()[0])

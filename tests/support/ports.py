"""A port of this machine where nobody listens, and where nobody can while a test needs it so."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def closed_port() -> Iterator[int]:
    """A port of 127.0.0.1 that refuses; bound all the while, so that no test beside this one is given it."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield int(holder.getsockname()[1])

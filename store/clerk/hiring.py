"""Starts the process of a clerk, in which nothing of the engine is loaded, and nothing that the agent says is run."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# The folder of our packages goes first, so that nothing of the agent's working folder is taken for one of them.
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from store.clerk.office import main; main(int(sys.argv[2]))"


@dataclass(frozen=True, slots=True)
class Hired:
    """A process that waits to be told which store to open, and ends when nobody has the other end of its socket."""

    process: subprocess.Popen[bytes]
    socket: socket.socket

    def dismiss(self) -> None:
        """Returns when it has ended."""
        self.socket.close()
        self.process.wait()


@contextlib.contextmanager
def hired() -> Iterator[Hired]:
    """Starts it, and sees to it that it ends, whatever becomes of what it was started for."""
    one = hire()
    try:
        yield one
    finally:
        one.dismiss()


def hire() -> Hired:
    """Starts it, and does not wait. It is in a session of its own: what the terminal says is not for it."""
    ours, its = socket.socketpair()
    with its:
        command = [sys.executable, *(() if __debug__ else ("-O",)), "-P", "-c", _BOOT]
        process = subprocess.Popen(
            [*command, str(Path(__file__).resolve().parents[2]), str(its.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=None if os.environ.get("EDGETAPE_DEBUG") else subprocess.DEVNULL,
            pass_fds=[its.fileno()],
            start_new_session=True,
        )
    return Hired(process, ours)

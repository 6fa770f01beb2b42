"""A pseudo-terminal for tests: runs a command as its foreground, types keys, reads what is shown."""

import os
import pty
import select
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from signal import SIGKILL

ROOT = Path(__file__).resolve().parents[2]
WAIT_S_MAX = 60.0


class Screen:
    """The far end of the terminal that the process `pid` runs on."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid = pid
        self.descriptor = descriptor
        self.shown = b""

    def type(self, keys: bytes) -> None:
        os.write(self.descriptor, keys)

    def wait_for(self, text: bytes, after: bytes = b"") -> None:
        """Reads until `text` has been shown, after another text; fails with what was shown instead."""
        deadline = time.monotonic() + WAIT_S_MAX
        while text not in self.shown.partition(after)[2] if after else text not in self.shown:
            assert time.monotonic() < deadline, self.shown
            assert self._read(), self.shown

    def wait_for_foreground(self, is_right: Callable[[int], bool]) -> None:
        """Reads until the process group in the foreground is the right one."""
        deadline = time.monotonic() + WAIT_S_MAX
        while not is_right(os.tcgetpgrp(self.descriptor)):
            assert time.monotonic() < deadline, self.shown
            assert self._read(0.02), self.shown

    def exit_code(self) -> int:
        """Reads until the process closes the terminal, and gives its exit code (negative for a signal)."""
        deadline = time.monotonic() + WAIT_S_MAX
        while self._read():
            if time.monotonic() > deadline:
                os.kill(self.pid, SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _read(self, moment_s: float = 0.2) -> bool:
        """Takes what is shown within a moment; False once the terminal is closed."""
        if not select.select([self.descriptor], [], [], moment_s)[0]:
            return True
        try:
            chunk = os.read(self.descriptor, 4096)
        except OSError:
            return False
        self.shown += chunk
        return bool(chunk)


@contextmanager
def on_a_terminal(command: Sequence[str]) -> Iterator[Screen]:
    """Runs a command in the checkout as the foreground of a new terminal, as the leader of its session."""
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # the child only calls exec
        pid, descriptor = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.execv(command[0], list(command))
    try:
        yield Screen(pid, descriptor)
    finally:
        os.close(descriptor)

"""The controlling terminal, if there is one: who is in its foreground, and how it was set before."""

import contextlib
import os
import signal
import termios
from collections.abc import Iterator

TerminalModes = list[int | list[bytes | int]]


class Terminal:
    """The terminal as it was when the agent was started; without one every question is answered no."""

    def __init__(self) -> None:
        self._was_foreground = self.is_foreground()
        self._modes = self._read_modes()

    def is_foreground(self) -> bool:
        """Whether our process group is the one that the terminal's keys send signals to."""
        with _opened() as descriptor:
            return descriptor is not None and _foreground(descriptor) == os.getpgrp()

    def restore(self, *, modes: bool) -> None:
        """Takes the foreground back where an agent kept it; with `modes`, also the settings (echo, raw).

        A shell does the same: settings that a program left on a normal end may be meant, those of a killed
        one are not.
        """
        if not self._was_foreground:
            return
        with _opened() as descriptor, _no_stop_for_output():
            if descriptor is None:
                return
            with contextlib.suppress(OSError):
                os.tcsetpgrp(descriptor, os.getpgrp())
            if modes and self._modes is not None:
                with contextlib.suppress(termios.error):
                    termios.tcsetattr(descriptor, termios.TCSADRAIN, self._modes)

    def _read_modes(self) -> TerminalModes | None:
        with _opened() as descriptor:
            if descriptor is None or not self._was_foreground:
                return None
            try:
                return termios.tcgetattr(descriptor)
            except termios.error:
                return None


@contextlib.contextmanager
def _opened() -> Iterator[int | None]:
    """The controlling terminal, opened for a moment: a descriptor kept open would keep it from hanging up."""
    try:
        descriptor = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _foreground(descriptor: int) -> int | None:
    try:
        return os.tcgetpgrp(descriptor)
    except OSError:
        return None


@contextlib.contextmanager
def _no_stop_for_output() -> Iterator[None]:
    """A background process that changes its terminal is stopped by SIGTTOU unless it blocks the signal."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

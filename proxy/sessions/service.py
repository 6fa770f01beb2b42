"""A recorder that runs until it is told to end."""

import asyncio
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from addons.options import RecorderOptions
from addons.recorder import Counts, Recorder
from store.core.base import Base
from store.core.errors import EdgetapeError
from store.core.leaf import PolicyKind
from store.policies import note
from store.writer import Writer

WATCH_S = 1.0
ENDING = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True)
class Listening:
    """Where it listens: the proxy's port, and the servers that further ports stand for."""

    port: int
    bases: tuple[Base, ...] = ()


class Service:
    """The long-lived recorder."""

    def __init__(self, writer: Writer, options: RecorderOptions, in_force: Mapping[PolicyKind, str]) -> None:
        self._writer = writer
        self._in_force = in_force
        self._options = options

    async def run(self, ready: Callable[[Listening], None], unsigned: Callable[[EdgetapeError], None]) -> Counts:
        """Listens, calls `ready`, and returns at TERM or Ctrl-C, with every run closed.

        The result is what it has seen. `unsigned` is told why nothing signs what is recorded, soon after that begins.
        """
        recorder = Recorder(self._writer, self._options)
        await recorder.start()
        try:
            await note(self._writer, self._in_force)
            ready(Listening(recorder.port, recorder.bases))
            watch = asyncio.create_task(self._watch(unsigned))
            await told_to_end()
            watch.cancel()
        finally:
            await recorder.stop()
        return recorder.counts

    async def _watch(self, unsigned: Callable[[EdgetapeError], None]) -> None:
        """Looks whether the log is signed; says once, each time that this ends, that it is not."""
        signed = True
        while True:
            failure = self._writer.signing_failure
            if failure is not None and signed:
                unsigned(failure)
            signed = failure is None
            await asyncio.sleep(WATCH_S)


async def told_to_end() -> None:
    """Waits for a signal; a second one ends the process as it always does."""
    loop, told = asyncio.get_running_loop(), asyncio.Event()

    def end() -> None:
        for number in ENDING:
            loop.remove_signal_handler(number)
        told.set()

    for number in ENDING:
        loop.add_signal_handler(number, end)
    await told.wait()

"""What the writer gives at once for what it will have done later."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from store.core.errors import StoreUnusable

if TYPE_CHECKING:
    from store.drafting.asked import Asked
    from store.journal import Appended

type Told = Callable[[Exception | None], None]

_LOCK = threading.Lock()  # held for some steps at a time, so one for all tickets is enough


class Ticket:
    """One thing that the writer was asked to do; awaiting it, or `result()`, waits until it is on disk.

    Both raise StoreUnusable when the store failed, InvalidEvent when the format forbids the event. `hurry` is called
    when somebody waits. Whoever stops waiting takes the answer from nobody.
    """

    __slots__ = ("_done", "_error", "_hurry", "_waiting", "asked", "has_pieces", "placed")

    def __init__(self, hurry: Callable[[], None] = lambda: None) -> None:
        self._hurry = hurry
        self._done = False
        self._error: Exception | None = None
        self._waiting: list[Told] = []
        # Set while the transaction is still open, so that an outcome may be appended in the transaction of its request.
        self.placed: Appended | None = None
        self.asked: Asked | None = None
        self.has_pieces = False  # of a request: whether pieces of its streams were handed to the writer

    @property
    def seq(self) -> int:
        """The seq of the event. Raises StoreUnusable when it was not appended."""
        if self.placed is None:
            raise StoreUnusable("the event before this one was not recorded")
        return self.placed.seq

    @property
    def is_done(self) -> bool:
        """Whether it is on disk, or known not to be."""
        return self._done

    @property
    def error(self) -> Exception | None:
        """Why it is not on disk, as far as that is known."""
        return self._error

    def settle(self, error: Exception | None = None) -> None:
        """It is on disk as `placed` says, or will not be; called once, from any thread."""
        with _LOCK:
            self._error = error
            self._done = True
            waiting, self._waiting = self._waiting, []
        for told in waiting:
            told(error)

    def when_done(self, told: Told) -> None:
        """Calls `told` with the error, or None: now, or in the thread that settles it."""
        with _LOCK:
            if not self._done:
                self._waiting.append(told)
                return
        told(self._error)

    def result(self, timeout_s: float | None = None) -> "Appended | None":
        """Waits, from any thread. Raises TimeoutError too."""
        if not self._done:
            self._hurry()
            done = threading.Event()
            self.when_done(lambda _: done.set())
            if not done.wait(timeout_s):
                raise TimeoutError("the writer is still at it")
        return self._outcome()

    def __await__(self) -> "Generator[object, None, Appended | None]":
        if not self._done:
            self._hurry()
            loop, thread = asyncio.get_running_loop(), threading.get_ident()
            woken = loop.create_future()

            def wake() -> None:
                if not woken.done():
                    woken.set_result(None)

            def told(_: Exception | None) -> None:
                if threading.get_ident() == thread:
                    wake()
                    return
                with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
                    loop.call_soon_threadsafe(wake)

            self.when_done(told)
            yield from woken
        return self._outcome()

    def _outcome(self) -> "Appended | None":
        if self._error is not None:
            raise self._error
        return self.placed

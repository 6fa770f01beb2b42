"""What the writer gives at once for what it will have done later."""

import asyncio
from collections.abc import Callable, Generator
from concurrent.futures import Future

from store.core.errors import StoreUnusable
from store.journal import Appended


class Ticket:
    """One thing that the writer was asked to do; awaiting it, or `result()`, waits until it is on disk.

    Both raise StoreUnusable when the store failed, InvalidEvent when the format forbids the event. `hurry` is called
    when somebody waits.
    """

    def __init__(self, hurry: Callable[[], None] = lambda: None) -> None:
        self._hurry = hurry
        self.done: Future[Appended | None] = Future()
        # Whoever stops waiting must not take the answer from others: from here on nobody can cancel it.
        self.done.set_running_or_notify_cancel()
        # Set while the transaction is still open, so that an outcome may be appended in the transaction of its request.
        self.placed: Appended | None = None

    @property
    def seq(self) -> int:
        """The seq of the event. Raises StoreUnusable when it was not appended."""
        if self.placed is None:
            raise StoreUnusable("the event before this one was not recorded")
        return self.placed.seq

    def result(self, timeout_s: float | None = None) -> Appended | None:
        """Waits, from any thread."""
        self._hurry()
        return self.done.result(timeout_s)

    def __await__(self) -> Generator[object, None, Appended | None]:
        self._hurry()
        return asyncio.shield(asyncio.wrap_future(self.done)).__await__()

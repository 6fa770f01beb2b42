"""Runs a coroutine on the quickest event loop, and nothing foreign is printed past us: no log, no forgotten error."""

import asyncio
import logging
import os
import traceback
from collections.abc import Coroutine

from proxy import pace
from proxy.discretion import discreet
from proxy.talk import Talk


def run[T](talk: Talk, main: Coroutine[object, object, T]) -> T:
    """The result of `main`, on an event loop of its own."""
    log = _Log(talk)
    logging.getLogger().addHandler(log)
    try:
        with asyncio.Runner(loop_factory=pace.loop_factory()) as runner:
            runner.get_loop().set_exception_handler(lambda _, context: _forgotten(talk, context))
            return runner.run(main)
    finally:
        logging.getLogger().removeHandler(log)


class _Log(logging.Handler):
    """What libraries log is for the curious."""

    def __init__(self, talk: Talk) -> None:
        super().__init__(logging.WARNING)
        self._talk = talk

    def emit(self, record: logging.LogRecord) -> None:
        self._talk.detail(discreet(f"{record.name}: {record.getMessage()}"))


def _forgotten(talk: Talk, context: dict[str, object]) -> None:
    """An error in a task that nobody waited for: the work goes on, so it is a warning."""
    error = context.get("exception")
    if not isinstance(error, BaseException):
        talk.detail(discreet(f"asyncio: {context.get('message')}"))
        return
    if os.environ.get("EDGETAPE_DEBUG"):
        talk.always(discreet("".join(traceback.format_exception(error)).rstrip()))
    talk.warn(discreet(f"unforeseen: {type(error).__name__}: {error}"), "set EDGETAPE_DEBUG=1 to see where")

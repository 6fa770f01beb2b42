"""Runs long work on the event loop a step at a time, so that no stream waits for it.

A thread would not do: it holds the interpreter for five milliseconds whenever it has something to compute.
"""

import asyncio
import time
from collections.abc import Generator

SLICE_S = 0.0003


async def paced[R](steps: Generator[None, None, R]) -> R:
    """What comes out at the end of all steps; whoever waits is let through after each millisecond of work."""
    began = time.perf_counter()
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: R = done.value
            return result
        if time.perf_counter() - began >= SLICE_S:
            await asyncio.sleep(0)
            began = time.perf_counter()

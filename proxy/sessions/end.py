"""Waits until this process is told to end."""

import asyncio
import signal

ENDING = (signal.SIGTERM, signal.SIGINT)


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

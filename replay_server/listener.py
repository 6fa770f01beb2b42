"""Takes a port."""

import asyncio
from collections.abc import Callable

from store.core.errors import EdgetapeError
from store.reasons import reason


class CannotListen(EdgetapeError):
    """The address that the replay server was told to take cannot be had."""


async def listening(host: str, port: int, front: Callable[[], asyncio.Protocol]) -> asyncio.Server:
    """A listener, 0 being any free port. Raises CannotListen."""
    try:
        return await asyncio.get_running_loop().create_server(front, host, port, backlog=512)
    except OSError as error:
        raise CannotListen(
            f"cannot listen on {host} port {port}: {reason(error)}",
            hint="choose another with --port or --reverse, or none for any free one",
        ) from error

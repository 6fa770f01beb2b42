"""A SOCKS5 client of the replay server: its handshake, on a connection whose bytes are only looked at."""

import asyncio

from replay_server.peek import Peek
from store.core import socks


async def shake_hands(transport: asyncio.Transport, peek: Peek) -> socks.Asked | None:
    """What the client asks for; None for one that left. Reads not a byte more. Raises socks.Refused, OSError."""
    handshake = socks.handshake()
    wants = next(handshake)
    while True:
        given = b""
        if isinstance(wants, bytes):
            transport.write(wants)
        while isinstance(wants, int) and len(given) < wants:
            if not await peek.look():
                return None
            given += peek.take(wants - len(given))
        try:
            wants = handshake.send(given)
        except StopIteration as end:
            asked: socks.Asked = end.value
            return asked

"""A SOCKS5 client of the replay server: its handshake, on a connection of which no byte more than that is taken."""

import asyncio

from replay_server.beginning import Beginning
from store.core import socks


async def shake_hands(transport: asyncio.Transport, beginning: Beginning) -> socks.Asked | None:
    """What the client asks for; None for one that left. Reads not a byte more. Raises socks.Refused, OSError."""
    handshake = socks.handshake()
    wants = next(handshake)
    while True:
        given = b""
        if isinstance(wants, bytes):
            transport.write(wants)
        while isinstance(wants, int) and len(given) < wants:
            if not await beginning.look():
                return None
            given += beginning.take(wants - len(given))
        try:
            wants = handshake.send(given)
        except StopIteration as end:
            asked: socks.Asked = end.value
            return asked

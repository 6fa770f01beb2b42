"""One port for many replays at once: each connection is led to the replay whose token it brings.

Rules kept here:
- A connection belongs to one replay from its first request on; a later one that brings another token gets a 407.
- Whoever brings the token of none is answered by none, and counted.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from replay_server.connect import Front, House
from replay_server.listener import CannotListen, listening
from replay_server.server import ReplayServer
from store.core.credentials import token_of
from store.core.form import Pairs


@dataclass(slots=True)
class Lobby:
    """Of the replays of `servers`, each of which has a token of its own and a run of its own; they share nothing else
    than the port, the process and what it writes to.
    """

    servers: Sequence[ReplayServer]
    strangers: int = 0
    _listener: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Listens, for all of them; the port. Raises CannotListen."""
        by_token = {server.options.token: server for server in self.servers}
        fronts: set[asyncio.Task[None]] = set()
        try:
            self._listener = await listening(host, port, lambda: _Entrance(self, by_token, fronts))
        except CannotListen:
            for server in self.servers:
                await server.abandon()
            raise
        found = int(self._listener.sockets[0].getsockname()[1])
        for server in self.servers:
            await server.start(behind=found)
        return found

    def close(self) -> None:
        """Takes nobody in any more."""
        if self._listener is not None:
            self._listener.close()


class _Entrance(Front):
    def __init__(self, lobby: Lobby, by_token: Mapping[str, House], fronts: set[asyncio.Task[None]]) -> None:
        super().__init__(None, fronts)
        self._lobby = lobby
        self._by_token = by_token

    def _choose(self, fields: Pairs) -> House | None:
        house = self._by_token.get(token_of(fields))
        self._lobby.strangers += house is None
        return house

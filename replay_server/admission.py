"""Who may ask a replay: whoever brings its token, and the agent's own processes, of whose clients some bring none.

What somebody else asked would be taken for the agent's, and the answers that it got would be missing for the agent.
"""

import asyncio
import hmac
from collections.abc import Callable
from dataclasses import dataclass

from replay_server.findings import Clients
from store.core.credentials import token_of
from store.core.form import Pairs

CHALLENGE = b'Basic realm="edgetape"'

type OwnsConnection = Callable[[int, int], bool]
"""Whether the agent holds the connection from one port of this machine to another; asked in a thread."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Of one replay; counts among the `clients` who may not. Without `token` anybody may."""

    clients: Clients
    token: str = ""
    owns_connection: OwnsConnection | None = None

    async def admits(self, transport: asyncio.BaseTransport | None, headers: Pairs) -> bool:
        """Whether a request on a connection, with these headers, may be answered."""
        brought = token_of(headers)
        if not self.token:
            admitted = True
        elif brought:
            admitted = hmac.compare_digest(brought.encode("utf-8", "surrogateescape"), self.token.encode())
        else:
            admitted = await self._is_agents(transport)
        self.clients.strangers += not admitted
        return admitted

    def agrees(self, headers: Pairs) -> bool:
        """Whether a later request on a connection that was admitted is not somebody else's, as a pool may mix them."""
        brought = token_of(headers) if self.token else ""
        agreed = not brought or hmac.compare_digest(brought.encode("utf-8", "surrogateescape"), self.token.encode())
        self.clients.strangers += not agreed
        return agreed

    async def _is_agents(self, transport: asyncio.BaseTransport | None) -> bool:
        client, here = (transport.get_extra_info(name) if transport else None for name in ("peername", "sockname"))
        if self.owns_connection is None or not client or not here:
            return False
        return await asyncio.to_thread(self.owns_connection, client[1], here[1])

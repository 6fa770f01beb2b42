"""Decides who may speak through us, and to whom.

Rules kept here:
- An address that others can reach is listened on only with a token.
- With a token, nobody who does not send it gets anything, and nothing of theirs is recorded; but for the agent's own
  processes on this machine, of whose clients some (Java's) can send none.
- Whose token it is decides whose runs can be written into.
- Nobody reaches ourselves through us.
"""

import asyncio
import socket

from mitmproxy.connection import Client
from mitmproxy.http import HTTPFlow

from addons.keeping import ANSWERED, Keeping, answer, watched
from addons.listeners import Listeners, is_here, is_loopback
from addons.options import RecorderOptions
from addons.run_tag import TENANT, said
from store.core.credentials import token_of
from store.core.errors import EdgetapeError
from store.core.tenant import admitted

_CHALLENGE = (b"Proxy-Authenticate", b'Basic realm="edgetape"')


class UnsafeAddress(EdgetapeError):
    """An address that others can reach, and no token."""


def check_address(host: str, *, has_token: bool) -> None:
    """Raises UnsafeAddress where anybody could use the recorder."""
    if not has_token and not is_loopback(host):
        raise UnsafeAddress(
            f"listening on {host or 'every address'} lets others use this recorder and write into its store",
            hint="listen on 127.0.0.1, or set a token with --token or --tokens",
        )


class Guard:
    """Asks every connection for its token, and refuses the ways back to ourselves."""

    def __init__(self, keeping: Keeping, options: RecorderOptions, listeners: Listeners) -> None:
        self.keeping = keeping
        self.tell(options)
        self._listeners = listeners
        self._known: dict[str, str] = {}
        self._agents: set[str] = set()

    def tell(self, options: RecorderOptions) -> None:
        """Other tokens from now on; a connection that was admitted stays."""
        self.tenants = options.admitted
        self._owns_connection = options.owns_connection

    @watched
    async def http_connect(self, flow: HTTPFlow) -> None:
        """A CONNECT vouches for all that comes inside it."""
        if ANSWERED not in flow.metadata and await self._admits(flow):
            self._known[flow.client_conn.id] = flow.metadata.get(TENANT, "")

    @watched
    async def requestheaders(self, flow: HTTPFlow) -> None:
        """A request that is not inside a CONNECT vouches for itself."""
        tenant = self._known.get(flow.client_conn.id)
        if tenant is None:
            await self._admits(flow)
        else:
            flow.metadata[TENANT] = tenant

    def client_disconnected(self, client: Client) -> None:
        """The next one on that port may be somebody else."""
        self._known.pop(client.id, None)
        self._agents.discard(client.id)

    async def _admits(self, flow: HTTPFlow) -> bool:
        tenant = await self._tenant(flow)
        if tenant is None:
            self._refuse(flow, 407, "Proxy Authentication Required", "this recorder asks for a token", _CHALLENGE)
        elif await self._is_us(flow.request.host, flow.request.port):
            self._refuse(flow, 403, "Forbidden", "this is the recorder itself, which is a proxy and no server")
        else:
            flow.metadata[TENANT] = tenant
            return True
        return False

    async def _tenant(self, flow: HTTPFlow) -> str | None:
        """Whose token it brings, "" for who needs none; None for somebody who may not."""
        listener = self._listeners.of(flow.client_conn)
        if not self.tenants or (listener is not None and listener.vouched):
            return ""
        brought = said(flow).token or token_of(flow.request.headers.fields)
        if not brought:
            return "" if await self._is_agent(flow.client_conn) else None
        tenant = admitted(self.tenants, brought)
        return None if tenant is None else tenant.name

    async def _is_agent(self, client: Client) -> bool:
        if client.id not in self._agents and is_loopback(client.peername[0]):
            ports = client.peername[1], client.sockname[1]
            if await asyncio.to_thread(self._owns_connection, *ports):
                self._agents.add(client.id)
        return client.id in self._agents

    def _refuse(self, flow: HTTPFlow, status: int, title: str, detail: str, *fields: tuple[bytes, bytes]) -> None:
        self.keeping.counts.refused += 1
        answer(flow, status, title, detail, *fields)

    async def _is_us(self, host: str, port: int) -> bool:
        if self._listeners.base_at(host, port) is not None:
            return False  # it goes on to the server that the port stands for
        ours = [one.host for one in self._listeners.all if one.port == port]
        if not ours:
            return False
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError:
            return False
        return any(is_here(str(address[0]), host) for *_, address in found for host in ours)

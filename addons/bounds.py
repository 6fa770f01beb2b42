"""Decides to which servers anybody gets through us; what is refused is on record.

Rules kept here:
- What only the recorder's own machine can reach, an agent on another one does not reach through it, unless it is named.
- A server is refused by its name before it is looked up, by what the name stands for before it is dialled, and by the
  address that was reached before a byte goes there: a name may stand for another address a moment later.
- Behind the user's own proxy it is that proxy that looks names up: there a server is known by its name alone.
"""

import asyncio
import socket
from collections.abc import Callable

from mitmproxy.connection import Client
from mitmproxy.http import HTTPFlow
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from addons.keeping import ANSWERED, BARRED, Keeping, answer, watched
from addons.listeners import Listeners, is_loopback
from addons.metadata import is_metadata
from addons.options import RecorderOptions
from store.core.control.calls import is_ours

REFUSED = "refused by edgetape: "
_OURS = "the recorder's own machine, and the agent is on another"


class Bounds:
    """What a long-lived recorder does for agents that it does not know."""

    def __init__(
        self,
        keeping: Keeping,
        options: RecorderOptions,
        listeners: Listeners,
        is_proxy: Callable[[tuple[str, int]], bool],
    ) -> None:
        """`is_proxy` says which addresses are proxies of the user's own, that we go by."""
        self.keeping = keeping
        self._is_proxy = is_proxy
        self._listeners = listeners
        self.tell(options)

    def tell(self, options: RecorderOptions) -> None:
        """Other bounds from now on."""
        self._allowed = options.allow_hosts
        self._bars_metadata = options.bars_metadata

    @watched
    async def http_connect(self, flow: HTTPFlow) -> None:
        """A CONNECT to where nobody may go is an exchange that failed."""
        why = self._why(flow)
        if ANSWERED in flow.metadata or not why:
            return
        self.keeping.counts.refused += 1
        answer(flow, 403, "Forbidden", why)
        del flow.metadata[ANSWERED]  # so that it is recorded
        flow.metadata[BARRED] = why
        flow.server_conn.error = why

    @watched
    async def requestheaders(self, flow: HTTPFlow) -> None:
        """So is a request."""
        why = self._why(flow)
        if ANSWERED not in flow.metadata and why:
            self.keeping.counts.refused += 1
            flow.metadata[BARRED] = why

    async def server_connect(self, made: ServerConnectionHookData) -> None:
        """Before a server is dialled: what does its name stand for now?"""
        address = made.server.address
        elsewhere = self._is_from_elsewhere(made.client, address)
        if address is None or not (self._bars_metadata or elsewhere):
            return
        try:
            found = await asyncio.get_running_loop().getaddrinfo(*address[:2], type=socket.SOCK_STREAM)
        except OSError:
            return  # the dialling will say so
        places = [str(place[0]) for *_, place in found]
        if self._bars_metadata and any(map(is_metadata, places)):
            self._refuse(made, f"{REFUSED}{address[0]} stands for an address of the cloud's own")
        elif elsewhere and any(map(is_loopback, places)):
            self._refuse(made, f"{REFUSED}{address[0]} is {_OURS}")

    async def server_connected(self, made: ServerConnectionHookData) -> None:
        """Before a byte goes there: who was reached?"""
        peer = made.server.peername
        if peer is None:
            return
        if self._bars_metadata and is_metadata(str(peer[0])):
            self._refuse(made, f"{REFUSED}{peer[0]} is an address of the cloud's own")
            self.keeping.sever(made.server)
        elif is_loopback(str(peer[0])) and self._is_from_elsewhere(made.client, made.server.address):
            self._refuse(made, f"{REFUSED}{peer[0]} is {_OURS}")
            self.keeping.sever(made.server)
        elif self._listeners.have(str(peer[0]), peer[1]):
            self._refuse(made, f"{REFUSED}{peer[0]}:{peer[1]} is the recorder itself")
            self.keeping.sever(made.server)

    def _is_from_elsewhere(self, client: Client, asked: tuple[str, int] | None) -> bool:
        """Whether an agent on another machine is to be kept from what it asked for, being on ours."""
        if asked is None or self._is_here(client) or self._is_proxy(asked):
            return False
        return self._allowed is None or not self._allowed.have(*asked)

    @staticmethod
    def _is_here(client: Client) -> bool:
        return is_loopback(str(client.peername[0]))

    def _refuse(self, made: ServerConnectionHookData, why: str) -> None:
        self.keeping.counts.refused += 1
        made.server.error = why

    def _why(self, flow: HTTPFlow) -> str:
        host, port = flow.request.host, flow.request.port
        if is_ours(host) or self._listeners.base_at(host, port):
            return ""
        if self._allowed is not None and not self._allowed.have(host, port):
            return f"{REFUSED}{host} is none of the servers that this recorder lets agents reach"
        if self._bars_metadata and is_metadata(host):
            return f"{REFUSED}{host} is an address of the cloud's own"
        if is_loopback(host) and self._is_from_elsewhere(flow.client_conn, (host, port)):
            return f"{REFUSED}{host} is {_OURS}"
        return ""

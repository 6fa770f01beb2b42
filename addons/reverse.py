"""Turns a request to a port that stands for a server into the request to that server.

Rules kept here:
- Nothing is left of our port: what is recorded, and what leaves, is what a client of the server itself would send.
- Such a port reaches its server and nobody else, whatever form the request has; it is no proxy.
- A client that asks the proxy for such a port gets the same.
- A call to the recorder itself (Host: edgetape.internal) stays one.
"""

from mitmproxy.http import Headers, HTTPFlow

from addons.keeping import Keeping, answer, watched
from addons.listeners import Listeners
from addons.run_tag import SAID
from store.core.base import addressed
from store.core.control.calls import is_ours
from store.drafting.seen import Pairs


class Reverse:
    """The first that sees a request."""

    def __init__(self, keeping: Keeping, listeners: Listeners) -> None:
        self.keeping = keeping
        self._listeners = listeners

    @watched
    async def http_connect(self, flow: HTTPFlow) -> None:
        """Nothing goes on from here to where a client wants."""
        listener = self._listeners.of(flow.client_conn)
        if listener is not None and listener.base is not None:
            self.keeping.counts.refused += 1
            answer(flow, 405, "Method Not Allowed", f"this port stands for {listener.base.origin}, and is no proxy")

    @watched
    async def requestheaders(self, flow: HTTPFlow) -> None:
        """Puts the server in our place."""
        listener, sent = self._listeners.of(flow.client_conn), flow.request.data
        base = (listener and listener.base) or self._listeners.base_at(sent.host, sent.port)
        if base is None:
            return
        said = flow.metadata[SAID] = addressed(sent.path)
        sent.path = said.path
        if is_ours(sent.host):
            return
        sent.scheme, sent.host, sent.port = base.scheme.encode(), base.host, base.port
        sent.headers = Headers(_for(sent.headers.fields, base.authority.encode()))
        if sent.authority:
            sent.authority = base.authority.encode()


def _for(fields: Pairs, authority: bytes) -> Pairs:
    """The fields with another Host, in its place and spelling."""
    return tuple((name, authority if name.lower() == b"host" else value) for name, value in fields)

"""Records the messages of a WebSocket (RFC 6455), each before it goes on, and its end."""

from mitmproxy.http import HTTPFlow

from addons import sight
from addons.keeping import UNRECORDED, Keeping, watched
from store.core.websocket import BROKEN_OFF
from store.drafting.seen import Message


class WebSocket:
    """What follows an answer of 101 to an upgrade to WebSocket."""

    def __init__(self, keeping: Keeping) -> None:
        self.keeping = keeping

    @watched
    async def websocket_message(self, flow: HTTPFlow) -> None:
        """One whole message, whatever its frames."""
        live = self.keeping.flows.get(flow)
        if live is None and flow.websocket is not None and UNRECORDED in flow.metadata:
            flow.websocket.messages.clear()
        if live is None or flow.websocket is None:
            return
        message = flow.websocket.messages[-1]
        flow.websocket.messages.clear()  # mitmproxy would keep them all
        seen = Message(content=message.content, from_agent=message.from_client, is_text=message.is_text)
        await self.keeping.keep(live.run, seen, live.request)

    @watched
    async def websocket_end(self, flow: HTTPFlow) -> None:
        """The end; 1006 when nobody said goodbye."""
        live, socket = self.keeping.flows.get(flow), flow.websocket
        if live is None or socket is None:
            return
        code, why = socket.close_code or BROKEN_OFF, socket.close_reason or ""
        await self.keeping.keep(live.run, sight.goodbye(code, why, socket.closed_by_client), live.request)
        self.keeping.flows.end(flow)

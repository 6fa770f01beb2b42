"""What mitmproxy 12 lacks of HTTP/2 (RFC 9113), put into subclasses of its two sides.

- No back-pressure (section 5.2): it takes what a side sends as fast as that can, and keeps what the other side does not
  take. Here a side gets no room for more of a stream while much of it waits to be taken; other streams go on.
- Interim answers are dropped (RFC 9110, section 15.2). Here they pass on and are kept (`addons.interim`).
- `Alt-Svc` asks an agent to go on by HTTP/3, past us. Here it is kept and not passed on, as over HTTP/1.
"""

import contextlib
from collections.abc import Iterator

import h2.events
import h2.exceptions
from mitmproxy.connection import Connection
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import http as http_layers
from mitmproxy.proxy.layers.http import _events as said
from mitmproxy.proxy.layers.http import _http2 as http2
from mitmproxy.proxy.layers.http._http_h2 import BufferedH2Connection

from addons.http1 import passed_on
from addons.interim import SIDES, pass_on, spelled

STREAM_BYTES_MAX = 2 << 20  # what a side may send of a stream before it is given room for more
WAITING_BYTES_MAX = 256 << 10  # what may wait to be taken before no more room is given

type _Run = layer.CommandGenerator[None]


class _Paced(http2.Http2Connection):
    """One side: gives room for more of a stream as the other side takes what came of it."""

    def __init__(self, context: Context, conn: Connection) -> None:
        super().__init__(context, conn)
        self.h2_conn.local_settings.initial_window_size = STREAM_BYTES_MAX
        self.h2_conn.local_settings.acknowledge()
        vars(self.h2_conn)["acknowledge_received_data"] = self._take
        self.owed: dict[int, int] = {}
        self._sides[conn] = self

    def _other_side(self, stream: int) -> "tuple[_Paced, int] | None":
        """Where a stream goes on, and as which; None where that is not HTTP/2, or not known yet."""
        raise NotImplementedError

    def _waiting_bytes(self, stream: int) -> int:
        """How much of a stream this side's peer has not taken."""
        return sum(len(piece.data) for piece in self.h2_conn.stream_buffers.get(stream, ()))

    def _settle(self) -> _Run:
        """Gives room for what has been taken meanwhile."""
        settled = [stream for stream in self.owed if not self._waits(stream)]
        for stream in settled:
            self._give(self.owed.pop(stream), stream)
        if settled:
            yield commands.SendData(self.conn, self.h2_conn.data_to_send())

    @property
    def _sides(self) -> "dict[Connection, _Paced]":
        sides: dict[Connection, _Paced] = vars(self._layer).setdefault(SIDES, {})
        return sides

    @property
    def _layer(self) -> http_layers.HttpLayer:
        """That of this connection; the one before it read the CONNECT."""
        return [one for one in self.context.layers if isinstance(one, http_layers.HttpLayer)][-1]

    def _take(self, amount: int, stream: int) -> None:
        if self._waits(stream):
            self.owed[stream] = self.owed.get(stream, 0) + amount
        else:
            self._give(amount + self.owed.pop(stream, 0), stream)

    def _give(self, amount: int, stream: int) -> None:
        with contextlib.suppress(h2.exceptions.StreamClosedError):
            BufferedH2Connection.acknowledge_received_data(self.h2_conn, amount, stream)

    def _waits(self, stream: int) -> bool:
        other = self._other_side(stream)
        return other is not None and other[0]._waiting_bytes(other[1]) > WAITING_BYTES_MAX

    def _settle_others(self, event: events.Event) -> Iterator[commands.Command]:
        if isinstance(event, events.DataReceived):
            for side in list(self._sides.values()):
                if side is not self and side.owed:
                    yield from side._settle()


class TowardsAgent(http2.Http2Server, _Paced):
    """Our side towards the agent."""

    def _other_side(self, stream: int) -> tuple[_Paced, int] | None:
        """The server that an upload goes to."""
        found = self._layer.streams.get(stream)
        flow = getattr(found, "flow", None)
        side = self._sides.get(flow.server_conn) if flow is not None else None
        if not isinstance(side, TowardsServer) or stream not in side.our_stream_id:
            return None
        return side, side.our_stream_id[stream]

    def _handle_event(self, event: events.Event) -> _Run:
        yield from super()._handle_event(passed_on(event) if isinstance(event, said.ResponseHeaders) else event)
        yield from self._settle_others(event)


class TowardsServer(http2.Http2Client, _Paced):
    """Our side towards the server."""

    def _other_side(self, stream: int) -> tuple[_Paced, int] | None:
        """The agent that an answer goes to."""
        side, theirs = self._sides.get(self.context.client), self.their_stream_id.get(stream)
        return (side, theirs) if side is not None and theirs is not None else None

    def handle_h2_event(self, event: h2.events.Event) -> layer.CommandGenerator[bool]:
        """An interim answer is for the agent; the rest is as it was."""
        if isinstance(event, h2.events.InformationalResponseReceived):
            theirs = self.their_stream_id.get(event.stream_id or 0)
            flow = getattr(self._layer.streams.get(theirs or 0), "flow", None)
            if theirs is not None and flow is not None:
                yield from pass_on(self.context, flow.request, theirs, spelled(event.headers or ()))
            return False
        return (yield from super().handle_h2_event(event))

    def _handle_event(self, event: events.Event) -> _Run:
        yield from super()._handle_event(event)
        yield from self._settle_others(event)

"""Carries the pieces of a streamed answer straight across, past mitmproxy's layers, each of which costs as much again.

- Only between two sides that speak HTTP/1, from the moment the head of an answer is out. Pieces are cut, shown to the
  tee and framed as by the layers, and go out in the same turn of the event loop in which they came.
- Whatever is not plainly a piece of a body is left to the layers, in its place: the end of a message, trailers, what is
  malformed, the end of a connection. They find their own readers as if they had read all of it themselves.
- So is everything while something is in the way: an agent that is slow to read, a hook that is waited for, bytes that
  the layers have not taken yet. Nothing ever overtakes.

It is for connections of `addons.quickening` only, and of the same version of mitmproxy; its own never meet it.
"""

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any

from mitmproxy.connection import Connection
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.layers import http as http_layers
from mitmproxy.proxy.layers import modes
from mitmproxy.proxy.layers.tls import ClientTLSLayer, ServerTLSLayer, TLSLayer
from mitmproxy.proxy.server import ConnectionHandler
from mitmproxy.proxy.tunnel import TunnelState
from OpenSSL import SSL

from addons.http1 import TowardsAgent, TowardsServer, cut
from addons.records import READ_BYTES_MAX, opened, sealed
from addons.socks import Socks

UNSENT_BYTES_MAX = 1 << 16  # where asyncio begins to hold a writer up

_PASSES_ON = (modes.HttpProxy, http_layers.HttpLayer, http_layers.HttpStream, ServerTLSLayer, ClientTLSLayer, Socks)

_receive = TLSLayer.receive_data

type _Run = layer.CommandGenerator[None]


class Streams(commands.Log):
    """What a stream of HTTP says once the head of an answer is out and its body follows piece by piece."""

    def __init__(self, stream: http_layers.HttpStream) -> None:
        super().__init__(f"Pieces come from {stream.flow.request.host}.", logging.DEBUG)
        self.stream = stream


class Opened(bytes):
    """What came over TLS, when it has been decrypted already."""

    __slots__ = ()


def receive_data(tls: TLSLayer, data: bytes) -> _Run:
    """In the place of the same method of a TLSLayer: takes what has been decrypted for what it is.

    What came of a peer that left before a handshake began means nothing, and mitmproxy would crash over it.
    """
    session: SSL.Connection | None = tls.tls
    if session is None:
        return
    if isinstance(data, Opened):
        if data:
            yield from tls.event_to_child(events.DataReceived(tls.conn, bytes(data)))
        data = b""
    yield from _receive(tls, data)


def begin(connection: ConnectionHandler, stream: http_layers.HttpStream) -> None:
    """From now on what the server of this stream sends is carried across, as far as it can be."""
    relay = _between(connection, stream)
    if relay is not None and hasattr(relay.reader, "_waiter"):
        vars(relay.reader)["feed_data"] = relay.feed_data


def end(reader: object) -> None:
    """From now on what comes for a reader comes to it."""
    if isinstance(reader, asyncio.StreamReader):
        vars(reader).pop("feed_data", None)


@dataclass(slots=True, eq=False)
class _Relay:
    """Stands before the reader of a server's connection while the body of one answer comes on it."""

    connection: ConnectionHandler
    http: http_layers.HttpLayer
    stream: Any  # an HttpStream, whose inside is not typed
    tee: Any  # the `stream` of its response
    agent_tls: SSL.Connection | None
    writer: asyncio.StreamWriter
    chunked: bool
    server: Connection
    server_tls: SSL.Connection | None
    reader: Any  # an asyncio.StreamReader, whose waiter is private
    side: TowardsServer
    streaming: object = field(init=False)
    late: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.streaming = self.stream.state_stream_response_body

    def feed_data(self, data: bytes) -> None:
        """In the place of the same method of a StreamReader."""
        if len(data) > READ_BYTES_MAX or not self._is_clear():
            if self._is_over():
                end(self.reader)
            asyncio.StreamReader.feed_data(self.reader, data)
            return
        self.connection.timeout_watchdog.register_activity()  # type: ignore[no-untyped-call]
        try:
            self._carry(data)
        except Exception:  # noqa: BLE001  # what mitmproxy says and does when a layer raises
            self.connection.log("mitmproxy has crashed!", logging.ERROR, exc_info=True)

    def _is_clear(self) -> bool:
        """Whether the layers have taken all that came, and the agent nearly all that was sent."""
        waiter, stream, side = self.reader._waiter, self.stream, self.side
        return (
            waiter is not None
            and not waiter.done()
            and (self.late is None or self.late.done())
            and stream._paused is None
            and stream.server_state == self.streaming
            and not self._is_over()
            and side.state == side.read_body
            and not len(side.buf)
            and self.writer.transport.get_write_buffer_size() < UNSENT_BYTES_MAX
        )

    def _is_over(self) -> bool:
        return self.http.streams.get(self.stream.stream_id) is not self.stream

    def _carry(self, data: bytes) -> None:
        """An answer to an update of keys goes out with whatever goes to the server next (RFC 8446, section 4.6.3)."""
        plain, odd = (data, False) if self.server_tls is None else opened(self.server_tls, data)
        pieces, rest = cut(self.side, plain)
        out: list[bytes] = []
        for piece in pieces:
            passed = self.tee(piece) if callable(self.tee) else piece
            parts = (passed,) if isinstance(passed, bytes) else passed
            out += [b"%x\r\n%b\r\n" % (len(part), part) for part in parts] if self.chunked else parts
        if out and not self.writer.is_closing():  # as it is once the agent is gone
            data = out[0] if len(out) == 1 else b"".join(out)
            self.writer.write(data if self.agent_tls is None else sealed(self.agent_tls, data))
        if rest or odd or not plain:
            self._leave(rest)

    def _leave(self, rest: bytes) -> None:
        """Gives the layers what is theirs."""
        event = events.DataReceived(self.server, rest if self.server_tls is None else Opened(rest))
        work, loop = self.connection.server_event(event), asyncio.get_running_loop()
        self.late = asyncio.Task(work, loop=loop, eager_start=True)
        if self._is_over():
            end(self.reader)


def _between(connection: ConnectionHandler, stream: http_layers.HttpStream) -> _Relay | None:
    """What carries the answer of a stream, if all on its way only passes on what comes."""
    flow, above = stream.flow, stream.context.layers
    http, response = above[-2], flow.response
    agent, server = stream.context.client, flow.server_conn
    if not isinstance(http, http_layers.HttpLayer) or response is None or stream.context.options.store_streamed_bodies:
        return None
    towards_agent, towards_server = http.connections.get(agent), http.connections.get(server)
    below: list[layer.Layer] = []
    while isinstance(towards_server, ServerTLSLayer | http_layers.HttpClient):
        below.append(towards_server)
        towards_server = towards_server.child_layer
    if not (isinstance(towards_agent, TowardsAgent) and isinstance(towards_server, TowardsServer)):
        return None
    ours, theirs = connection.transports.get(agent), connection.transports.get(server)
    writer, reader = ours and ours.writer, theirs and theirs.reader
    if not (isinstance(writer, asyncio.StreamWriter) and isinstance(reader, asyncio.StreamReader)):
        return None
    agent_tls, server_tls = _secured(above, agent), _secured([*above, *below], server)
    open_tls = all(one.tunnel_state is TunnelState.OPEN for one in (*agent_tls, *server_tls))
    if not (
        open_tls and len(agent_tls) <= 1 and len(server_tls) <= 1 and all(isinstance(one, _PASSES_ON) for one in above)
    ):
        return None
    assert towards_agent.response is not None
    coding = towards_agent.response.headers.get("transfer-encoding", "").lower()
    return _Relay(
        connection=connection,
        http=http,
        stream=stream,
        tee=response.stream,
        agent_tls=agent_tls[0].tls if agent_tls else None,
        writer=writer,
        chunked="chunked" in coding,
        server=server,
        server_tls=server_tls[0].tls if server_tls else None,
        reader=reader,
        side=towards_server,
    )


def _secured(layers: list[layer.Layer], peer: Connection) -> list[TLSLayer]:
    """The layers of TLS that stand between us and a peer."""
    return [one for one in layers if isinstance(one, TLSLayer) and one.conn is peer]

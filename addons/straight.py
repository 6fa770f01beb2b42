"""The short way into a CONNECT: what comes on a connection goes at once to the layer that is inside.

mitmproxy hands every piece, and every command that it brings about, through five layers outside of that, which change
nothing any more: the CONNECT is answered, and its stream passes everything on. Rules kept here:
- The short way is taken once nothing outside waits for anything, and then for all that comes: pieces, ends and replies.
- How the connection to the agent is ended is still for the layers outside to say.

Once TLS is spoken with both sides it leads past the two layers of that, too: what comes is decrypted here with their
own sessions, and what goes out encrypted. Whatever else is said by TLS is left to the layers, and so is everything once
one side has ended.

Whoever asks knows that this mitmproxy is one that this was tried with (`addons.quickening`).
"""

from collections.abc import Iterator
from typing import TypeGuard

from mitmproxy.connection import Connection, ConnectionState
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.layers import http as http_layers
from mitmproxy.proxy.layers import modes
from mitmproxy.proxy.layers.http import _events as said
from mitmproxy.proxy.layers.http import _http1 as http1
from mitmproxy.proxy.layers.http._hooks import HttpConnectedHook
from mitmproxy.proxy.layers.tls import ClientTLSLayer, ServerTLSLayer, TLSLayer
from mitmproxy.proxy.tunnel import TunnelState

from addons import records, relay
from addons.halves import is_half

TOGETHER_BYTES_MAX = 1 << 16


def opens(event: events.Event) -> bool:
    """Whether there may be a short way from now on: the add-ons have heard that a CONNECT is answered."""
    return isinstance(event, events.HookCompleted) and isinstance(event.command, HttpConnectedHook)


def inside(outermost: layer.Layer) -> "Inside | None":
    """The short way through the layers as they are now, if there is one."""
    spoken = getattr(getattr(outermost._handle_event, "__self__", None), "layer", None)
    if not isinstance(outermost, modes.HttpProxy):
        return None
    if not isinstance(spoken, http_layers.HttpLayer) or len(spoken.streams) != 1:
        return None
    (stream,) = spoken.streams.values()
    agent = spoken.connections[spoken.context.client]
    if not isinstance(agent, http1.Http1Server) or any(one._paused for one in (outermost, spoken, agent, stream)):
        return None
    passes = agent.state == agent.passthrough and stream._handle_event == stream.passthrough
    response = stream.flow.response
    if not passes or response is None or response.status_code == 101 or "transfer-encoding" in response.headers:
        return None
    return Inside(spoken, agent, stream)


class Inside:
    """Stands for the layers outside, `http` and below, of which `stream` is the CONNECT, answered by `agent`."""

    def __init__(self, http: http_layers.HttpLayer, agent: http1.Http1Server, stream: http_layers.HttpStream) -> None:
        assert stream.child_layer is not None
        self._http = http
        self._agent = agent
        self._stream = stream
        self._client = http.context.client
        self._within: layer.Layer | Past = stream.child_layer

    def handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        """The commands that the layers outside would have come to."""
        for command in self._within.handle_event(event):
            if isinstance(command, commands.SendData):
                if command.data:
                    yield command
            elif not isinstance(command, commands.CloseConnection) or is_half(command, self._stream.context):
                yield command
            elif command.connection is self._client:
                eof = said.ErrorCode.PASSTHROUGH_CLOSE
                end = said.ResponseProtocolError(self._stream.stream_id, "EOF", eof)
                yield from self._http.event_to_child(self._agent, end)
            else:
                yield commands.CloseConnection(command.connection)
        if isinstance(event, events.DataReceived) and isinstance(self._within, layer.Layer):
            self._within = past(self._within) or self._within


def past(within: layer.Layer) -> "Past | None":
    """The way past the layers of TLS as they are now, if there is one."""
    server = _chosen(within)
    agent = server.child_layer if isinstance(server, ServerTLSLayer) else None
    spoken = _chosen(agent.child_layer) if isinstance(agent, ClientTLSLayer) else None
    if not isinstance(server, ServerTLSLayer) or not isinstance(agent, ClientTLSLayer):
        return None
    if not isinstance(spoken, http_layers.HttpLayer) or not (_only_passes(server) and _only_passes(agent)):
        return None
    return Past(within, server, agent, spoken)


def _chosen(asked: layer.Layer) -> layer.Layer | None:
    """The layer that was chosen there, and has all that came before."""
    if not isinstance(asked, layer.NextLayer) or asked._handle is None or asked._paused or asked._paused_event_queue:
        return None
    return asked.layer


def _only_passes(tls: TLSLayer) -> bool:
    """Whether there is nothing left to it but encrypting and decrypting."""
    waits = tls._paused or tls._event_queue or tls.command_to_reply_to or tls.debug is not None
    return tls.tunnel_state is TunnelState.OPEN and tls.tunnel_connection is tls.conn and not waits


class Past:
    """Stands for all from `within` to `http`, which are two layers of TLS, with the server and with the agent."""

    def __init__(self, within: layer.Layer, server: TLSLayer, agent: TLSLayer, http: http_layers.HttpLayer) -> None:
        self._within = within
        self._http = http
        self._sides: dict[Connection, TLSLayer] = {server.conn: server, agent.conn: agent}

    def handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        """The commands that the layers would have come to."""
        if any(side.state is not ConnectionState.OPEN for side in self._sides):
            return self._within.handle_event(event)
        side = self._sides.get(event.connection) if isinstance(event, events.DataReceived) else None
        if side is None or not isinstance(event, events.DataReceived):
            return self._going(event)
        if isinstance(event.data, relay.Opened):
            return self._within.handle_event(event)
        plain, odd = records.opened(side.tls, event.data)
        if odd or not plain:
            return self._within.handle_event(events.DataReceived(event.connection, relay.Opened(plain)))
        return self._going(events.DataReceived(event.connection, plain), records.unsent(side.tls))

    def _going(self, event: events.Event, answer: bytes = b"") -> layer.CommandGenerator[None]:
        if answer and isinstance(event, events.DataReceived):
            yield commands.SendData(event.connection, answer)
        held: commands.SendData | None = None
        try:
            for command in self._http.handle_event(event):
                if held is not None:
                    if continues(command, held):
                        held = commands.SendData(held.connection, held.data + command.data)
                        continue
                    yield from self._sealed(held)
                    held = None
                side = self._sides.get(command.connection) if isinstance(command, commands.ConnectionCommand) else None
                if side is None:
                    yield command
                elif isinstance(command, commands.SendData):
                    held = command
                else:
                    yield from side._handle_command(command)
        except Exception:
            if held is not None:
                yield from self._sealed(held)
            raise
        if held is not None:
            yield from self._sealed(held)

    def _sealed(self, command: commands.SendData) -> Iterator[commands.SendData]:
        peer, data = command.connection, command.data
        for at in range(0, len(data), TOGETHER_BYTES_MAX):
            piece = data[at : at + TOGETHER_BYTES_MAX]
            yield commands.SendData(peer, records.sealed(self._sides[peer].tls, piece))


def continues(command: commands.Command, held: commands.SendData) -> TypeGuard[commands.SendData]:
    """Whether a command sends more of the same to the same peer, and both are short."""
    if not isinstance(command, commands.SendData) or command.connection is not held.connection:
        return False
    return len(held.data) + len(command.data) <= TOGETHER_BYTES_MAX

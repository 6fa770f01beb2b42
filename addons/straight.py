"""The short way into a CONNECT: what comes on a connection goes at once to the layer that is inside.

mitmproxy hands every piece, and every command that it brings about, through five layers outside of that, which change
nothing any more: the CONNECT is answered, and its stream passes everything on. Rules kept here:
- The short way is taken once nothing outside waits for anything, and then for all that comes: pieces, ends and replies.
- How the connection to the agent is ended is still for the layers outside to say.

Whoever asks knows that this mitmproxy is one that this was tried with (`addons.quickening`).
"""

from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.layers import http as http_layers
from mitmproxy.proxy.layers import modes
from mitmproxy.proxy.layers.http import _events as said
from mitmproxy.proxy.layers.http import _http1 as http1
from mitmproxy.proxy.layers.http._hooks import HttpConnectedHook


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
        self._within: layer.Layer = stream.child_layer

    def handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        """The commands that the layers outside would have come to."""
        for command in self._within.handle_event(event):
            if isinstance(command, commands.SendData):
                if command.data:
                    yield command
            elif not isinstance(command, commands.CloseConnection):
                yield command
            elif command.connection is self._client:
                eof = said.ErrorCode.PASSTHROUGH_CLOSE
                end = said.ResponseProtocolError(self._stream.stream_id, "EOF", eof)
                yield from self._http.event_to_child(self._agent, end)
            else:
                yield commands.CloseConnection(command.connection)

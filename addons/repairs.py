"""What mitmproxy 12 loses of an exchange, repaired in subclasses of its layers, of which three files have more.

No files but this one, these, `addons.straight` and `addons.shortcuts` have private imports: `addons.http1`,
`addons.http2`, `addons.interim`.

- What is lost of HTTP/1 and HTTP/2 themselves, and of interim answers.
- `Expect: 100-continue` is answered here and taken off, so that a server can refuse no upload by its head. Here it
  passes on where the upload is streamed, and so does the server's answer to it.
- What had come of a message that is cut while it is held is dropped, and the agent gets a 502. Here it is kept, and the
  agent sees what it would have seen without us: the head, the bytes that came, and the cut.
- The last piece of a streamed body goes out before the `response` hook. Here one that the stream holds goes out after.
- An agent whose server broke off before its answer gets a page as if the server had answered 502. Here it sees the
  cut; only a server that was not reached is a 502, which says why in one line.
- A long body that was held goes out in one step of some 10 ms, in which nobody else has a turn. Here all have.
- Errors do not say from whose side they came. Here they do.
- What one side of a tunnel had still to say is lost once the other has ended. Here it passes on (`addons.halves`).
- CONNECT ignores `server.via`. Here it goes through the proxy that is named there.
- A WebSocket that broke off on one side is closed on the other as if all was well. Here it breaks off there, too.
- Hosts and lengths are read as `addons.grammar` says, and TLS ends as `addons.farewell` does.

Each is a subclass that takes the place of mitmproxy's own class, and only where the methods that it overrides are.
"""

from collections.abc import Iterator
from inspect import isfunction
from types import ModuleType
from typing import TypeGuard

import wsproto
from mitmproxy import version
from mitmproxy.http import Message, Response
from mitmproxy.net import check
from mitmproxy.net.http import url, validate
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.layers import http as http_layers
from mitmproxy.proxy.layers import tls
from mitmproxy.proxy.layers import websocket as socket_layers
from mitmproxy.proxy.layers.http import _events as said
from mitmproxy.proxy.layers.http._hooks import HttpResponseHook

from addons import farewell, grammar, http1, http2, relay
from addons.halves import Ended, Halves
from addons.interim import expects
from store.core.errors import EdgetapeError
from store.core.websocket import BROKEN_OFF

TURN_BYTES_MAX = 1 << 16

FAULT_SIDE = "edgetape.fault_side"  # in flow.metadata: "client" or "server"
KNOWN_MAJOR = "12"

type _Run = layer.CommandGenerator[None]


class EngineFailed(EdgetapeError):
    """The proxy engine does not start: the port is taken, or this mitmproxy is not one that we know."""


class _Stream(http_layers.HttpStream):
    """Keeps what had come of a message that is cut, tells whose side failed, chains CONNECT, and passes Expect on."""

    def state_wait_for_request_headers(self, event: said.RequestHeaders) -> _Run:
        run = super().state_wait_for_request_headers(event)
        yield from self._expecting(run) if expects(event.request) and not event.end_stream else run

    def _expecting(self, run: _Run) -> _Run:
        """The same without the answer of mitmproxy's own, and with the header back, where the upload is streamed."""
        fields, reply = None, None
        while True:
            try:
                command = run.send(reply)
            except StopIteration:
                return
            if fields is None and self.flow.request.stream and _is_continue(command):
                fields, reply = self.flow.request.headers.fields, None
                continue
            if fields is not None:
                self.flow.request.headers.fields = fields
            reply = yield command

    def handle_protocol_error(self, event: said.RequestProtocolError | said.ResponseProtocolError) -> _Run:
        by_server = isinstance(event, said.ResponseProtocolError)
        self.flow.metadata[FAULT_SIDE] = "server" if by_server else "client"
        if self.client_state == self.state_consume_request_body:
            self.flow.request.raw_content = bytes(self.request_body_buf)
        held = self.server_state == self.state_consume_response_body
        partial = bytes(self.response_body_buf)
        if held and self.flow.response is not None:
            self.flow.response.raw_content = partial
        for command in super().handle_protocol_error(event):
            to_agent = isinstance(command, http_layers.SendHttp) and command.event is event
            if not to_agent or not isinstance(event, said.ResponseProtocolError):
                yield command
                continue
            if held:
                yield from self._send_what_came(partial)
            yield from self._tell(event)

    def state_consume_request_body(self, event: events.Event) -> _Run:
        run: _Run = super().state_consume_request_body(event)
        return self._in_turns(run) if len(self.request_body_buf) > TURN_BYTES_MAX else run

    def _in_turns(self, run: _Run) -> _Run:
        """The same, but for a long body, which gives others their turn."""
        reply = None
        while True:
            try:
                command = run.send(reply)
            except StopIteration:
                return
            if _is_long(command, self.flow.request):
                yield from _turns(command)
                reply = None
            else:
                reply = yield command

    def send_response(self, already_streamed: bool = False) -> _Run:
        for command in super().send_response(already_streamed):
            if self.flow.response is not None and _is_long(command, self.flow.response):
                yield from _turns(command)
            else:
                yield command
            held = getattr(self.flow.response and self.flow.response.stream, "held", b"")
            if held and isinstance(command, HttpResponseHook) and self.flow.error is None:
                yield http_layers.SendHttp(said.ResponseData(self.stream_id, held), self.context.client)

    def passthrough(self, event: events.Event) -> _Run:
        """A tunnel, of which one direction may end before the other."""
        if isinstance(event, said.RequestProtocolError):  # the agent has left before it was let in
            event = said.RequestEndOfMessage(self.stream_id)
        within = self.child_layer
        assert within is not None
        self.child_layer = Halves(within, self.context)  # type: ignore[assignment]  # of a layer, its way in
        try:
            for command in super().passthrough(event):
                yield command.half if isinstance(command, Ended) else command
        finally:
            self.child_layer = within

    def start_response_stream(self) -> _Run:
        yield from super().start_response_stream()
        yield relay.Streams(self)

    def _tell(self, event: said.ResponseProtocolError) -> _Run:
        """A server that was not reached is a 502 that says why; one that broke off is broken off, as without us."""
        client = self.context.client
        if event.code is not said.ErrorCode.CONNECT_FAILED:
            broken = event.code in (said.ErrorCode.GENERIC_SERVER_ERROR, said.ErrorCode.RESPONSE_VALIDATION_FAILED)
            code = said.ErrorCode.KILL if broken else event.code
            yield http_layers.SendHttp(said.ResponseProtocolError(self.stream_id, event.message, code), client)
            return
        body = f"{event.message}\n".encode()
        answer = Response.make(502, body, {"Content-Type": "text/plain"})
        if not self.flow.request.is_http2:
            answer.headers["Connection"] = "close"
        yield http_layers.SendHttp(said.ResponseHeaders(self.stream_id, answer), client)
        if self.flow.request.method != "HEAD":
            yield http_layers.SendHttp(said.ResponseData(self.stream_id, body), client)
        yield http_layers.SendHttp(said.ResponseEndOfMessage(self.stream_id), client)

    def _send_what_came(self, partial: bytes) -> _Run:
        assert self.flow.response is not None
        client = self.context.client
        yield http_layers.SendHttp(said.ResponseHeaders(self.stream_id, self.flow.response), client)
        if partial:
            yield http_layers.SendHttp(said.ResponseData(self.stream_id, partial), client)

    def handle_connect_regular(self) -> _Run:
        if self.context.server.via is not None:
            yield from self.handle_connect_upstream()  # type: ignore[no-untyped-call]
        else:
            yield from super().handle_connect_regular()  # type: ignore[no-untyped-call]


class _Turn(commands.RequestWakeup):
    """Others first: their pieces come and go before this goes on."""

    blocking = True

    def __init__(self) -> None:
        super().__init__(0)


def _is_long(command: commands.Command, message: Message) -> TypeGuard[http_layers.SendHttp]:
    """Whether a command sends a body that was held and is long, framed by its length."""
    if not isinstance(command, http_layers.SendHttp) or "transfer-encoding" in message.headers:
        return False
    event = command.event
    return isinstance(event, said.RequestData | said.ResponseData) and len(event.data) > TURN_BYTES_MAX


def _turns(command: http_layers.SendHttp) -> _Run:
    event = command.event
    assert isinstance(event, said.RequestData | said.ResponseData)
    for at in range(0, len(event.data), TURN_BYTES_MAX):
        if at:
            yield _Turn()
        piece = type(event)(event.stream_id, event.data[at : at + TURN_BYTES_MAX])
        yield http_layers.SendHttp(piece, command.connection)


class _Socket(socket_layers.WebsocketConnection):
    """Says goodbye only where somebody did."""

    def send2(self, event: wsproto.events.Event) -> commands.SendData:
        if isinstance(event, wsproto.events.CloseConnection) and event.code == BROKEN_OFF:
            return commands.SendData(self.conn, b"")
        return super().send2(event)


_REPAIRED: tuple[tuple[ModuleType, str, type], ...] = (
    (http_layers, "HttpStream", _Stream),
    (http_layers, "Http1Server", http1.TowardsAgent),
    (http_layers, "Http1Client", http1.TowardsServer),
    (http_layers, "Http2Server", http2.TowardsAgent),
    (http_layers, "Http2Client", http2.TowardsServer),
    (socket_layers, "WebsocketConnection", _Socket),
)
_READ: tuple[tuple[object, str, object], ...] = (
    (check, "is_valid_host", grammar.is_valid_host),
    (url, "is_valid_host", grammar.is_valid_host),
    (url, "parse_authority", grammar.parse_authority),
    (validate, "parse_content_length", grammar.parse_content_length),
    (tls.TLSLayer, "receive_data", relay.receive_data),
    (tls.TLSLayer, "receive_close", farewell.receive_close),
    (tls.TLSLayer, "send_close", farewell.send_close),
)


def repair() -> None:
    """Puts our layers in their place, once a process. Raises EngineFailed for a mitmproxy that they do not fit."""
    for layers, name, ours in _REPAIRED:
        theirs = getattr(layers, name, None)
        if theirs is ours:
            continue
        if theirs is None or not all(hasattr(theirs, method) for method in _overridden(ours)):
            raise _unknown()
        setattr(layers, name, ours)
    for module, name, read in _READ:
        if not hasattr(module, name):
            raise _unknown()
        setattr(module, name, read)
    events.Wakeup.reply = None  # somebody waits for it here (`_Turn`)
    if version.VERSION.split(".")[0] != KNOWN_MAJOR:
        raise _unknown()


def _is_continue(command: commands.Command) -> bool:
    return (
        isinstance(command, http_layers.SendHttp)
        and isinstance(command.event, said.ResponseHeaders)
        and command.event.response.status_code == 100
    )


def _unknown() -> EngineFailed:
    return EngineFailed(f"mitmproxy {version.VERSION} is not one that edgetape knows", hint="install mitmproxy 12.3")


def _overridden(ours: type) -> Iterator[str]:
    for kind in ours.__mro__:
        if kind.__module__ in (__name__, http1.__name__, http2.__name__):
            yield from (name for name, member in vars(kind).items() if isfunction(member) and not name.startswith("_"))

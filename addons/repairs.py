"""What mitmproxy 12 loses of an exchange, repaired in subclasses of its layers: the only file with private imports.

- HTTP/1 trailers (RFC 9112, section 7.1.2) crash its reader: the answer never ends. Here they pass on and are kept.
- An HTTP/1 interim answer (RFC 9110, section 15.2: 103 Early Hints) is taken for the final one, which is then lost.
  Here it passes on to an HTTP/1.1 agent, and the final answer follows.
- What had come of a message that is cut while it is held is dropped, and the agent gets a 502. Here it is kept, and the
  agent sees what it would have seen without us: the head, the bytes that came, and the cut.
- A path of other bytes than ASCII in an absolute URL, and a URL with a query but no path, are refused. Here they pass.
- The last piece of a streamed body goes out before the `response` hook. Here one that the stream holds goes out after.
- An agent whose server broke off before its answer gets a page as if the server had answered 502. Here it sees the
  cut; only a server that was not reached is a 502, which says why in one line.
- Errors do not say from whose side they came. Here they do.
- CONNECT ignores `server.via`. Here it goes through the proxy that is named there.
- A WebSocket that broke off on one side is closed on the other as if all was well. Here it breaks off there, too.
- Hosts and lengths are read as `addons.grammar` says.

Each is a subclass that takes the place of mitmproxy's own class, and only where the methods that it overrides are.
"""

import re
from collections.abc import Iterator
from inspect import isfunction
from types import ModuleType
from typing import Any

import h11
import wsproto
from h11._readers import ChunkedReader
from h11._receivebuffer import ReceiveBuffer
from mitmproxy import version
from mitmproxy.http import Headers, Response
from mitmproxy.net import check
from mitmproxy.net.http import url, validate
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.layers import http as http_layers
from mitmproxy.proxy.layers import websocket as socket_layers
from mitmproxy.proxy.layers.http import _events as said
from mitmproxy.proxy.layers.http import _http1 as http1
from mitmproxy.proxy.layers.http._base import ReceiveHttp
from mitmproxy.proxy.layers.http._hooks import HttpResponseHook

from addons import grammar
from store.core.errors import EdgetapeError
from store.core.websocket import BROKEN_OFF

FAULT_SIDE = "edgetape.fault_side"  # in flow.metadata: "client" or "server"
KNOWN_MAJOR = "12"

_INTERIM = re.compile(rb"HTTP/1\.[01] 1(?!01)(\d\d)[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n")
_LAST_CHUNK = b"0\r\n\r\n"
_ABSOLUTE = re.compile(rb"[^\s]+ https?://[^\s/?#]+(?P<path>[^\s]*) HTTP/1\.[01]\r?\n", re.IGNORECASE)
_HEAD_END = re.compile(rb"\n\r?\n")

type _Run = layer.CommandGenerator[None]


class EngineFailed(EdgetapeError):
    """The proxy engine does not start: the port is taken, or this mitmproxy is not one that we know."""


class _Stream(http_layers.HttpStream):
    """Keeps what had come of a message that is cut, tells whose side failed, and chains CONNECT."""

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

    def send_response(self, already_streamed: bool = False) -> _Run:
        for command in super().send_response(already_streamed):
            yield command
            held = getattr(self.flow.response and self.flow.response.stream, "held", b"")
            if held and isinstance(command, HttpResponseHook) and self.flow.error is None:
                yield http_layers.SendHttp(said.ResponseData(self.stream_id, held), self.context.client)

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


class _Trailers:
    """A reader of chunked bodies that puts the trailers aside."""

    def __init__(self, reader: ChunkedReader) -> None:
        self._reader = reader
        self.fields: list[tuple[bytes, bytes]] = []

    def __call__(self, received: ReceiveBuffer) -> h11.Data | h11.EndOfMessage | None:
        event: h11.Data | h11.EndOfMessage | None = self._reader(received)
        if isinstance(event, h11.EndOfMessage) and event.headers:
            self.fields = event.headers.raw_items()
            return h11.EndOfMessage()
        return event

    def read_eof(self) -> h11.EndOfMessage:
        self._reader.read_eof()
        raise AssertionError("a chunked body that ends early is an error")


class _Whole(http1.Http1Connection):
    """HTTP/1 with trailers, in both directions."""

    ReceiveTrailers: type[said.RequestTrailers | said.ResponseTrailers]
    outgoing: Headers | None = None

    def read_body(self, event: events.Event) -> _Run:
        if isinstance(self.body_reader, ChunkedReader):
            self.body_reader = _Trailers(self.body_reader)  # type: ignore[assignment]
        reader: Any = self.body_reader
        for command in super().read_body(event):
            ends = isinstance(command, ReceiveHttp) and isinstance(command.event, self.ReceiveEndOfMessage)
            if ends and isinstance(reader, _Trailers) and reader.fields:
                assert self.stream_id is not None
                fields, reader.fields = reader.fields, []
                yield ReceiveHttp(self.ReceiveTrailers(self.stream_id, Headers(fields)))
            yield command

    def send(self, event: said.HttpEvent) -> _Run:
        if isinstance(event, said.RequestTrailers | said.ResponseTrailers):
            self.outgoing = event.trailers
            return
        for command in super().send(event):
            trailers = self.outgoing
            if trailers is not None and isinstance(command, commands.SendData) and command.data == _LAST_CHUNK:
                self.outgoing = None
                yield commands.SendData(command.connection, b"0\r\n" + bytes(trailers) + b"\r\n")
            else:
                yield command


class _Server(_Whole, http1.Http1Server):
    """Our side towards the agent."""

    ReceiveTrailers = said.RequestTrailers

    def read_headers(self, event: events.ConnectionEvent) -> _Run:
        path = self._put_path_aside()
        for command in super().read_headers(event):
            if path is not None and isinstance(command, ReceiveHttp) and isinstance(command.event, said.RequestHeaders):
                command.event.request.data.path = path
            yield command

    def _put_path_aside(self) -> bytes | None:
        """The path of an absolute URL that mitmproxy would refuse, once the head is whole; `/` takes its place."""
        head = bytes(self.buf) if self.request is None else b""
        line = _ABSOLUTE.match(head)
        if line is None or not _HEAD_END.search(head) or (line["path"].isascii() and line["path"].startswith(b"/")):
            return None
        self.buf = ReceiveBuffer()
        self.buf += head[: line.start("path")] + b"/" + head[line.end("path") :]
        return line["path"] if line["path"].startswith(b"/") else b"/" + line["path"]


class _Client(_Whole, http1.Http1Client):
    """Our side towards the server."""

    ReceiveTrailers = said.ResponseTrailers

    def read_headers(self, event: events.ConnectionEvent) -> _Run:
        if isinstance(event, events.DataReceived) and self.request is not None:
            while interim := _INTERIM.match(bytes(self.buf)):
                self.buf.maybe_extract_at_most(interim.end())
                # mitmproxy answers 100-continue itself; HTTP/1.0 knows no interim answers, and HTTP/2 gets none.
                if self.request.is_http11 and interim[1] != b"00":
                    yield commands.SendData(self.context.client, interim[0])
        yield from super().read_headers(event)


class _Socket(socket_layers.WebsocketConnection):
    """Says goodbye only where somebody did."""

    def send2(self, event: wsproto.events.Event) -> commands.SendData:
        if isinstance(event, wsproto.events.CloseConnection) and event.code == BROKEN_OFF:
            return commands.SendData(self.conn, b"")
        return super().send2(event)


_REPAIRED: tuple[tuple[ModuleType, str, type], ...] = (
    (http_layers, "HttpStream", _Stream),
    (http_layers, "Http1Server", _Server),
    (http_layers, "Http1Client", _Client),
    (socket_layers, "WebsocketConnection", _Socket),
)
_READ = (
    (check, "is_valid_host", grammar.is_valid_host),
    (url, "is_valid_host", grammar.is_valid_host),
    (url, "parse_authority", grammar.parse_authority),
    (validate, "parse_content_length", grammar.parse_content_length),
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
    if version.VERSION.split(".")[0] != KNOWN_MAJOR:
        raise _unknown()


def _unknown() -> EngineFailed:
    return EngineFailed(f"mitmproxy {version.VERSION} is not one that edgetape knows", hint="install mitmproxy 12.3")


def _overridden(ours: type) -> Iterator[str]:
    for kind in ours.__mro__:
        if kind.__module__ == __name__:
            yield from (name for name, member in vars(kind).items() if isfunction(member) and not name.startswith("_"))

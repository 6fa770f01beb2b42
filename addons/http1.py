"""What mitmproxy 12 loses of HTTP/1 (RFC 9112), repaired in subclasses of its two sides.

- Trailers (section 7.1.2) crash its reader: the answer never ends. Here they pass on and are kept.
- An interim answer (RFC 9110, section 15.2: 103 Early Hints) is taken for the final one, which is then lost. Here it
  passes on, is kept (`addons.interim`), and the final answer follows.
- A path of other bytes than ASCII in an absolute URL, and a URL with a query but no path, are refused. Here they pass.
- `Alt-Svc` asks an agent to go on by HTTP/3, past us. Here it is kept and not passed on.
- An agent that has sent the end of its connection behind its request is taken for one that has left. Here it gets its
  answer, where it can be told that it still listens (`store.halves`).
"""

import re
from typing import Any

import h11
from h11._readers import ChunkedReader, ContentLengthReader, Http10Reader
from h11._receivebuffer import ReceiveBuffer
from mitmproxy.connection import ConnectionState
from mitmproxy.http import Headers
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.layers.http import _events as said
from mitmproxy.proxy.layers.http import _http1 as http1
from mitmproxy.proxy.layers.http._base import ReceiveHttp

from addons.farewell import break_off, is_broken_off
from addons.interim import pass_on
from store.halves import still_listens

_INTERIM = re.compile(rb"HTTP/1\.[01] 1(?!01)(\d\d)[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n")
_LAST_CHUNK = b"0\r\n\r\n"
_ABSOLUTE = re.compile(rb"[^\s]+ https?://[^\s/?#]+(?P<path>[^\s]*) HTTP/1\.[01]\r?\n", re.IGNORECASE)
_CHUNK = re.compile(rb"0*([1-9A-Fa-f][0-9A-Fa-f]{0,7})\r\n")
_CRLF = b"\r\n"
_HEAD_END = re.compile(rb"\n\r?\n")

type _Run = layer.CommandGenerator[None]


def passed_on(event: said.ResponseHeaders) -> said.ResponseHeaders:
    """The head of an answer as an agent gets it: without what asks it to go on by another way (RFC 7838)."""
    fields = event.response.headers.fields
    if not any(name.lower() == b"alt-svc" for name, _ in fields):
        return event
    response = event.response.copy()
    response.headers = Headers(pair for pair in fields if pair[0].lower() != b"alt-svc")
    return said.ResponseHeaders(event.stream_id, response, event.end_stream)


class _Trailers:
    """A reader of chunked bodies that puts the trailers aside."""

    def __init__(self, reader: ChunkedReader) -> None:
        self.inner = reader
        self.fields: list[tuple[bytes, bytes]] = []

    def __call__(self, received: ReceiveBuffer) -> h11.Data | h11.EndOfMessage | None:
        event: h11.Data | h11.EndOfMessage | None = self.inner(received)
        if isinstance(event, h11.EndOfMessage) and event.headers:
            self.fields = event.headers.raw_items()
            return h11.EndOfMessage()
        return event

    def read_eof(self) -> h11.EndOfMessage:
        self.inner.read_eof()
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


class TowardsAgent(_Whole, http1.Http1Server):
    """Our side towards the agent."""

    ReceiveTrailers = said.RequestTrailers
    says_no_more: bool = False

    def wait(self, event: events.Event) -> _Run:
        """What an agent does that has asked: leave, or say that this was all."""
        if isinstance(event, events.ConnectionClosed) and not self.conn.tls and self._still_listens:
            self.says_no_more = True
            return
        yield from super().wait(event)

    @property
    def _still_listens(self) -> bool:
        return still_listens(self.conn.peername, self.conn.sockname)

    def send(self, event: said.HttpEvent) -> _Run:
        """An answer, but for what asks an agent to go past us."""
        if isinstance(event, said.ResponseProtocolError) and (self.response or event.code.http_status_code() is None):
            break_off(self.conn)
        yield from super().send(passed_on(event) if isinstance(event, said.ResponseHeaders) else event)

    def mark_done(self, *, request: bool = False, response: bool = False) -> _Run:
        """One that has said that this was all may have asked for more before."""
        answered = self.stream_id
        yield from super().mark_done(request=request, response=response)
        if self.says_no_more and self.stream_id != answered and self.conn.state & ConnectionState.CAN_WRITE:
            yield from self.state(events.ConnectionClosed(self.conn))

    def make_pipe(self) -> _Run:
        """A tunnel, in which this was all from the start."""
        yield from super().make_pipe()
        if self.says_no_more:
            yield from self.state(events.ConnectionClosed(self.conn))

    def read_headers(self, event: events.ConnectionEvent) -> _Run:
        """The head of a request, with the path that it has."""
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


class TowardsServer(_Whole, http1.Http1Client):
    """Our side towards the server."""

    ReceiveTrailers = said.ResponseTrailers

    def read_body(self, event: events.Event) -> _Run:
        """A body, whose end may be that of the connection."""
        if isinstance(event, events.ConnectionClosed) and is_broken_off(self.conn):
            break_off(self.context.client)
        yield from super().read_body(event)

    def read_headers(self, event: events.ConnectionEvent) -> _Run:
        """The heads of interim answers, and that of the final one."""
        if isinstance(event, events.DataReceived) and self.request is not None:
            while interim := _INTERIM.match(bytes(self.buf)):
                self.buf.maybe_extract_at_most(interim.end())
                assert self.stream_id is not None
                yield from pass_on(self.context, self.request, self.stream_id, interim[0])
        yield from super().read_headers(event)


def cut(side: TowardsServer, data: bytes) -> tuple[list[bytes], bytes]:
    """The pieces of the present body that data begins with, and what is left to be read as ever."""
    reader: object = side.body_reader
    if isinstance(reader, _Trailers):
        reader = reader.inner
    if isinstance(reader, ChunkedReader):
        return cut_chunks(reader, data)
    if isinstance(reader, ContentLengthReader) and 0 < len(data) < reader._remaining:
        reader._remaining -= len(data)
        return [data], b""
    return ([data], b"") if data and isinstance(reader, Http10Reader) else ([], data)


def cut_chunks(reader: ChunkedReader, data: bytes) -> tuple[list[bytes], bytes]:
    """The same of chunks (RFC 9112, section 7.1) that are plain: without extension, and not the last one."""
    pieces, at = list[bytes](), 0
    left, discard = reader._bytes_in_chunk, reader._bytes_to_discard
    if not (left or discard or reader._reading_trailer):  # nearly always one whole chunk has come, and no more
        size = _CHUNK.match(data)
        if size is not None and size.end() + int(size[1], 16) + 2 == len(data) and data.endswith(_CRLF):
            return [data[size.end() : -2]], b""
    while at < len(data) and not reader._reading_trailer:
        if left:
            piece = data[at : at + left]
            pieces.append(piece)
            at, left = at + len(piece), left - len(piece)
            discard = b"" if left else _CRLF
        elif discard:
            if not data.startswith(discard, at):
                break
            at, discard = at + len(discard), b""
        else:
            size = _CHUNK.match(data, at)
            if size is None:
                break
            at, left = size.end(), int(size[1], 16)
    reader._bytes_in_chunk, reader._bytes_to_discard = left, discard
    return pieces, data[at:]

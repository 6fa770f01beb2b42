"""HTTP/1.1 by aiohttp, for what is rare: streamed uploads, WebSockets, odd methods, and what is not well formed.

It is told who each connection is for, and free of the limits that a replay must not have.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import cast

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import HttpRequestParserPy
from aiohttp.web_protocol import RequestHandler, RequestPayloadError

from replay_server.caller import Caller, Heard, says_no_more
from replay_server.expectation import expects
from replay_server.findings import Clients

HEAD_BYTES_MAX = 16 * 1024 * 1024
HEADERS_MAX = 20_000
READ_BYTES = 256 * 1024
_H2_PREFACE = b"PRI * HTTP/2.0"
_METHODS = frozenset((b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"CONNECT", b"TRACE"))
_REQUEST_LINE = re.compile(rb"(\S+) (?=\S+ HTTP/1\.[01]\r?\n)")
_SPELLED = "X-EDGETAPE-METHOD-"

_quiet = logging.getLogger("edgetape.replay_server")  # what aiohttp says of clients that misbehave; we count them
_quiet.addHandler(logging.NullHandler())
_quiet.propagate = False


class Door(RequestHandler):
    """Speaks HTTP on one connection."""

    __slots__ = ("_doors", "_reads_fast", "_says_no_more", "_speaks_on", "caller")

    def __init__(self, server: "Doors", caller: Caller) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            logger=_quiet,
            access_log=_quiet,
            max_line_size=HEAD_BYTES_MAX,
            max_field_size=HEAD_BYTES_MAX,
            max_headers=HEADERS_MAX,
            read_bufsize=READ_BYTES,
            auto_decompress=False,
            lingering_time=0,
        )
        self._doors = server
        self._speaks_on: asyncio.Transport | None = None
        self._reads_fast = True
        self._says_no_more = False
        self.caller = caller

    def data_received(self, data: bytes) -> None:
        """Takes bytes; the preface of HTTP/2 (RFC 9113, section 3.4) ends the connection."""
        if not self._request_count and data.startswith(_H2_PREFACE):
            self._doors.clients.h2_only[self.caller.host] += 1
            self.force_close()
            return
        if self._idle and (line := _REQUEST_LINE.match(data)) and line[1] not in _METHODS:
            self._read_leniently()
            data = _SPELLED.encode() + line[1].hex().encode() + data[line.end(1) :]
        if self._reads_fast and not data.isascii() and not data.partition(b"\r\n")[0].isascii():
            self._read_leniently()
        super().data_received(data)

    def _read_leniently(self) -> None:
        """From here on aiohttp's other parser: the fast one refuses bytes above 0x7F, and most methods."""
        if self._idle and self._reads_fast:
            self._reads_fast = False
            self._parser = HttpRequestParserPy(
                self,
                self._loop,
                READ_BYTES,
                max_line_size=HEAD_BYTES_MAX,
                max_field_size=HEAD_BYTES_MAX,
                max_headers=HEADERS_MAX,
                payload_exception=RequestPayloadError,
                auto_decompress=False,
            )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begins."""
        self._speaks_on = cast(asyncio.Transport, transport)
        self._doors.open.add(self._speaks_on)
        super().connection_made(transport)

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio's protocol may say so
        """Stays open for a client that is still to be answered, and has only no more to say."""
        super().eof_received()
        asked = [payload for _, payload in self._messages]
        asked += [self._current_request.content] if self._current_request is not None else []
        is_whole = bool(asked) and all(payload.is_eof() for payload in asked)
        if not is_whole or self.caller.tls or not says_no_more(self._speaks_on):
            return False
        self._says_no_more = True
        if not self._messages:
            self.close()  # when what was asked is answered
        return True

    @property
    def has_answered_all(self) -> bool:
        """Whether nothing is to come after what is being answered now: aiohttp would answer nothing else."""
        return self._says_no_more and not self._messages

    def connection_lost(self, exc: BaseException | None) -> None:
        """Ends."""
        if self._speaks_on is not None:
            self._doors.open.discard(self._speaks_on)
        super().connection_lost(exc)

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Counts what is not well formed."""
        self._doors.clients.malformed += 1
        return super().handle_error(request, status, exc, message)

    @property
    def _idle(self) -> bool:
        return self._current_request is None and not self._messages


def _method(spelled: str) -> str:
    """The method of a request as it was sent, each byte a character: aiohttp knows ASCII and capitals only."""
    if not spelled.startswith(_SPELLED):
        return spelled
    return bytes.fromhex(spelled.removeprefix(_SPELLED)).decode("latin-1")


@dataclass(frozen=True, slots=True)
class _Line:
    """The connection of one request."""

    request: web.BaseRequest

    @property
    def transport(self) -> asyncio.Transport | None:
        return self.request.transport

    async def put(self, raw: bytes) -> None:
        if self.request.transport is None or self.request.transport.is_closing():
            raise ConnectionResetError("the client has left")
        await self.request.writer.write(raw)
        await self.request.writer.drain()

    @property
    def waits(self) -> bool:
        is_http11, has_begun = self.request.version >= (1, 1), self.request.content.total_bytes
        return is_http11 and not has_begun and expects(self.request.raw_headers)

    async def body(self) -> bytes:
        return await self.request.content.read()


class _Sent(web.StreamResponse):
    """Tells aiohttp that the answer has been written already."""

    def __init__(self, *, keep_alive: bool) -> None:
        super().__init__()
        self._goes_on = keep_alive

    @property
    def keep_alive(self) -> bool | None:
        """Whether another request may follow on this connection."""
        return self._goes_on

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Writes nothing."""
        return request.writer

    async def write_eof(self, data: bytes = b"") -> None:
        """Writes nothing."""


class Doors(web.Server):
    """Makes doors, and knows the open ones."""

    def __init__(self, respond: Callable[[Heard], Awaitable[bool]], clients: Clients) -> None:
        super().__init__(self._answer, handler_cancellation=True)
        self.clients = clients
        self.open: set[asyncio.Transport] = set()
        self._respond = respond

    def door(self, caller: Caller) -> Door:
        """A new door."""
        return Door(self, caller)

    async def close(self, seconds_max: float) -> None:
        """Lets what is being answered end, then closes every connection."""
        self.pre_shutdown()
        await self.shutdown(seconds_max)
        for transport in tuple(self.open):
            transport.abort()  # a TLS transport would wait for the other side to say goodbye

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        door = request.protocol
        assert isinstance(door, Door)
        asked = Heard(
            _method(request.method),
            request.raw_path.encode("utf-8", "surrogateescape"),
            request.raw_headers,
            door.caller,
            _Line(request),
            http10=request.version < (1, 1),
            close=not request.keep_alive,
        )
        goes_on = await self._respond(asked)
        return _Sent(keep_alive=goes_on and not door.has_answered_all)

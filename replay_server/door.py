"""HTTP/1.1 by aiohttp: told who each connection is for, and free of the limits that a replay must not have."""

import asyncio
import logging
import re
from typing import Any

from aiohttp import web
from aiohttp.http_parser import HttpRequestParserPy
from aiohttp.web_protocol import RequestHandler, RequestPayloadError

from replay_server.findings import Clients
from replay_server.target import Authority

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
    """Speaks HTTP on one connection. `placed` is whom it is for, None when each request has to say so itself.

    `stands`: the port stands for that server, and the client speaks to us as if we were it. `vouched`: it may ask.
    `user` is the user name that its CONNECT brought.
    """

    __slots__ = ("_doors", "_reads_fast", "_speaks_on", "_spoke", "placed", "stands", "tls", "user", "vouched")

    def __init__(self, server: "Doors", placed: Authority | None, *, tls: bool, stands: bool, vouched: bool) -> None:
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
        self._speaks_on: asyncio.BaseTransport | None = None
        self._spoke = False
        self._reads_fast = True
        self.placed = placed
        self.tls = tls
        self.stands = stands
        self.vouched = vouched
        self.user = ""

    def data_received(self, data: bytes) -> None:
        """Takes bytes; the preface of HTTP/2 (RFC 9113, section 3.4) ends the connection."""
        if not self._spoke and data:
            self._spoke = True
            if data.startswith(_H2_PREFACE):
                self._doors.clients.h2_only[self._host] += 1
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
        self._doors.open.add(transport)
        self._speaks_on = transport
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Counts a TLS connection on which nothing was asked."""
        self._doors.open.discard(self._speaks_on)
        if self.tls and not self._spoke:
            self._spoke = True
            self._doors.clients.silent[self._host] += 1
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

    @property
    def _host(self) -> str:
        return self.placed.host if self.placed else "the replay server itself"


def method(spelled: str) -> str:
    """The method of a request as it was sent, each byte a character: aiohttp knows ASCII and capitals only."""
    if not spelled.startswith(_SPELLED):
        return spelled
    return bytes.fromhex(spelled.removeprefix(_SPELLED)).decode("latin-1")


class Doors(web.Server):
    """Makes doors, and knows the open ones."""

    def __init__(self, answer: Any, clients: Clients) -> None:  # noqa: ANN401  # aiohttp's own type is private
        super().__init__(answer, handler_cancellation=True)
        self.clients = clients
        self.open: set[asyncio.BaseTransport | None] = set()

    def door(self, placed: Authority | None, *, tls: bool, stands: bool, vouched: bool) -> Door:
        """A new door."""
        return Door(self, placed, tls=tls, stands=stands, vouched=vouched)

    async def close(self, seconds_max: float) -> None:
        """Lets what is being answered end, then closes every connection."""
        self.pre_shutdown()
        await self.shutdown(seconds_max)
        for transport in tuple(self.open):
            if isinstance(transport, asyncio.Transport):
                transport.abort()  # a TLS transport would wait for the other side to say goodbye
        await asyncio.sleep(0)

"""The client of the live modes: sends a request to the real server, and gives its answer as it comes.

Rules kept here:
- Constructed in live modes only; nowhere else in this wing is there a way out.
- One connection a request, never tried again: an effect must not be done twice.
- What the agent sent is what is sent: no header is added but framing and the end of the connection.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from urllib.parse import quote_from_bytes

import aiohttp
from aiohttp.client_proto import ResponseHandler
from multidict import CIMultiDict
from yarl import URL

from replay_server.answer import HOP_BY_HOP, connection_options
from store.core.form import Asked, Pairs
from store.core.model import Framing
from store.egress import Unreached

type Dial = Callable[[str, str, int], Awaitable[socket.socket]]
"""Opens a connection for (scheme, host, port). Raises Unreached."""

SILENCE_S_MAX = 3600
HANDSHAKE_S_MAX = 30
HEAD_BYTES_MAX = 1024 * 1024
_AUTOMATIC = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
_way: ContextVar[tuple[str | None, str | None]] = ContextVar("_way", default=(None, None))
_OURS = (b"expect", b"proxy-authorization", b"proxy-connection")


@dataclass(frozen=True, slots=True)
class Arriving:
    """The head of an answer, and its body as it comes: transfer coding undone, content coding kept.

    `pieces` raises Unreached where the answer breaks off. `upstream` and `tls` say who answered.
    """

    status: int
    reason: bytes
    http_version: str
    headers: Pairs
    framing: Framing
    pieces: AsyncIterator[bytes]
    upstream: str | None
    tls: str | None


class _Connector(aiohttp.BaseConnector):
    """Connections that somebody else opens; TLS is spoken here."""

    def __init__(self, dial: Dial, context: ssl.SSLContext) -> None:
        super().__init__(force_close=True, limit=0)
        self._dial = dial
        self._context = context
        self.opened = 0

    async def _create_connection(
        self, req: aiohttp.ClientRequest, traces: object, timeout: aiohttp.ClientTimeout
    ) -> ResponseHandler:
        # The one method that aiohttp's own connectors differ in.
        host, port = req.url.raw_host or "", req.url.port or 0
        connection = await self._dial(req.url.scheme, host, port)
        self.opened += 1
        context = self._context if req.url.scheme == "https" else None
        peer = _peer(connection)
        try:
            _, protocol = await self._loop.create_connection(
                self._factory,
                sock=connection,
                ssl=context,
                server_hostname=host if context else None,
                ssl_handshake_timeout=HANDSHAKE_S_MAX if context else None,
            )
        except (OSError, asyncio.CancelledError) as error:
            connection.close()
            if isinstance(error, OSError):
                raise Unreached("tls", f"no trusted TLS connection to {host}: {_reason(error)}") from error
            raise
        _way.set((peer, _tls(protocol.transport)))
        return protocol


class Upstream:
    """The way out of one live run. `roots` are the PEM certificates that a server's own may lead to."""

    def __init__(self, dial: Dial, roots: bytes) -> None:
        self._connector = _Connector(dial, ssl.create_default_context(cadata=roots.decode("ascii", "ignore")))
        self._session = aiohttp.ClientSession(
            connector=self._connector,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_AUTOMATIC,
            timeout=aiohttp.ClientTimeout(total=None, sock_read=SILENCE_S_MAX),
            max_line_size=HEAD_BYTES_MAX,
            max_field_size=HEAD_BYTES_MAX,
        )

    @property
    def opened(self) -> int:
        """How many connections were opened so far."""
        return self._connector.opened

    async def close(self) -> None:
        """Ends what is still open."""
        await self._session.close()

    @asynccontextmanager
    async def ask(self, asked: Asked) -> AsyncIterator[Arriving]:
        """Sends a request; its answer is there while the block lasts. Raises Unreached when none comes."""
        try:
            response = await self._session.request(
                asked.endpoint.method,
                _url(asked),
                headers=_headers(asked.headers),
                data=asked.body or None,
                allow_redirects=False,
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _unreached(error) from error
        async with response:
            yield _arriving(response)


def _arriving(response: aiohttp.ClientResponse) -> Arriving:
    # An answer that is whole already has given its connection back.
    upstream, tls = _way.get()
    version = response.version
    return Arriving(
        status=response.status,
        reason=(response.reason or "").encode("utf-8", "surrogateescape"),
        http_version=f"HTTP/{version.major}.{version.minor}" if version is not None else "HTTP/1.1",
        headers=response.raw_headers,
        framing=_framing(response),
        pieces=_pieces(response),
        upstream=upstream,
        tls=tls,
    )


async def _pieces(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    try:
        async for piece in response.content.iter_any():
            yield piece
    except (aiohttp.ClientError, OSError) as error:
        raise _unreached(error) from error


def _framing(response: aiohttp.ClientResponse) -> Framing:
    """How the end of the body is told (RFC 9112, section 6.3)."""
    if response.method == "HEAD" or response.status in (204, 304):
        return "none"
    if "chunked" in response.headers.get("Transfer-Encoding", "").lower():
        return "chunked"
    return "length" if "Content-Length" in response.headers else "close"


def _url(asked: Asked) -> URL:
    place = asked.endpoint
    host = f"[{place.host}]" if ":" in place.host else place.host
    path, query = (quote_from_bytes(raw, safe=bytes(range(0x21, 0x7F))) for raw in (place.path, asked.query))
    return URL(f"{place.scheme}://{host}:{place.port}{path}{'?' + query if query else ''}", encoded=True)


def _headers(pairs: Pairs) -> CIMultiDict[str]:
    dropped = HOP_BY_HOP | connection_options(pairs) | frozenset(_OURS)
    spelled: dict[bytes, str] = {}  # aiohttp keeps the repeats of a name only where they are spelled alike
    kept: CIMultiDict[str] = CIMultiDict()
    for name, value in pairs:
        lower = name.lower()
        if lower not in dropped and not lower.startswith(b"x-edgetape-"):
            kept.add(spelled.setdefault(lower, name.decode("latin-1")), value.decode("utf-8", "surrogateescape"))
    return kept


def _unreached(error: Exception) -> Unreached:
    if isinstance(error, TimeoutError):
        return Unreached("timeout", "the server fell silent")
    if isinstance(error, UnicodeError):
        return Unreached("refused", "a header field of the request is no text, and cannot be sent on")
    return Unreached("reset", f"the server cut the connection: {_reason(error)}")


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _peer(connection: socket.socket) -> str | None:
    try:
        host, port, *_ = connection.getpeername()
    except OSError:
        return None  # it has gone already, which the next step will tell
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _tls(transport: asyncio.BaseTransport | None) -> str | None:
    spoken = transport.get_extra_info("ssl_object") if transport is not None else None
    return f"{spoken.version()} {spoken.cipher()[0]}" if spoken is not None else None

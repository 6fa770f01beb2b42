"""The front of every connection: CONNECT is taken apart here, and the first byte inside decides what it is.

Rules kept here:
- What is read before it is known whose it is, is handed to whoever that is before all else, so TLS and HTTP find every
  byte where they expect it, whether or not the client waited for the 200.
- SOCKS5 (0x05) is a CONNECT in other words.
- 0x16 is a TLS handshake record (RFC 8446, section 5.1); anything else is served as the plain HTTP that it is.
- The authority of the CONNECT is the upstream's identity (RFC 9110, section 9.3.6); Host is a header.
"""

import asyncio
import ssl
from typing import Protocol, cast

from replay_server.admission import Admission
from replay_server.beginning import Beginning
from replay_server.caller import Caller
from replay_server.greeting import IN_HTTP, IN_SOCKS, Words
from replay_server.hello import insists
from replay_server.local import is_loopback, reach
from replay_server.socks import shake_hands
from replay_server.target import Authority, named
from store.certificate import BadHost
from store.core import socks
from store.core.base import Base
from store.core.credentials import credentials
from store.core.errors import Malformed
from store.core.form import Pairs

HEAD_BYTES_MAX = 64 * 1024
HANDSHAKE_S_MAX = 30.0  # many clients that begin at once on a busy machine take their time
_TLS_HANDSHAKE = b"\x16"
_CONNECT = b"CONNECT "
_HEAD_END = b"\r\n\r\n"
_OWN_NAME = "localhost"  # for a client that speaks TLS to the replay server itself and names no host


class House(Protocol):
    """What the front asks of the server behind it."""

    def porch(self, caller: Caller) -> asyncio.Protocol:
        """A new speaker of HTTP."""

    @property
    def admission(self) -> Admission:
        """Who may ask."""

    def context(self, host: str) -> ssl.SSLContext:
        """The TLS context for a host. Raises BadHost."""

    def handshake_failed(self, host: str, error: Exception) -> None:
        """Counts a TLS handshake that came to nothing."""

    def insists(self, host: str) -> None:
        """Counts a client that offers other protocols than HTTP/1.1 only."""

    def malformed(self) -> None:
        """Counts what is no HTTP."""

    def failed(self, error: Exception) -> None:
        """Files a fault of ours."""

    def connects(self, place: Authority) -> bool:
        """Whether a CONNECT to there succeeds."""

    async def owns(self, place: Authority) -> bool:
        """Whether the agent's own processes listen there."""

    async def tunnel(
        self, place: Authority, client: asyncio.Transport, listener: asyncio.Transport, first: bytes = b""
    ) -> None:
        """Joins the agent to its own listener, which gets `first` before all else."""


class Front(Beginning):
    """Looks at one new connection, then hands it over. `base` is the server that its port stands for.

    Without a `house` that is chosen by what the client says for itself.
    """

    def __init__(self, house: House | None, tasks: set[asyncio.Task[None]], base: Base | None = None) -> None:
        super().__init__()
        self._known = house
        self._base = None if base is None else Authority(base.scheme, base.host, base.port)
        self._tasks = tasks
        self._user = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Starts to look."""
        super().connection_made(transport)
        task = asyncio.get_running_loop().create_task(self._admit(cast(asyncio.Transport, transport)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def _house(self) -> House:
        assert self._known is not None
        return self._known

    def _choose(self, fields: Pairs) -> House | None:
        """The house of a client that says this for itself, for a front that has none."""
        return self._known

    async def _admit(self, transport: asyncio.Transport) -> None:
        try:
            await self._decide(transport)
        except socks.Refused as error:
            if self._known is not None:
                self._known.malformed()
            _end(transport, error.last_words)
        except OSError:
            transport.abort()
        except asyncio.CancelledError:
            transport.abort()
            raise
        except Exception as error:  # noqa: BLE001  # a fault of ours must reach the verdict
            if self._known is not None:
                self._known.failed(error)
            transport.abort()

    async def _decide(self, transport: asyncio.Transport) -> None:
        asked = None
        head, is_connect, first = await _first_head(self)
        if first == socks.VERSION:
            asked = await shake_hands(transport, self)
        elif self._known is None and not is_connect and first not in (b"", _TLS_HANDSHAKE):
            head = await _read_head(self, head)
        if asked is not None:
            head, is_connect = asked.head, True
        words = IN_HTTP if asked is None else IN_SOCKS
        if self._known is None:
            self._known = self._choose(_fields(head)) if first else None
            if self._known is None:
                _end(transport, b"" if first in (b"", _TLS_HANDSHAKE) else words.stranger)
                return
        if not is_connect:
            if first == _TLS_HANDSHAKE:
                await self._secure(transport, None)
            elif first:
                self._open(transport, self._base, head)
            else:
                transport.close()
            return
        if self._base is not None:
            _end(transport, words.not_here)
            return
        try:
            place = named(head.split(b" ", 2)[1], "https")
        except (Malformed, IndexError):
            self._house.malformed()
            _end(transport, words.malformed)
            return
        if not await self._house.admission.admits(transport, _fields(head)):
            _end(transport, words.stranger)
            return
        self._user = credentials(_fields(head))[0]
        await self._connect(transport, place, words)

    async def _connect(self, transport: asyncio.Transport, place: Authority, words: Words) -> None:
        if is_loopback(place.host) and await self._house.owns(place):
            listener = await reach(place)
            if listener is None:
                _end(transport, words.unreached)
                return
            transport.write(words.established)
            await self._house.tunnel(place, transport, listener, self.rest())
            return
        if not self._house.connects(place):
            _end(transport, words.unreached)
            return
        transport.write(words.established)
        seen = await self.look()
        if seen.startswith(_TLS_HANDSHAKE):
            if insists(seen):
                self._house.insists(place.host)
            await self._secure(transport, place)
        elif seen:
            self._open(transport, Authority("http", place.host, place.port), b"")
        else:
            transport.close()

    def _open(self, transport: asyncio.Transport, placed: Authority | None, read: bytes) -> None:
        """Plain HTTP from here on; `read` are the bytes that were taken already."""
        porch = self._house.porch(self._caller(placed, tls=False, vouched=placed is not None and self._base is None))
        self._hand_over(transport, porch, read + self.rest())
        transport.resume_reading()

    async def _secure(self, transport: asyncio.Transport, place: Authority | None) -> None:
        """TLS from here on, upgraded in place."""
        host = place.host if place else _OWN_NAME
        waiting = _Waiting()
        try:
            secured = await _upgraded(transport, waiting, self._house.context(host), self.rest())
        except (OSError, BadHost) as error:  # ssl.SSLError is an OSError
            self._house.handshake_failed(host, error)
            transport.abort()
            return
        if secured is None or waiting.lost:
            return
        porch = self._house.porch(self._caller(place or self._base, tls=True, vouched=place is not None))
        self._hand_over(secured, porch, bytes(waiting.arrived))
        if waiting.ended:
            secured.close()

    def _caller(self, placed: Authority | None, *, tls: bool, vouched: bool) -> Caller:
        return Caller(placed, tls=tls, stands=self._base is not None, vouched=vouched, user=self._user)

    def _hand_over(self, transport: asyncio.Transport, porch: asyncio.Protocol, read: bytes) -> None:
        transport.set_protocol(porch)
        porch.connection_made(transport)
        if read:
            porch.data_received(read)
        if self.ended and not porch.eof_received():
            transport.close()


class _Waiting(asyncio.Protocol):
    """Keeps what arrives between the end of the handshake and the moment when we hear of it."""

    def __init__(self) -> None:
        self.arrived = bytearray()
        self.ended = False
        self.lost = False

    def data_received(self, data: bytes) -> None:
        self.arrived += data

    def eof_received(self) -> bool:
        self.ended = True
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True


async def _upgraded(
    transport: asyncio.Transport, waiting: asyncio.Protocol, context: ssl.SSLContext, read: bytes
) -> asyncio.Transport | None:
    """TLS on a paused connection of which these bytes have been read already. Raises OSError.

    A loop's own TLS is told what has arrived as any protocol is that has a buffer of its own. It is the connection's
    protocol from the first step of `start_tls` on, begins at the next turn, and reads nothing before the turn after.
    """
    loop = asyncio.get_running_loop()
    starting = loop.start_tls(transport, waiting, context, server_side=True, ssl_handshake_timeout=HANDSHAKE_S_MAX)
    task: asyncio.Task[asyncio.Transport | None] = asyncio.Task(starting, loop=loop, eager_start=True)
    loop.call_soon(_feed, transport, read)
    return await task


def _feed(transport: asyncio.Transport, read: bytes) -> None:
    secure = cast(asyncio.BufferedProtocol, transport.get_protocol())
    while read and not transport.is_closing():
        buffer = memoryview(secure.get_buffer(len(read)))
        taken = min(len(buffer), len(read))
        buffer[:taken] = read[:taken]
        secure.buffer_updated(taken)
        read = read[taken:]


def _fields(head: bytes) -> Pairs:
    """The header fields of a request, as far as they can be read."""
    lines = (line.partition(b":") for line in head.split(b"\r\n")[1:])
    return [(name.strip(), value.strip()) for name, colon, value in lines if colon]


def _end(transport: asyncio.Transport, last_words: bytes) -> None:
    transport.write(last_words)
    transport.close()


async def _read_head(beginning: Beginning, head: bytes) -> bytes:
    """What was taken of a request, read on to the end of its head, as far as it has one."""
    while _HEAD_END not in head and len(head) <= HEAD_BYTES_MAX:
        seen = await beginning.look()
        if not seen:
            break
        head += beginning.take(len(seen))
    return head


async def _first_head(beginning: Beginning) -> tuple[bytes, bool, bytes]:
    """What was taken of a connection, whether that is the head of a CONNECT, and the first byte (nothing: it ended)."""
    head = b""
    while True:
        seen = await beginning.look()
        whole = head + seen
        if not seen or whole[: len(_CONNECT)] != _CONNECT[: len(whole)] or len(whole) > HEAD_BYTES_MAX:
            return head, False, whole[:1]
        end = whole.find(_HEAD_END)
        if end >= 0:
            return head + beginning.take(end + len(_HEAD_END) - len(head)), True, whole[:1]
        head += beginning.take(len(seen))

"""HTTP/1.1 as nearly every client speaks it, answered without a detour; whatever is rarer goes in by the door.

Rules kept here:
- Only a request is taken that has no two readings: a method that everybody knows, a head of visible ASCII with whole
  line ends and one Host, a body of stated length or none (RFC 9112, sections 2.2, 3 and 6).
- Of anything else not a byte is used: aiohttp gets all of it, and the connection with it (`door`).
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from replay_server.caller import Caller, Heard, says_no_more
from replay_server.findings import Clients
from store.core.form import Pairs

if TYPE_CHECKING:
    from aiohttp import web

    from replay_server.door import Doors

HEAD_BYTES_MAX = 64 * 1024
AHEAD_BYTES_MAX = 256 * 1024
_HEAD_END = b"\r\n\r\n"
_METHODS = rb"(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)"
_BEGUN = re.compile(rb"[A-Z]{1,7}\Z|" + _METHODS + rb" ")
_HEAD = re.compile(
    _METHODS + rb" [!-~]+ HTTP/1\.1\r\n(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~]*\r\n)*\r\n"
)  # token, field-line: RFC 9110, sections 5.1 and 5.6.2
_RARE = frozenset((b"transfer-encoding", b"upgrade", b"expect"))
_LENGTH_DIGITS_MAX = 15

type Respond = Callable[[Heard], Awaitable[bool]]
"""Answers a request; whether another may follow on its connection. Cancelled when the client leaves."""


@dataclass(slots=True)
class Porches:
    """All connections on which HTTP is spoken, of one server: `respond` answers, `failed` takes a fault of ours."""

    respond: Respond
    failed: Callable[[Exception], None]
    clients: Clients
    open: set["Porch"] = field(default_factory=set)
    closing: bool = False
    _doors: "Doors | None" = None

    @property
    def doors(self) -> "Doors":
        """Those of aiohttp, which is not loaded before somebody needs it."""
        if self._doors is None:
            from replay_server.door import Doors

            self._doors = Doors(self.respond, self.clients)
        return self._doors

    async def close(self, seconds_max: float) -> None:
        """Lets what is being answered end, then closes every connection."""
        self.closing = True
        tasks = {porch.answering for porch in self.open if porch.answering is not None}
        late = tasks
        if self._doors is not None:
            await self._doors.close(seconds_max)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds_max)
        for porch in tuple(self.open):
            porch.abort()
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        await asyncio.sleep(0)


class Porch(asyncio.Protocol):
    """Speaks HTTP on one connection. `answering` is the answer that takes its time, if there is one."""

    def __init__(self, porches: Porches, caller: Caller) -> None:
        self.answering: asyncio.Task[None] | None = None
        self.transport: asyncio.Transport | None = None
        self.request: web.BaseRequest | None = None
        self._porches = porches
        self._caller = caller
        self._came: bytes | bytearray = b""
        self._needed = 1  # so many bytes make the next request, as far as that is known
        self._searched = 0
        self._body = b""
        self._is_busy = False
        self._has_paused = False
        self._drained: asyncio.Future[None] | None = None
        self._says_no_more = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begins."""
        self.transport = cast(asyncio.Transport, transport)
        self._porches.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the answer that nobody will get; counts a TLS connection on which nothing was asked."""
        self.transport = None
        self._porches.open.discard(self)
        if self._caller.tls and not self._caller.spoke:
            self._caller.spoke = True
            self._porches.clients.silent[self._caller.host] += 1
        if self.answering is not None:
            self.answering.cancel()

    def data_received(self, data: bytes) -> None:
        """Takes bytes."""
        if self._porches.closing:
            return
        self._caller.spoke = True
        if not self._came:
            self._came = data
        elif isinstance(self._came, bytearray):
            self._came += data
        else:
            self._came = bytearray(self._came) + data  # an upload that comes in many pieces is not copied for each
        if not self._is_busy:
            self._go_on()
        elif len(self._came) > AHEAD_BYTES_MAX and not self._has_paused and self.transport is not None:
            self._has_paused = True
            self.transport.pause_reading()

    def eof_received(self) -> bool:
        """Stays open for a client that is still to be answered, and has only no more to say."""
        self._says_no_more = self._is_busy and not self._caller.tls and says_no_more(self.transport)
        return self._says_no_more

    def pause_writing(self) -> None:
        """The client reads more slowly than we write."""
        self._drained = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        """It has caught up."""
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        self._drained = None

    def abort(self) -> None:
        """Ends the connection at once: a TLS transport would wait for the other side to say goodbye."""
        if self.transport is not None:
            self.transport.abort()

    async def put(self, raw: bytes) -> None:
        """Writes bytes of an answer. Raises ConnectionError when the client has left."""
        if self.transport is None or self.transport.is_closing():
            raise ConnectionResetError("the client has left")
        self.transport.write(raw)
        if self._drained is not None:
            await self._drained

    @property
    def waits(self) -> bool:
        """Whether the client waits for a word before it sends the body: such a one goes in by the door."""
        return False

    async def body(self) -> bytes:
        """The body of the request that is being answered."""
        return self._body

    def _go_on(self) -> None:
        """Answers the next request, if it has come whole."""
        self._is_busy = False
        if self.transport is None or self.transport.is_closing() or self._porches.closing:
            return
        asked = self._next()
        if asked is None:
            self._read_on()
            return
        self._is_busy = True
        loop = asyncio.get_running_loop()
        task: asyncio.Task[None] = asyncio.Task(self._answer(asked), loop=loop, eager_start=True)
        if not task.done():
            self.answering = task

    def _next(self) -> Heard | None:
        """The next request with its body taken, None if it is not there yet, or not to be answered here."""
        if len(self._came) < self._needed:
            return None
        end = self._came.find(_HEAD_END, self._searched)
        if end < 0:
            if self._is_plain_so_far():
                self._searched = max(0, len(self._came) - len(_HEAD_END) + 1)
            else:
                self._lead_in()
            return None
        end += len(_HEAD_END)
        read = _read(bytes(self._came[:end]))
        if read is None:
            self._lead_in()
            return None
        method, target, headers, length, close = read
        self._needed = end + length
        if len(self._came) < self._needed:
            return None
        self._body = bytes(self._came[end : self._needed])
        self._came = self._came[self._needed :] if len(self._came) > self._needed else b""
        self._needed, self._searched = 1, 0
        return Heard(method, target, headers, self._caller, self, close=close)

    def _is_plain_so_far(self) -> bool:
        came = self._came
        return (
            len(came) <= HEAD_BYTES_MAX and _BEGUN.match(came) is not None and came.count(b"\n") == came.count(b"\r\n")
        )

    async def _answer(self, asked: Heard) -> None:
        goes_on = False
        try:
            goes_on = await self._porches.respond(asked)
        except ConnectionError:
            pass  # told by whoever wrote
        except asyncio.CancelledError:
            self.abort()
            raise
        except Exception as error:  # noqa: BLE001  # a fault of ours must reach the verdict
            self._porches.failed(error)
            self.abort()
        finally:
            self.answering = None
            self._is_busy = bool(self._came)
        if self.transport is None:
            return
        if not goes_on or self._porches.closing:
            self.transport.close()
        elif self._came:
            # Others have their turn in between, and a client may say in it that this was all.
            asyncio.get_running_loop().call_soon(self._go_on)
        else:
            self._read_on()

    def _read_on(self) -> None:
        """Nothing is to be answered: hears more, where there is to come more."""
        if self.transport is None:
            return
        if self._says_no_more:
            self.transport.close()
        elif self._has_paused:
            self._has_paused = False
            self.transport.resume_reading()

    def _lead_in(self) -> None:
        """Gives the connection to aiohttp, with everything that came on it since the last answer."""
        transport, came = self.transport, bytes(self._came)
        assert transport is not None
        self._porches.open.discard(self)
        self.transport, self._came = None, b""
        door = self._porches.doors.door(self._caller)
        transport.set_protocol(door)
        door.connection_made(transport)
        if self._drained is not None:
            door.pause_writing()
        door.data_received(came)
        if self._says_no_more and not door.eof_received():
            transport.close()
        if self._has_paused:
            transport.resume_reading()


def _read(head: bytes) -> tuple[str, bytes, Pairs, int, bool] | None:
    """Method, target, fields, length of the body, and whether the client ends the connection after it.

    None where that has to be looked at more closely.
    """
    if not _HEAD.fullmatch(head):
        return None
    request_line, *lines = head[: -len(_HEAD_END)].split(b"\r\n")
    method, target, _ = request_line.split(b" ")
    headers, hosts, length, close = [], 0, None, False
    for line in lines:
        name, _, value = line.partition(b":")
        value = value.strip(b" \t")
        headers.append((name, value))
        lower = name.lower()
        if lower in _RARE:
            return None
        if lower == b"host":
            hosts += 1
        elif lower == b"content-length":
            if length is not None or not value.isdigit() or len(value) > _LENGTH_DIGITS_MAX:
                return None
            length = int(value)
        elif lower == b"connection":
            options = {option.strip() for option in value.lower().split(b",")}
            if not options <= {b"close", b"keep-alive"}:
                return None
            close = close or b"close" in options
    return (method.decode(), target, tuple(headers), length or 0, close) if hosts == 1 else None

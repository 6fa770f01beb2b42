"""Who is on a connection, and one request as it came on it: what the server has to know of either."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import msgspec

from replay_server.target import Authority
from store.core.form import Pairs
from store.halves import still_listens

if TYPE_CHECKING:
    from aiohttp import web


@dataclass(slots=True)
class Caller:
    """`placed` is whom the connection is for, None when each request has to say so itself.

    `stands`: the port stands for that server, and the client speaks to us as if we were it. `vouched`: it may ask.
    `spoke`: something has come from it. `user` is the user name that its CONNECT brought.
    """

    placed: Authority | None
    tls: bool = False
    stands: bool = False
    vouched: bool = False
    spoke: bool = False
    user: str = ""

    @property
    def host(self) -> str:
        """Whom it wants to speak to, for people."""
        return self.placed.host if self.placed else "the replay server itself"


class Line(Protocol):
    """The connection that a request came on, as far as its answer needs it."""

    @property
    def transport(self) -> asyncio.Transport | None:
        """What the bytes go out by, None when the client has left."""

    @property
    def request(self) -> "web.BaseRequest | None":
        """The request as aiohttp has it, if it was aiohttp that read it."""

    async def put(self, raw: bytes) -> None:
        """Writes bytes of an answer. Raises ConnectionError when the client has left."""

    @property
    def waits(self) -> bool:
        """Whether the client waits for a word before it sends the body."""

    async def body(self) -> bytes:
        """The whole body of the request."""


class Heard(msgspec.Struct, frozen=True):
    """A request up to its body. `method` has a character for each byte; `close`: no other may follow it."""

    method: str
    target: bytes
    headers: Pairs
    caller: Caller
    line: Line
    http10: bool = False
    close: bool = False

    def field(self, name: bytes) -> bytes | None:
        """The first header field of that name (lower case)."""
        return next((value for known, value in self.headers if known.lower() == name), None)


def says_no_more(transport: asyncio.Transport | None) -> bool:
    """Whether a client that has ended its side of a connection has only no more to say, rather than left."""
    if transport is None:
        return False
    return still_listens(transport.get_extra_info("peername"), transport.get_extra_info("sockname"))

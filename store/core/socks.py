"""SOCKS5 (RFC 1928) with user name and password (RFC 1929): what is said until a connection is asked for.

A connection is all that can be asked for. User name and password mean what they mean in a proxy URL.
"""

import base64
from collections.abc import Generator
from dataclasses import dataclass
from ipaddress import ip_address

from store.core.errors import Malformed

VERSION = b"\x05"
GRANTED, FAILED, NOT_ALLOWED, UNREACHED, NO_SUCH_COMMAND, NO_SUCH_ADDRESS = 0, 1, 2, 5, 7, 8

_NO_AUTHENTICATION, _PASSWORD, _NONE = b"\x00", b"\x02", b"\xff"
_CONNECT = 1
_V4_BYTES, _V6_BYTES = 4, 16
_NOT_IN_A_NAME = frozenset(b"\x7f:/@?#%[]\\") | frozenset(range(0x21))

type Handshake = Generator[int | bytes, bytes, "Asked"]
"""Yields how many bytes it must be sent next, or (as bytes) what is to be said to the client; returns what it asks."""


class Refused(Malformed):
    """A client that cannot be served; `last_words` is what it is told before the connection is closed."""

    def __init__(self, message: str, last_words: bytes) -> None:
        super().__init__(message)
        self.last_words = last_words


@dataclass(frozen=True, slots=True)
class Asked:
    """Where a client wants to be connected to. `host` is a name, or an IPv6 address in brackets."""

    host: bytes
    port: int
    user: bytes = b""
    password: bytes = b""

    @property
    def head(self) -> bytes:
        """The same as a CONNECT request (RFC 9110, section 9.3.6)."""
        place = self.host + b":%d" % self.port
        said = base64.b64encode(self.user + b":" + self.password)
        field = b"Proxy-Authorization: Basic " + said + b"\r\n" if self.user or self.password else b""
        return b"CONNECT " + place + b" HTTP/1.1\r\nHost: " + place + b"\r\n" + field + b"\r\n"


def reply(code: int) -> bytes:
    """The answer to a request (RFC 1928, section 6); no address is told."""
    return VERSION + bytes([code]) + b"\x00\x01" + bytes(6)


def handshake() -> Handshake:
    """All that a client and we say to one another, but for the answer to its request. Raises Refused."""
    version, count = yield 2
    methods = yield count
    if version != VERSION[0]:
        raise Refused("this is no SOCKS5", b"")
    user = password = b""
    if _PASSWORD in methods:  # even where nothing is asked for: the user name says which run it is
        yield VERSION + _PASSWORD
        user, password = yield from _credentials()
    elif _NO_AUTHENTICATION in methods:
        yield VERSION + _NO_AUTHENTICATION
    else:
        raise Refused("the client knows no way to log in that we know", VERSION + _NONE)
    version, command, _, kind = yield 4
    if version != VERSION[0] or command != _CONNECT:
        raise Refused("only connections are made", reply(NO_SUCH_COMMAND))
    host = yield from _host(kind)
    return Asked(host, int.from_bytes((yield 2)), user, password)


def _credentials() -> Generator[int | bytes, bytes, tuple[bytes, bytes]]:
    version, length = yield 2
    user = yield length
    password = yield (yield 1)[0]
    if version != 1 or b":" in user:  # a colon ends a user name in a proxy URL (RFC 7617, section 2)
        raise Refused("the user name is none", b"\x01\x01")
    yield b"\x01\x00"
    return user, password


def _host(kind: int) -> Generator[int | bytes, bytes, bytes]:
    match kind:
        case 1:
            return str(ip_address((yield _V4_BYTES))).encode()
        case 3:
            name = yield (yield 1)[0]
            if not name or _NOT_IN_A_NAME.intersection(name):
                raise Refused("the name of the host is none", reply(NO_SUCH_ADDRESS))
            return name
        case 4:
            return b"[%s]" % str(ip_address((yield _V6_BYTES))).encode()
    raise Refused("the address is of no known kind", reply(NO_SUCH_ADDRESS))

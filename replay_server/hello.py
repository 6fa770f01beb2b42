"""What a TLS client offers in its first message: the protocols of its ALPN extension (RFC 8446, 4.1.2; RFC 7301).

And what the end of a handshake says of the client.
"""

import ssl

_HANDSHAKE = 0x16
_CLIENT_HELLO = 0x01
_ALPN = 16
_HTTP = b"\x08http/1.1"


class _CutOff(Exception):
    """A field is not there whole."""


class _Cursor:
    """Reads fields one after another. Raises _CutOff at one that is not there whole."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def take(self, length: int) -> bytes:
        if length > len(self._raw):
            raise _CutOff
        taken, self._raw = self._raw[:length], self._raw[length:]
        return taken

    def number(self, length: int) -> int:
        return int.from_bytes(self.take(length))

    def vector(self, length: int) -> bytes:
        """A field whose own length stands before it in `length` bytes."""
        return self.take(self.number(length))

    def __bool__(self) -> bool:
        return bool(self._raw)


def insists(seen: bytes) -> bool:
    """Whether a client offers protocols, and HTTP/1.1 is not one of them. Nearly every hello is not read for that."""
    offered = () if _HTTP in seen else protocols(seen)
    return bool(offered) and b"http/1.1" not in offered


def protocols(seen: bytes) -> tuple[bytes, ...]:
    """The protocols that a client offers, nothing where it offers none or its hello was not seen whole."""
    try:
        return _protocols(seen)
    except _CutOff:
        return ()


def _protocols(seen: bytes) -> tuple[bytes, ...]:
    record = _Cursor(seen)
    if record.number(1) != _HANDSHAKE:
        return ()
    record.take(2)
    message = _Cursor(record.vector(2))
    if message.number(1) != _CLIENT_HELLO:
        return ()
    hello = _Cursor(message.vector(3))
    hello.take(2 + 32)  # version and random
    for length in (1, 2, 1):  # session id, cipher suites, compression methods
        hello.vector(length)
    extensions = _Cursor(hello.vector(2))
    while extensions:
        kind, extension = extensions.number(2), extensions.vector(2)
        if kind == _ALPN:
            offered = _Cursor(_Cursor(extension).vector(2))
            names = []
            while offered:
                names.append(offered.vector(1))
            return tuple(names)
    return ()


def shows_distrust(error: Exception) -> bool:
    """Whether a handshake failed as one does whose client trusts nobody here: with an alert, or it just left."""
    if not isinstance(error, ssl.SSLError) or isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return True
    return "ALERT" in (error.reason or "")

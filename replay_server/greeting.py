"""What a client is told that wants to be connected: in HTTP, and in SOCKS5."""

from dataclasses import dataclass

from replay_server.admission import CHALLENGE
from store.core import socks


@dataclass(frozen=True, slots=True)
class Words:
    """What a client is told that wants to be connected, in the protocol that it speaks."""

    established: bytes
    unreached: bytes
    not_here: bytes
    malformed: bytes
    stranger: bytes


def _refusal(status: bytes, field: bytes = b"") -> bytes:
    return b"HTTP/1.1 " + status + b"\r\n" + field + b"Content-Length: 0\r\nConnection: close\r\n\r\n"


IN_HTTP = Words(
    b"HTTP/1.1 200 Connection established\r\n\r\n",
    _refusal(b"502 Bad Gateway"),
    _refusal(b"405 Method Not Allowed"),
    _refusal(b"400 Bad Request"),
    _refusal(b"407 Proxy Authentication Required", b"Proxy-Authenticate: " + CHALLENGE + b"\r\n"),
)
IN_SOCKS = Words(
    *map(
        socks.reply,
        (socks.GRANTED, socks.UNREACHED, socks.NOT_ALLOWED, socks.NO_SUCH_ADDRESS, socks.NOT_ALLOWED),
    )
)

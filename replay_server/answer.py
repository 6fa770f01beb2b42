"""A recorded outcome as the bytes that go out: head, pieces, and how it ends. Pure; `send` writes them.

Rules kept here:
- Status, reason, header order, spelling and repeats, content coding and body bytes are the recorded ones.
- Framing is made anew and never twice; hop-by-hop headers are never copied (RFC 9110, section 7.6.1).
- HEAD, 204 and 304 carry no body. A failure stays that failure: it never ends cleanly.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import Literal

import msgspec

from store.core.chunks import Chunk
from store.core.form import Pairs
from store.core.model import Ended, ErrorKind, Framing

type Ending = Literal["clean", "close", "reset", "hold"]

HOP_BY_HOP = frozenset(
    (
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te",
        b"upgrade", b"transfer-encoding", b"content-length",
    )
)  # fmt: skip
_DROPPED = HOP_BY_HOP | {b"alt-svc"}  # which an agent that was recorded did not get either
_BODILESS_STATUS = (204, 304)

_ENDINGS: dict[Ended | ErrorKind, Ending] = {
    "complete": "clean",
    "refused_by_policy": "clean",
    "reset": "reset",
    "closed": "close",
    "client_gone": "hold",
    "timeout": "hold",
    "dns": "clean",
    "connect": "clean",
    "tls": "clean",
    "refused": "clean",
}  # without an ending: truncated and recorder_stopped, whose rest nobody knows


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded answer with everything read."""

    status: int
    reason: bytes
    headers: Pairs
    framing: Framing
    ended: Ended
    body: bytes = b""
    chunks: Sequence[Chunk] = ()
    trailers: Pairs = ()
    exact: bool = True  # False where redaction changed the body: then its content codings are undone
    mapped: int = 0  # how many ids of the agent's own were put into the body
    interim: Sequence[tuple[int, Pairs]] = ()  # what came before it: status and fields of each (RFC 9110, section 15.2)


@dataclass(frozen=True, slots=True)
class Arrived:
    """An answer of a real server with what is known of its way; times are microseconds since the request left."""

    answer: Recorded
    http_version: str
    upstream: str | None
    tls: str | None
    first_byte_us: int
    total_us: int


class Live(msgspec.Struct, frozen=True):
    """What of a live request decides the framing of its answer."""

    method: str
    http10: bool = False
    close: bool = False
    opens_socket: bool = False

    @property
    def version(self) -> str:
        """The version that it was asked in."""
        return "HTTP/1.0" if self.http10 else "HTTP/1.1"


class Piece(msgspec.Struct, frozen=True):
    """Bytes that are written by themselves, `wait_us` after what was written before, as recorded."""

    raw: bytes
    wait_us: int = 0


class Answer(msgspec.Struct, frozen=True):
    """What goes out. Without a head nothing does, and only the ending is seen."""

    head: bytes = b""
    pieces: tuple[Piece, ...] = ()
    ending: Ending = "clean"
    keep_alive: bool = False


class Reply(msgspec.Struct, frozen=True):
    """What goes out, and what to call with how that ended once it has.

    Of a recorded answer also its step, what was asked, the answer as it is recorded, and how to give another instead.
    """

    answer: Answer
    sent: Callable[[Ended], None]
    step: int | None = None
    place: str = ""
    recorded: Recorded | None = None
    remade: "Callable[[Recorded], Reply] | None" = None


def ending(how: Ended | ErrorKind) -> Ending | None:
    """How a replay of something that ended so has to end, None where the recording does not know."""
    return _ENDINGS.get(how)


def failure(kind: ErrorKind, live: Live, detail: bytes = b"") -> Answer:
    """A recorded failure without a status line; `detail` is what was recorded of it.

    Where the server was never reached, the recorder told the agent so, with a 502 (RFC 9110, section 15.6.3).
    """
    how = _ENDINGS[kind]
    if how != "clean":
        return Answer(ending=how)
    headers = ((b"Content-Type", b"text/plain"),)
    said = (detail or kind.encode()) + b"\n"
    return build(
        Recorded(502, b"Bad Gateway", headers, "length", "complete", said), msgspec.structs.replace(live, close=True)
    )


def build(recorded: Recorded, live: Live) -> Answer:
    """The bytes of an answer. `recorded.ended` has an ending."""
    how = _ENDINGS[recorded.ended]
    bodiless = live.method == "HEAD" or recorded.status in _BODILESS_STATUS
    framing = "none" if bodiless else framing_of(recorded, live)
    keep_alive = how == "clean" and framing != "close" and not live.close and not live.http10
    head = _head(recorded, framing, keep_alive)
    pieces = () if bodiless else tuple(_pieces(recorded, framing == "chunked"))
    if framing == "chunked" and how == "clean":
        last = b"".join(name + b": " + value + b"\r\n" for name, value in recorded.trailers)
        pieces = (*pieces, Piece(b"0\r\n" + last + b"\r\n"))
    early = () if live.http10 else [one for one in recorded.interim if one[0] != HTTPStatus.CONTINUE]
    before = b"".join(interim_head(status, fields) for status, fields in early)
    return Answer(before + head, pieces, how, keep_alive)


def interim_head(status: int, fields: Pairs) -> bytes:
    """The head of an interim answer. A 100 is given by whoever reads the request, to a client that waits for it."""
    lines = [b"HTTP/1.1 %d %s" % (status, _reason(status)), *(name + b": " + value for name, value in fields)]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def framing_of(recorded: Recorded, live: Live) -> Framing:
    """How the end of a body is told to this client."""
    framing = recorded.framing
    if framing == "frames":
        framing = "length" if _header(recorded.headers, b"content-length") is not None else "chunked"
    if framing == "chunked" and live.http10:
        return "close"
    return "length" if framing == "none" else framing


def _head(recorded: Recorded, framing: Framing, keep_alive: bool) -> bytes:
    reason = recorded.reason or _reason(recorded.status)
    lines = [b"HTTP/1.1 %d %s" % (recorded.status, reason)]
    dropped = _DROPPED | connection_options(recorded.headers)
    framed = _framed(recorded, framing)
    for name, value in recorded.headers:
        lower = name.lower()
        if framed is not None and lower == framed[0].lower():
            lines.append(name + b": " + framed[1])
            framed = None
        elif lower not in dropped:
            lines.append(name + b": " + value)
    if framed is not None and framing != "none":
        lines.append(framed[0] + b": " + framed[1])
    if not keep_alive:
        lines.append(b"Connection: close")
    return b"\r\n".join(lines) + b"\r\n\r\n"


def _framed(recorded: Recorded, framing: Framing) -> tuple[bytes, bytes] | None:
    """The one framing header: where the recording has it, it keeps its place and spelling."""
    if framing == "chunked":
        return b"Transfer-Encoding", b"chunked"
    if framing == "close" or recorded.status == 204:
        return None
    promised = _header(recorded.headers, b"content-length")
    whole = framing == "length" and _ENDINGS[recorded.ended] == "clean"
    if promised is None and framing == "none":
        return None
    return b"Content-Length", b"%d" % len(recorded.body) if whole or promised is None else promised


def _pieces(recorded: Recorded, chunked: bool) -> list[Piece]:
    lengths = recorded.chunks
    if sum(chunk.length for chunk in lengths) != len(recorded.body):
        lengths = (Chunk(len(recorded.body), 0),)
    pieces, at = [], 0
    for chunk in lengths:
        raw = recorded.body[at : at + chunk.length]
        at += chunk.length
        if raw:
            pieces.append(Piece(b"%x\r\n%s\r\n" % (len(raw), raw) if chunked else raw, chunk.wait_us))
    return pieces


def interim_of(pairs: Pairs) -> tuple[tuple[int, Pairs], ...]:
    """The interim answers of a list in which `:status` begins each, as an event has them."""
    found: list[tuple[int, list[tuple[bytes, bytes]]]] = []
    for name, value in pairs:
        if name == b":status" and value.isdigit():
            found.append((int(value), []))
        elif found:
            found[-1][1].append((name, value))
    return tuple(found)


def connection_options(headers: Pairs) -> frozenset[bytes]:
    """The header fields that a message says belong to its connection (RFC 9110, section 7.6.1)."""
    values = (value for name, value in headers if name.lower() == b"connection")
    return frozenset(option.strip().lower() for value in values for option in value.split(b","))


def _header(headers: Pairs, name: bytes) -> bytes | None:
    return next((value for known, value in headers if known.lower() == name), None)


@cache
def _reason(status: int) -> bytes:
    try:
        return HTTPStatus(status).phrase.encode()
    except ValueError:
        return b""

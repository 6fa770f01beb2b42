"""What a recorder has seen, before redaction: plain values, free of whatever saw it.

Rules kept here:
- They hold secrets: they are kept in memory, and handed to nothing but the redaction of their run.
- Texts are the bytes that crossed the wire. Times are in microseconds.
- A body goes in once: whole, or as a `Taken` where it is too long to be in memory.
"""

from typing import Literal

import msgspec

from store.core.chunks import Chunk
from store.core.control.calls import NoteKind
from store.core.model import Ended, ErrorKind, Framing
from store.core.rpc import Direction
from store.core.websocket import By
from store.spool import Taken

type Pairs = tuple[tuple[bytes, bytes], ...]
type Reason = Literal["excluded", "pinned", "local", "cleartext_h2", "not_http", "upgrade"]

# What is drafted for so long that others should not have to wait for it.
LARGE_BYTES = 256 * 1024


class Body(msgspec.Struct, frozen=True, array_like=True):
    """The content as it crossed the wire, transfer coding removed, as far as it is kept: in memory or, where there is
    a `taken`, of that length elsewhere.

    `chunks` are the pieces that it came in, where they are known; `cut_bytes` is how long it was where not all is kept.
    """

    content: bytes = b""
    taken: Taken | None = None
    length: int = 0
    chunks: tuple[Chunk, ...] | None = None
    cut_bytes: int = 0


NOTHING = Body()


class Seen(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """Something that happened in a run, and makes an event."""

    @property
    def is_large(self) -> bool:
        """Whether it takes long to redact."""
        return False


class Embodied(Seen, frozen=True, kw_only=True):
    """What has a body."""

    body: Body = NOTHING

    @property
    def is_large(self) -> bool:
        """Whether it takes long to redact."""
        return max(len(self.body.content), self.body.length) > LARGE_BYTES


class Request(Embodied, frozen=True, tag=1, kw_only=True):
    """A request, without the headers that were for us; `path` with its query. Of a `streaming` one the body follows."""

    method: bytes
    scheme: str
    host: bytes
    port: int
    path: bytes
    version: bytes
    fields: Pairs
    streaming: bool = False


class Upload(Embodied, frozen=True, tag=2, kw_only=True):
    """The whole of an upload that was not held."""

    ended: Ended
    trailers: Pairs = ()


STATUS_MAX = 999_999  # three digits are allowed (RFC 9110, section 15); a server may send anything


class Head(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """Status line and headers of an answer, at most STATUS_MAX."""

    status: int
    reason: bytes
    version: bytes
    fields: Pairs
    framing: Framing


class Answer(Embodied, frozen=True, tag=3, kw_only=True):
    """An answer as far as it came: `interim` are the heads of the 1xx before it, as HTTP/1 spells them; `upstream` and
    `tls` tell of the connection that it came by.
    """

    head: Head
    ended: Ended
    trailers: Pairs = ()
    interim: tuple[bytes, ...] = ()
    upstream: str | None = None
    tls: str | None = None
    first_byte_us: int = 0
    total_us: int = 0


class Failure(Seen, frozen=True, tag=4, kw_only=True):
    """No status line arrived; `detail` says why."""

    kind: ErrorKind
    detail: bytes
    total_us: int


class Message(Seen, frozen=True, tag=5, kw_only=True):
    """A message of a WebSocket."""

    content: bytes
    from_agent: bool
    is_text: bool

    @property
    def is_large(self) -> bool:
        """Whether it takes long to redact."""
        return len(self.content) > LARGE_BYTES


class Goodbye(Seen, frozen=True, tag=6, kw_only=True):
    """The end of a WebSocket."""

    code: int
    reason: bytes
    by: By


class Claim(Seen, frozen=True, tag=7, kw_only=True):
    """A note of the agent's: a JSON object."""

    kind: NoteKind
    content: bytes


class Passed(Seen, frozen=True, tag=8, kw_only=True):
    """A JSON-RPC message between the agent and a tool server."""

    server: str
    direction: Direction
    message: bytes


class Tunnel(Seen, frozen=True, tag=9, kw_only=True):
    """The beginning of what passes unopened, and why it does."""

    host: bytes
    port: int
    reason: Reason


type Sight = Request | Upload | Answer | Failure | Message | Goodbye | Claim | Passed | Tunnel
type Piece = bytes | Head

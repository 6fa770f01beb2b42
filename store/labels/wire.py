"""An exchange as the wire brought it, read on demand: content codings undone, JSON and event streams parsed once."""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from store.core import coding, frames
from store.core.errors import Malformed
from store.labels import tree
from store.labels.event_stream import Event, events
from store.labels.tree import Json, Sources

CONTENT_BYTES_MAX = 64 * 1024 * 1024

_LINES = "application/x-ndjson"
_DOCUMENT = re.compile(r"json|xml|html")
_STREAM_START = re.compile(rb"(\xef\xbb\xbf)?(data|event|id|retry)?:")
_ABSOLUTE = re.compile(r"\A[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")

type HeaderPairs = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Request:
    """A request: `path` with or without its query; `body` with its content coding, transfer coding removed."""

    method: bytes
    scheme: bytes
    host: bytes
    port: int
    path: bytes
    headers: HeaderPairs
    body: bytes = b""

    @cached_property
    def verb(self) -> str:
        """The method, in capitals."""
        return self.method.decode("latin-1").upper()

    @cached_property
    def site(self) -> str:
        """The host in lower case, without the dot that may end it."""
        return self.host.decode("latin-1").lower().rstrip(".")

    @cached_property
    def route(self) -> str:
        """The path alone, as it was sent."""
        return self._target.partition("?")[0]

    @cached_property
    def query(self) -> str:
        """The query alone, without its `?`."""
        return self._target.partition("?")[2]

    @cached_property
    def content(self) -> bytes:
        """The body with its content codings undone, as far as it can be read."""
        return _content(self.headers, self.body)

    @cached_property
    def sources(self) -> Sources:
        """The members of a JSON body as source texts."""
        return tree.sources(self.content) if self.content.lstrip()[:1] in (b"{", b"\xef") else {}

    def member(self, name: str) -> Json:
        """One member of a JSON body."""
        source = self.sources.get(name)
        return None if source is None else tree.parse(bytes(source))

    def header(self, name: str) -> str:
        """The first field of that name, "" without one."""
        return self._fields.get(name.encode(), b"").decode("latin-1").strip()

    @cached_property
    def _fields(self) -> dict[bytes, bytes]:
        return _firsts(self.headers)

    @cached_property
    def _target(self) -> str:
        return _ABSOLUTE.sub("", self.path.decode("latin-1"), count=1).partition("#")[0] or "/"


@dataclass(frozen=True)
class Response:
    """A response: `body` with its content coding, transfer coding removed, as far as it came."""

    status: int
    headers: HeaderPairs
    body: bytes = b""

    @cached_property
    def content(self) -> bytes:
        """The body with its content codings undone, as far as it can be read."""
        return _content(self.headers, self.body)

    @cached_property
    def media_type(self) -> str:
        """The media type without its parameters, in lower case."""
        return self.header("content-type").partition(";")[0].strip().lower()

    @cached_property
    def is_stream(self) -> bool:
        """Whether the body comes in messages: server-sent events, which some servers name otherwise, AWS's event
        stream, or a line for each.
        """
        if self.media_type in ("text/event-stream", frames.MEDIA_TYPE, _LINES):
            return True
        return not _DOCUMENT.search(self.media_type) and bool(_STREAM_START.match(self.content))

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """The events of a stream."""
        return tuple(events([self.content]))

    @cached_property
    def messages(self) -> tuple[dict[str, Json], ...]:
        """The JSON objects that the events of a stream carry; in one of AWS's {event type: object}, unless what the
        model said is in it as bytes.
        """
        if self.media_type == frames.MEDIA_TYPE:
            return tuple(_framed(kind, tree.members(tree.parse(raw))) for kind, raw in frames.messages(self.content))
        if self.media_type == _LINES:
            lines = (tree.parse(line) for line in self.content.splitlines() if line.strip())
            return tuple(line for line in lines if isinstance(line, dict))
        found = (tree.parse(event.data) for event in self.events if event.data != "[DONE]")
        return tuple(message for message in found if isinstance(message, dict))

    @cached_property
    def json(self) -> Json:
        """The value of a JSON body, None when it is none."""
        return tree.parse(self.content) if self.content else None

    def header(self, name: str) -> str:
        """The first field of that name, "" without one."""
        return self._fields.get(name.encode(), b"").decode("latin-1").strip()

    @cached_property
    def _fields(self) -> dict[bytes, bytes]:
        return _firsts(self.headers)


def _framed(kind: str, said: dict[str, Json]) -> dict[str, Json]:
    carried = said.get("bytes")
    if not isinstance(carried, str):
        return {kind: said}
    try:
        return tree.members(tree.parse(base64.b64decode(carried, validate=True)))
    except (binascii.Error, ValueError):
        return {}


def _firsts(headers: HeaderPairs) -> dict[bytes, bytes]:
    """The first field of each name, in lower case."""
    return {name.lower(): value for name, value in reversed(headers)}


def _content(headers: HeaderPairs, body: bytes) -> bytes:
    try:
        return coding.decode(body, coding.content_encoding(headers), CONTENT_BYTES_MAX, partial=True)
    except Malformed:
        return b""  # a coding that nobody here knows: nothing to read

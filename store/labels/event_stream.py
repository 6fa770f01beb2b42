"""Reads a server-sent event stream, bytes in, events out, wherever the chunks are cut.

The rules are those of the WHATWG HTML standard, section 9.2 ("Server-sent events"): lines end with CR LF, LF or CR;
bytes that are no UTF-8 become U+FFFD; one byte order mark at the start is skipped; a block without a `data` field is
no event; what follows the last blank line is none either.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_RETRY_DIGITS_MAX = 15


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its type ("message" unless told), its data, and the last event id seen so far."""

    type: str
    data: str
    id: str = ""


class EventStream:
    """The state of one stream between two chunks.

    `retry_ms` is the newest reconnection time the server asked for, None before the first.
    """

    def __init__(self) -> None:
        self.retry_ms: int | None = None
        self._line = bytearray()
        self._at_start = True
        self._after_cr = False
        self._type = ""
        self._data: list[str] = []
        self._id = ""

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that end within `chunk`."""
        found: list[Event] = []
        if chunk:
            swallowed = self._after_cr and chunk.startswith(b"\n")
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk[1:] if swallowed else chunk
        for piece in chunk.splitlines(keepends=True):
            if not piece.endswith((b"\n", b"\r")):
                self._line += piece
                continue
            line = piece.rstrip(b"\r\n")
            if self._line:
                line = bytes(self._line) + line
                self._line.clear()
            event = self._take(line)
            if event is not None:
                found.append(event)
        return found

    def _take(self, line: bytes) -> Event | None:
        if self._at_start:
            line = line.removeprefix(_BYTE_ORDER_MARK)
            self._at_start = False
        if not line:
            return self._dispatch()
        if line.startswith(b"data: "):  # as nearly all are
            self._data.append(line[len(b"data: ") :].decode("utf-8", "replace"))
            return None
        name, _, value = line.decode("utf-8", "replace").partition(":")
        self._set(name, value.removeprefix(" "))
        return None

    def _set(self, name: str, value: str) -> None:
        match name:
            case "data":
                self._data.append(value)
            case "event":
                self._type = value
            case "id" if "\0" not in value:
                self._id = value
            case "retry" if value.isascii() and value.isdigit() and len(value) <= _RETRY_DIGITS_MAX:
                self.retry_ms = int(value)

    def _dispatch(self) -> Event | None:
        kind, lines = self._type or "message", self._data
        self._type, self._data = "", []
        return Event(kind, "\n".join(lines), self._id) if lines else None


def events(chunks: Iterable[bytes]) -> Iterator[Event]:
    """The events of a stream that is given whole, in any pieces."""
    stream = EventStream()
    for chunk in chunks:
        yield from stream.feed(chunk)

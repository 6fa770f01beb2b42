"""What a foreign file holds, whatever its kind: exchanges in their order, where they come from, and what is lost."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote, urlsplit

from store.core import coding
from store.core.errors import EdgetapeError, Malformed
from store.core.form import Asked, Endpoint, Pairs, first
from store.core.model import ErrorKind
from store.core.websocket import By

type Kind = Literal["har", "vcr", "mitmproxy"]
type Loss = Literal[
    "decoded",
    "no_answer_body",
    "cut_answer",
    "no_request_body",
    "no_outcome",
    "not_http",
    "messages",
    "no_goodbye",
    "no_times",
]

DECODED_BYTES_MAX = 64 * 1024 * 1024
_LENGTH_DIGITS_MAX = 16
_PORTS = {"http": 80, "https": 443}
_SOCKETS = {"ws": "http", "wss": "https"}
_PATH_SAFE = "/%:@!$&'()*+,;=~-._?[]|{}^`\"<>\\"

# Of what, in the singular and the plural, and what becomes of it.
LOSSES: dict[Loss, tuple[str, str, str]] = {
    "decoded": ("body", "bodies", "without the content coding that its headers name: kept, and served, without one"),
    "no_answer_body": ("answer", "answers", "whose body the file does not hold: a replay refuses it by name"),
    "cut_answer": ("answer", "answers", "of which the file holds only a part: a replay refuses it by name"),
    "no_request_body": ("request", "requests", "whose body the file does not hold: any fits that is else the same"),
    "no_outcome": ("exchange", "exchanges", "left out: the file has neither an answer nor an error for it"),
    "not_http": ("exchange", "exchanges", "left out: its address is no http or https URL"),
    "messages": ("exchange", "exchanges", "left out: the file has not what went over the WebSocket"),
    "no_goodbye": ("WebSocket", "WebSockets", "whose end the file does not tell: taken as closed by the client"),
    "no_times": ("exchange", "exchanges", "without times: the order is that of the file"),
}


class NotForeign(EdgetapeError):
    """A file that is none of the kinds that can be imported, or is damaged."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a file says of where it comes from: the tool that wrote it, and when its first request was made."""

    kind: Kind
    tool: str
    began: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as far as the file has it.

    `decoded` says that the content codings which its headers name are undone; `missing_bytes` how long a body was that
    is not all there (0 where nobody knows), None where nothing is missing.
    """

    status: int
    headers: Pairs
    body: bytes = b""
    reason: bytes = b""
    http_version: str = "HTTP/1.1"
    trailers: Pairs = ()
    decoded: bool = False
    missing_bytes: int | None = None
    total_us: int | None = None
    first_byte_us: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """That no status line came, and what the tool said of it."""

    kind: ErrorKind
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a WebSocket."""

    content: bytes
    from_client: bool
    is_text: bool


@dataclass(frozen=True, slots=True)
class Goodbye:
    """The end of a WebSocket, with its code (RFC 6455, section 7.4)."""

    code: int = 1000
    by: By = "client"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request, not redacted yet, and its outcome; of a WebSocket also what went over it.

    `missing_bytes` is how long a body of the request was that the file does not hold (0 where nobody knows), None where
    nothing is missing.
    """

    asked: Asked
    outcome: Answer | Failure
    http_version: str = "HTTP/1.1"
    decoded: bool = False
    messages: tuple[Message, ...] = ()
    goodbye: Goodbye | None = None
    missing_bytes: int | None = None


@dataclass(slots=True)
class Recording:
    """A whole file."""

    origin: Origin
    exchanges: list[Exchange] = field(default_factory=list)
    losses: Counter[Loss] = field(default_factory=Counter)

    def sentences(self) -> list[str]:
        """What could not be carried over, for people."""
        told = [(self.losses[loss], words) for loss, words in LOSSES.items() if self.losses[loss]]
        return [f"{number:,} {one if number == 1 else many} {what}" for number, (one, many, what) in told]


def asked(method: str, url: str, headers: Pairs, body: bytes) -> Asked | None:
    """A request to a URL, None where that is none of http or https. Percent-encoding stays as it is spelled."""
    try:
        parts = urlsplit(url)
        parts = parts._replace(scheme=_SOCKETS.get(parts.scheme, parts.scheme))
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname:
        return None
    path = quote(parts.path or "/", safe=_PATH_SAFE).encode()
    place = Endpoint(method.upper(), parts.scheme, parts.hostname, port, path)
    return Asked(place, quote(parts.query, safe=_PATH_SAFE).encode(), headers, body)


def is_decoded(headers: Pairs, body: bytes) -> bool:
    """Whether a body is not in the content codings that its headers name."""
    names = coding.content_encoding(headers)
    if not names or not body:
        return False
    try:
        coding.decode(body, names, DECODED_BYTES_MAX)
    except Malformed:
        return True
    return False


def told_length(headers: Pairs) -> int | None:
    """How long a body is by its headers; None where they do not say."""
    told = first(headers, b"content-length").strip()
    return int(told) if told.isdigit() and len(told) < _LENGTH_DIGITS_MAX else None


def field_bytes(text: str) -> bytes:
    """A header's name or value as bytes: one character a byte, as it crosses the wire, where that can be."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def without_framing(headers: Sequence[tuple[bytes, bytes]]) -> Pairs:
    """Headers as HTTP/1.1 has them: the pseudo headers of HTTP/2 (RFC 9113, section 8.3) say what stands elsewhere."""
    return tuple((name, value) for name, value in headers if not name.startswith(b":"))

"""The normal form of a request: what has to be equal for two requests to be the same one.

Rules kept here:
- Method, scheme, host, port and path as sent, its percent-encoding included; query pairs sorted stably by name.
- Only headers that change what the request means.
- The body with its content codings undone: JSON, form fields, multipart parts (their boundary ignored), else its bytes.
- The mark of a secret, `<edgetape:CLASS:k>`, counts by the group of its class; `marks` tells which stood where.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

import msgspec

from store.core import coding, multipart
from store.core.errors import Malformed
from store.core.jsontext import Node, Octets, canonical, opened, parse
from store.core.redaction.marks import MARK, group

VERSION = "edgetape/form/1"
DECODED_BYTES_MAX = 256 * 1024 * 1024

MEANING_HEADERS = frozenset(
    (
        "accept", "anthropic-beta", "anthropic-version", "api-version", "content-type", "mcp-protocol-version",
        "notion-version", "openai-beta", "openai-version", "range", "stripe-version", "x-api-version",
        "x-github-api-version", "x-goog-api-version", "x-http-method-override",
    )
)  # fmt: skip


type Pairs = Sequence[tuple[bytes, bytes]]
type Mark = tuple[bytes, int]


class Endpoint(NamedTuple):
    """Where a request goes: what never differs between two requests of which one could answer for the other."""

    method: str
    scheme: str
    host: str
    port: int
    path: bytes

    @property
    def place(self) -> str:
        """As a person reads it: method, URL without query."""
        usual = {"http": 80, "https": 443}.get(self.scheme) == self.port
        host = f"[{self.host}]" if ":" in self.host else self.host
        authority = host if usual else f"{host}:{self.port}"
        if not self.scheme:
            return f"{self.method} {authority}"
        return f"{self.method} {self.scheme}://{authority}{self.path.decode('utf-8', 'replace')}"


class Asked(msgspec.Struct, frozen=True):
    """A request after redaction, as it crossed the wire: transfer coding removed, content coding kept."""

    endpoint: Endpoint
    query: bytes = b""
    headers: Pairs = ()
    body: bytes = b""
    marks: tuple[Mark, ...] = ()  # of the path, which `endpoint` has without their numbers


@dataclass(frozen=True)
class Form:
    """A request in normal form. `document` has the members query, headers and body, each absent where there is none."""

    endpoint: Endpoint
    document: dict[str, Node]
    marks: tuple[Mark, ...] = field(default=(), compare=False)

    @cached_property
    def key(self) -> bytes:
        """32 bytes, equal for equal requests only."""
        place = "\n".join((*map(str, self.endpoint[:4]), self.endpoint.path.decode("latin-1"), ""))
        return hashlib.sha256(place.encode("utf-8", "surrogatepass") + canonical(self.document)).digest()

    @property
    def body(self) -> Node:
        """The body's value, None where there is none."""
        return self.document.get("body")


def normal(asked: Asked, meaning: frozenset[str] = MEANING_HEADERS) -> Form:
    """The normal form of a request, comparing the headers that `meaning` names in lower case."""
    query, query_marks = unmarked(asked.query)
    body, body_marks = unmarked(content(asked))
    document = _content(query, body, asked.headers, _text)
    headers = _meaning(asked.headers, meaning)
    if headers:
        document["headers"] = headers
    return Form(asked.endpoint, document, asked.marks + query_marks + body_marks)


def numbered(asked: Asked) -> dict[str, Node]:
    """Query and body as `normal` has them, but with the numbers of their marks."""
    return _content(asked.query, content(asked), asked.headers, _latin)


def marks(document: dict[str, Node]) -> tuple[Mark, ...]:
    """The marks in what is left of a `numbered` document, in an order that is the same for equal documents."""
    return tuple((kind, int(number)) for kind, number in MARK.findall(canonical(document)))


def content(asked: Asked) -> bytes:
    """The body with its content codings undone; as it is where they cannot be."""
    codings = coding.content_encoding(asked.headers)
    if not codings:
        return asked.body
    try:
        return coding.decode(asked.body, codings, DECODED_BYTES_MAX)
    except Malformed:
        return asked.body


def first(headers: Pairs, name: bytes) -> bytes:
    """The value of the first header of that name (lower case), or nothing."""
    return next((value for known, value in headers if known.lower() == name), b"")


def unmarked(raw: bytes) -> tuple[bytes, tuple[Mark, ...]]:
    """Redacted bytes as they are compared, each mark without its number, and the marks that stood there."""
    if b"<edgetape:" not in raw:
        return raw, ()
    found = tuple((kind, int(number)) for kind, number in MARK.findall(raw))
    return MARK.sub(lambda mark: b"<edgetape:" + group(mark[1]) + b">", raw), found


def _content(query: bytes, body: bytes, headers: Pairs, text: Callable[[bytes], Node]) -> dict[str, Node]:
    document: dict[str, Node] = {}
    if query:
        document["query"] = _fields(query, ordered=False)
    if body:
        document["body"] = _body(body, first(headers, b"content-type"), text)
    return document


def _meaning(headers: Pairs, meaning: frozenset[str]) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for name, value in headers:
        lower = name.decode("latin-1").lower()
        if lower not in meaning:
            continue
        text = value.decode("latin-1").strip()
        if lower == "content-type":
            text = _media_type(text)
        if lower == "accept" and text == "*/*":
            continue
        known = found.get(lower)
        found[lower] = f"{known}, {text}" if isinstance(known, str) else text
    return dict(sorted(found.items()))


def _media_type(value: str) -> str:
    """A media type with its parameters in order, without a multipart boundary (RFC 9110, section 8.3.1)."""
    kind, *parameters = (part.strip() for part in value.split(";"))
    kept = sorted(
        part.lower().replace('"', "") for part in parameters if part and not part.lower().startswith("boundary=")
    )
    return "; ".join((kind.lower(), *kept))


def _body(raw: bytes, content_type: bytes, text: Callable[[bytes], Node]) -> Node:
    kind = content_type.split(b";")[0].strip().lower()
    if kind == b"application/x-www-form-urlencoded":
        return _fields(raw, ordered=True)
    if kind == b"multipart/form-data":
        parts = multipart.parts(raw, content_type)
        if parts is not None:
            return [_part(part, text) for part in parts]
    if raw.lstrip()[:1] in (b"{", b"[") or kind.endswith(b"json"):
        try:
            return opened(parse(raw))
        except (Malformed, RecursionError):
            pass
    return text(raw)


def _part(part: multipart.Part, text: Callable[[bytes], Node]) -> Node:
    headers: dict[str, Node] = {name: value for name, value in sorted(part.headers) if name != "content-length"}
    return {**headers, "body": text(part.body)}


def _fields(raw: bytes, *, ordered: bool) -> Node:
    """Name and value pairs, percent-encoding kept in a query and undone in a form; an object where no name repeats."""
    pairs = [part.partition(b"=") for part in raw.split(b"&") if part]
    if ordered:
        texts = [(_decoded(name), _decoded(value)) for name, _, value in pairs]
    else:
        texts = [(_latin(name), _latin(value)) for name, _, value in pairs]
    texts.sort(key=lambda pair: pair[0])
    values: dict[str, list[Node]] = {}
    for name, value in texts:
        values.setdefault(name, []).append(value)
    return {name: found[0] if len(found) == 1 else found for name, found in values.items()}


def _decoded(raw: bytes) -> str:
    return unquote_to_bytes(raw.replace(b"+", b" ")).decode("utf-8", "surrogateescape")


def _latin(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _text(raw: bytes) -> Node:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return Octets.of(raw)

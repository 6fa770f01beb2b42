"""Secrets in a body: what it is decides where is looked, and whatever is known of this run is looked for everywhere.

Rules kept here:
- A content coding is undone within a limit. What then has to change is stored decoded; what has not stays as it was.
- What is declared to be text but cannot be read is withheld whole; so is a binary format that would not survive a
  change.
- In pictures, sound and archives only known secrets are looked for: their bytes are not names and values.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import lru_cache

import msgspec

from store.core import frames, unpacking
from store.core.coding import content_encoding
from store.core.redaction import clean, deltas, fields, stretches, structure, texts
from store.core.redaction.known import Known
from store.core.redaction.marks import MARK, WITHHELD, Redacted
from store.core.redaction.spans import Span, without

INSPECTED_BYTES_MAX = 256 * 1024 * 1024
TAIL_BYTES = 32 * 1024

_OPAQUE = ("image/", "audio/", "video/", "font/")
_OPAQUE_TYPES = frozenset(
    (
        "application/gzip", "application/pdf", "application/wasm", "application/x-7z-compressed", "application/x-bzip2",
        "application/x-tar", "application/x-xz", "application/zip", "application/zstd",
    )
)  # fmt: skip
# Lengths stand within these formats: a change breaks them.
_FRAMED = ("application/grpc", "application/x-protobuf", "application/protobuf", "application/vnd.google.protobuf")
_TEXTUAL = ("json", "xml", "text/", "javascript", "urlencoded", "event-stream", "multipart", "yaml", "graphql")
_STREAMS = ("text/event-stream", "application/x-ndjson", "application/jsonl", "application/jsonlines")

type Spans = Generator[None, None, list[Span]]


class Content(msgspec.Struct, frozen=True):
    """What is known of a body before it is read: its Content-Type, its content codings, the class of its endpoint."""

    described: bytes = b""
    coding: str = ""
    endpoint: str = ""

    @classmethod
    def of(cls, headers: Sequence[tuple[bytes, bytes]], endpoint: str = "") -> "Content":
        """What these headers say."""
        described = next((value for name, value in headers if name.lower() == b"content-type"), b"")
        return cls(described, content_encoding(headers).lower(), endpoint)

    @property
    def media_type(self) -> str:
        """The type without its parameters, in lower case; "" where there is none."""
        return _media_type(self.described)

    @property
    def is_textual(self) -> bool:
        """Whether it is declared to be something that can be read."""
        return any(word in self.media_type for word in _TEXTUAL)

    @property
    def is_opaque(self) -> bool:
        """Whether only known secrets are looked for."""
        return self.media_type.startswith(_OPAQUE) or self.media_type in _OPAQUE_TYPES

    @property
    def is_framed(self) -> bool:
        """Whether it has lengths within."""
        return self.media_type.startswith(_FRAMED) or self.media_type == frames.MEDIA_TYPE

    @property
    def is_stream(self) -> bool:
        """Whether it is a stream of events, one or more lines each."""
        return self.media_type in _STREAMS


@lru_cache(256)
def _media_type(described: bytes) -> str:
    return described.partition(b";")[0].strip().lower().decode("latin-1")


def redacted(raw: bytes, about: Content, known: Known) -> Generator[None, None, Redacted]:
    """A body without its secrets, a step of at most a millisecond or two at a time."""
    content = raw
    if about.coding and raw:
        content, failure = yield from unpacking.steps(raw, about.coding, INSPECTED_BYTES_MAX)
        if failure and failure != unpacking.CUT_OFF:
            if about.is_textual and not is_text(raw):
                return withheld(raw, known)
            content = raw
    found = yield from spans(content, about, known)
    changed = without(content, found, known, len(raw))
    if changed.exact:
        return Redacted(raw, len(raw))
    if about.is_framed:
        mended = None
        if about.media_type == frames.MEDIA_TYPE:
            mended = frames.reframed(content, changed.content, changed.edits)
        if mended is None:
            return withheld(raw, known)
        return Redacted(mended, len(raw), changed.marks, content is not raw, changed.edits)
    return Redacted(changed.content, len(raw), changed.marks, content is not raw, changed.edits)


def withheld(raw: bytes, known: Known) -> Redacted:
    """Nothing of a body but that it was there."""
    return without(raw, [Span(0, len(raw), WITHHELD, raw)], known, len(raw))


def spans(content: bytes, about: Content, known: Known) -> Spans:
    """Where the secrets of a decoded body are; what is secret by place or shape is known from then on."""
    found: list[Span] = []
    version, ours = known.version, list[Span]()
    if about.endpoint:
        found += yield from _some(structure.find(content, about.media_type, about.endpoint))
    if about.is_opaque:
        version = -1
    else:
        found += yield from _by_type(content, about, known, ours)
    for span in found:
        if span.learn:
            known.learn(span.secret, span.kind)
    found += ours
    while version != known.version:  # something new was found, or another body has brought a secret while we paused
        version = known.version
        for start, stop in texts.windows(len(content)):
            found += _ours(content, known.search(content, start, stop))
            yield
    if about.is_stream:
        found += yield from deltas.find(content, known)
    return found


def in_mark(content: bytes, span: Span) -> bool:
    """Whether a place is part of a mark, which spells no secret though it may spell the name of its class."""
    start = content.rfind(b"<edgetape:", max(0, span.start - 64), span.start + 1)
    mark = MARK.match(content, start) if start >= 0 else None
    return mark is not None and mark.end() >= span.end


def _ours(content: bytes, spans: Iterable[Span]) -> Iterator[Span]:
    return (span for span in spans if not in_mark(content, span))


def _by_type(content: bytes, about: Content, known: Known, ours: list[Span]) -> Spans:
    """What is secret by place or shape. What is known by now goes into `ours`, for it is found on the same way."""
    found: list[Span] = []
    if about.media_type == fields.FORM:
        found += yield from _some(fields.pairs(content, "form"))
    elif about.media_type.startswith("multipart/"):
        found += yield from _some(fields.parts(content, about.described))
    readable = not about.is_framed and b"\0" not in content[:1024]
    for start, stop in texts.windows(len(content)):
        secret, known_ones = _window(content, start, stop, known, readable=readable)
        found += secret
        ours += known_ones
        yield
    return found


def _window(content: bytes, start: int, stop: int, known: Known, *, readable: bool) -> tuple[list[Span], list[Span]]:
    """What a window holds that is secret by place or shape, and what is known. Neither is looked for again in what is
    remembered to be clean of it.
    """
    key = clean.key(content, start, stop) if readable else 0
    since = known.clean.version(key) if readable else None
    if since == known.version:
        return [], []
    window = stretches.window(content, start, stop)
    found = [] if since is not None else list((texts.within if readable else texts.shaped)(window))
    ours = list(_ours(content, known.search(content, start, stop, window.dense)))
    if readable and not found and not ours and known.longest <= clean.SEEN_BYTES:
        known.clean.note(key, window, known.version)
    return found, ours


def _some(found: Iterable[Span | None]) -> Spans:
    kept: list[Span] = []
    for count, span in enumerate(found):
        if span is not None:
            kept.append(span)
        if count % 256 == 255:
            yield
    return kept


def is_text(raw: bytes) -> bool:
    """Whether a body that claims a content coding was never coded: no coding begins with so much plain text."""
    begin = raw[:4096]
    if any(byte < 9 or 13 < byte < 32 for byte in begin):
        return False
    return "\ufffd" not in begin.decode("utf-8", "replace")[:-3]  # the last character may be cut

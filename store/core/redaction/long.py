"""A body that is too long to be held: redacted piece by piece, as it will be stored.

Rules kept here:
- It is gone through twice where it holds a secret: what gives one away may come late, and the place of it early.
- Where nothing has to go, the wire's own bytes are stored; what has to change is stored decoded, as of a short body.
- What could only be judged as a whole (lengths stand within it, or it hands out credentials) is withheld whole instead.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from store.core.digest import pieces_digest
from store.core.redaction import bodies
from store.core.redaction.bodies import Content
from store.core.redaction.known import Known
from store.core.redaction.marks import WITHHELD, Edit, Redacted
from store.core.redaction.spans import Span, tallied
from store.core.redaction.stream import Stream

_STEP_BYTES = 32 * 1024
_READ_BYTES = 4096
_OPAQUE = b"application/octet-stream"

type Pieces = Callable[[], Iterable[bytes]]


class Keep(Protocol):
    """Where what was changed waits, outside of memory."""

    def add(self, piece: bytes) -> None:
        """Takes a piece."""

    def pieces(self) -> Iterable[bytes]:
        """All that came."""


@dataclass(frozen=True, slots=True)
class Long:
    """What `Redacted` is, of a body that is not in memory: `pieces()` gives its `length` bytes, as often as wanted."""

    length: int
    pieces: Pieces = field(repr=False)
    wire_bytes: int
    marks: tuple[tuple[str, int], ...] = ()
    decoded: bool = False
    edits: tuple[Edit, ...] = field(default=(), compare=False, repr=False)

    def __len__(self) -> int:
        return self.length

    @property
    def exact(self) -> bool:
        """Whether the bytes are those of the wire."""
        return not self.marks


@dataclass(slots=True)
class _Tally:
    """What was taken out so far: counts by class, and places of the decoded content."""

    counts: Counter[str] = field(default_factory=Counter)
    edits: list[Edit] = field(default_factory=list)
    read_bytes: int = 0
    stored_bytes: int = 0

    def take(self, piece: Redacted) -> None:
        self.counts.update(dict(piece.marks))
        self.edits += [(start + self.read_bytes, end + self.read_bytes, size) for start, end, size in piece.edits]
        self.read_bytes += piece.wire_bytes
        self.stored_bytes += len(piece.content)


def redacted(
    raw: Pieces, size: int, about: Content, known: Known, keep: Callable[[], Keep]
) -> Generator[None, None, Redacted | Long]:
    """A body of `size` bytes without its secrets, a few milliseconds' work at a time."""
    if about.endpoint:
        return _withheld(raw, size, known)
    seen = Content(_OPAQUE, about.coding) if about.is_framed else about
    version, found = known.version, _Tally()
    read = yield from _each(raw, Stream(seen, known), found.take)
    if not read and about.coding:
        if about.is_textual and not bodies.is_text(_beginning(raw)):
            return _withheld(raw, size, known)
        seen, found = Content(seen.described), _Tally()  # it was never coded
        yield from _each(raw, Stream(seen, known), found.take)
    if not found.counts and version == known.version:
        return Long(size, raw, size)
    if found.counts and about.is_framed:
        return _withheld(raw, size, known)
    return (yield from _changed(raw, size, seen, known, keep))


def _changed(
    raw: Pieces, size: int, about: Content, known: Known, keep: Callable[[], Keep]
) -> Generator[None, None, Long]:
    """The same with what is known by now; once more where another body has brought a secret meanwhile."""
    while True:
        version, found, kept = known.version, _Tally(), keep()

        def put(piece: Redacted, found: _Tally = found, kept: Keep = kept) -> None:
            found.take(piece)
            kept.add(piece.content)

        yield from _each(raw, Stream(about, known), put)
        if version == known.version:
            break
    if not found.counts:
        return Long(size, raw, size)
    return Long(found.stored_bytes, kept.pieces, size, tallied(found.counts), bool(about.coding), tuple(found.edits))


def _each(raw: Pieces, stream: Stream, take: Callable[[Redacted], None]) -> Generator[None, None, bool]:
    """Gives on what becomes of each piece; whether all could be read."""
    for step in _steps(raw()):
        take(stream.feed(step))
        yield
        if stream.is_closed:
            return False
    take(stream.finish())
    return True


def _steps(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        for at in range(0, len(piece), _STEP_BYTES):
            yield piece[at : at + _STEP_BYTES]


def _beginning(raw: Pieces) -> bytes:
    begin = b""
    for piece in raw():
        begin += piece[:_READ_BYTES]
        if len(begin) >= _READ_BYTES:
            break
    return begin


def _withheld(raw: Pieces, size: int, known: Known) -> Redacted:
    """Nothing of it but that it was there."""
    sha256 = pieces_digest(raw())
    kind, mark = known.mark(Span(0, size, WITHHELD, sha256))
    return Redacted(mark, size, ((kind, 1),), edits=((0, size, len(mark)),))

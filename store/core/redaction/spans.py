"""Places in a content that hold secrets, and the content without them."""

from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from store.core.redaction.marks import Edit, Redacted, is_mark


@dataclass(frozen=True, slots=True)
class Span:
    """`content[start:end]` is a secret of class `kind`.

    `secret` is the secret as it is told apart from others: what the bytes stand for, where they are a spelling of it.
    `learn` says that it is to be found again wherever it turns up later; `rest` that this is the further piece of a
    secret that came in several, whose mark stands where its first piece was.
    """

    start: int
    end: int
    kind: str
    secret: bytes
    learn: bool = False
    rest: bool = False


class Marks(Protocol):
    """Gives each secret its mark."""

    def mark(self, span: Span) -> tuple[str, bytes]:
        """The class that a secret goes by, and its mark."""


def merged(content: bytes, spans: Iterable[Span]) -> list[Span]:
    """Spans in their order, those that overlap made one: a rule that sees a part leaves no other part behind."""
    found: list[Span] = []
    # Of two that say the same of a place, the one that knows whose token it is.
    for span in sorted(spans, key=lambda each: (each.start, -each.end, each.kind in ("field", "environment"))):
        if span.end <= span.start or is_mark(content[span.start : span.end]):
            continue
        if not found or span.start >= found[-1].end:
            found.append(span)
        elif span.end > found[-1].end:
            last = found[-1]
            whole = content[last.start : span.end]
            both_rest = last.rest and span.rest
            found[-1] = Span(last.start, span.end, last.kind, whole, learn=last.learn or span.learn, rest=both_rest)
    return found


def without(content: bytes, spans: Iterable[Span], marks: Marks, wire_bytes: int) -> Redacted:
    """The content with a mark in each span's place."""
    pieces: list[bytes | memoryview] = []
    whole = memoryview(content)  # what stays is copied once
    edits: list[Edit] = []
    counts: Counter[str] = Counter()
    at = 0
    for span in merged(content, spans):
        mark = b""
        if not span.rest:
            kind, mark = marks.mark(span)
            counts[kind] += 1
        pieces += (whole[at : span.start], mark)
        edits.append((span.start, span.end, len(mark)))
        at = span.end
    if not edits:
        return Redacted(content, wire_bytes)
    pieces.append(whole[at:])
    return Redacted(b"".join(pieces), wire_bytes, tallied(counts), edits=tuple(edits))


def drained[R](steps: Generator[None, None, R]) -> R:
    """What comes out at the end of all steps."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: R = done.value
            return result


def tallied(counts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Counts by class, as an event lists them."""
    return tuple(sorted(counts.items()))

"""What stands in the place of a secret: a mark, `<edgetape:CLASS:k>`, and the bytes that have been through here.

Rules kept here:
- k counts the distinct secrets of a class in the run from 1; one secret keeps the class and number it first got.
- Two requests are compared by the group of a class, not by the class: whether a key was first seen in a header or in
  a query is chance, whether it is a key or a cookie is not.
"""

import re
from collections import Counter

import msgspec

MARK = re.compile(rb"<edgetape:([a-z_-]+):(\d+)>")
WITHHELD = "withheld"

# What a server issued during the run.
ISSUED = frozenset(("cookie", "oauth", "sts", "metadata", "vault"))

type Edit = tuple[int, int, int]
"""Where something was taken out (start, end) and how many bytes stand there now."""


class Redacted(msgspec.Struct, frozen=True):
    """Bytes that may be stored.

    `marks` counts what was replaced, by class; `wire_bytes` is the length before. `decoded` says that the content
    codings were undone, because something inside had to go; `edits` are places of the decoded content.
    """

    content: bytes
    wire_bytes: int
    marks: tuple[tuple[str, int], ...] = ()
    decoded: bool = False
    edits: tuple[Edit, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether the bytes are those of the wire."""
        return not self.marks

    @property
    def length(self) -> int:
        """How many bytes."""
        return len(self.content)


def stored(content: bytes) -> Redacted:
    """Bytes that were redacted before: they come out of the store, or the recorder made them itself."""
    return Redacted(content, len(content))


def mark(kind: str, number: int) -> bytes:
    """The mark of the secret with this number of its class."""
    return f"<edgetape:{kind}:{number}>".encode()


def is_mark(value: bytes) -> bool:
    """Whether a value was taken out before."""
    return MARK.fullmatch(value) is not None


def tally(content: bytes) -> list[list[str | int]] | None:
    """How many marks of each class a content holds, as an event says it; None for none."""
    counts = Counter(kind.decode() for kind, _ in MARK.findall(content))
    return [[kind, count] for kind, count in sorted(counts.items())] or None


def group(kind: bytes) -> bytes:
    """What of a class counts when two requests are compared."""
    return kind if kind.decode() in ISSUED or kind.decode() == WITHHELD else b"secret"


def is_withheld(content: bytes) -> bool:
    """Whether a whole body was kept back, because it could not be looked into."""
    found = MARK.fullmatch(content)
    return found is not None and found[1].decode() == WITHHELD


def moved(edits: tuple[Edit, ...], offsets: list[int]) -> list[int]:
    """Where these places (ascending) of a content are after `edits`; one inside an edit moves to its end."""
    places, shift, at = [], 0, 0
    for offset in offsets:
        while at < len(edits) and edits[at][1] <= offset:
            start, end, length = edits[at]
            shift += length - (end - start)
            at += 1
        if at < len(edits) and edits[at][0] < offset:
            places.append(edits[at][0] + shift + edits[at][2])
        else:
            places.append(offset + shift)
    return places

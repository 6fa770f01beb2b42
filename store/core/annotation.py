"""Annotations: what people said about events of a run, in a chain of its own apart from the log; pure.

docs/format.md, section 10.

Rules kept here:
- An annotation names the event by its seq and its hash, so it cannot come to speak of another one.
- Nothing is ever edited: what is said anew supersedes what was said before, and both stay.
- The record holds a commitment; the words lie apart, where they can be erased.
"""

import hashlib
import re
from dataclasses import dataclass, replace
from typing import cast

import msgspec

from store.core import canonical, digest
from store.core.errors import EdgetapeError, Malformed
from store.core.model import Facts
from store.core.shape import VERSION, Count, Run, Shape, Time, members
from store.core.text import Body, Hex32, Tallies

KIND = re.compile(r"[a-z][a-z0-9_-]{0,31}", re.ASCII)
BY_BYTES_MAX, TEXT_BYTES_MAX = 256, 16_384

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class UnfitAnnotation(EdgetapeError):
    """Words, or a name, that no annotation holds."""


class Place(msgspec.Struct, frozen=True):
    """Where an annotation stands: the `number`-th of its run, from 0, behind the one whose hash is `prev`."""

    run: Run
    number: Count
    prev: Hex32
    ts: Time


class Annotation(Facts, frozen=True, tag="annotation"):
    """What somebody (`by`, a claim) said about the event `seq`; `supersedes` is the number of the annotation that this
    one corrects; `redactions` are what was taken out of the text.
    """

    seq: Count
    event_hash: Hex32
    by: str
    kind: str
    text: Body
    supersedes: Count | None = None
    redactions: Tallies | None = None


@dataclass(frozen=True, slots=True)
class Words:
    """What an annotation commits to: a salt (32 bytes), and the text."""

    salt: bytes
    text: bytes

    @property
    def body(self) -> Body:
        """The commitment, as the record names it."""
        sha256 = hashlib.sha256(self.text).digest()
        return Body(body=digest.commitment(self.salt, sha256, len(self.text)).hex())

    @property
    def stored(self) -> bytes:
        """Both, as one."""
        return self.salt + self.text

    @classmethod
    def of(cls, stored: bytes) -> "Words":
        """Undoes `stored`. Raises Malformed for what is too short."""
        if len(stored) < digest.SALT_BYTES:
            raise Malformed("what is stored of the text is too short")
        return cls(stored[: digest.SALT_BYTES], stored[digest.SALT_BYTES :])


@dataclass(frozen=True, slots=True)
class Kept:
    """One annotation as it lies somewhere, believed by nobody: its canonical bytes, and its words once they are opened;
    None where there are none, an error where they cannot be opened.
    """

    number: int
    raw: bytes
    words: Words | EdgetapeError | None

    @property
    def silent(self) -> "Kept":
        """The same without its words."""
        return replace(self, words=None)


def encode(place: Place, said: Annotation) -> bytes:
    """The canonical bytes. Raises Malformed, TooLarge."""
    standing = cast("dict[str, canonical.Json]", msgspec.to_builtins(place))
    return canonical.encode({**members(said), **standing, "v": VERSION})


_SHAPE = Shape(Place, {"annotation": Annotation})


def decode(raw: bytes) -> tuple[Place, Annotation]:
    """Where an annotation stands and what it says. Raises UnknownVersion, UnknownShape or Malformed."""
    place, said = _SHAPE.read(raw)
    assert isinstance(said, Annotation)
    return place, said


def fit(text: str) -> str:
    """The text as it may be said: with line feeds, without blanks around it. Raises UnfitAnnotation."""
    told = text.replace("\r\n", "\n").strip()
    if not told:
        raise UnfitAnnotation("an annotation says something", hint="--text WORDS, or --text-file FILE")
    if _CONTROL.search(told):
        raise UnfitAnnotation(
            "an annotation is text: it has no control characters", hint="take them out, such as colors"
        )
    if _bytes(told) > TEXT_BYTES_MAX:
        raise UnfitAnnotation(
            f"an annotation has at most {TEXT_BYTES_MAX:,} bytes, this one has {_bytes(told):,}",
            hint="say where the rest is to be found",
        )
    return told


def demand(by: str, kind: str) -> None:
    """Raises UnfitAnnotation unless an annotation can have this author and this kind."""
    if not by.strip() or _bytes(by) > BY_BYTES_MAX or _CONTROL.search(by):
        raise UnfitAnnotation(f"who says it is named in 1 to {BY_BYTES_MAX} bytes", hint="--by WHO")
    if not KIND.fullmatch(kind):
        raise UnfitAnnotation(
            f"{kind!r} is no kind of annotation", hint="a short word: comment, approval, objection, incident ..."
        )


def _bytes(text: str) -> int:
    try:
        return len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise UnfitAnnotation("an annotation is UTF-8", hint="spell it in UTF-8") from None

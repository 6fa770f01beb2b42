"""The writing side of one run's splice log: bodies in, log bytes out (pure state, no I/O).

Rules kept here:
- One Splicer a run, used by one thread. What it remembers of earlier bodies only makes the log smaller: a new one that
  begins at the end of the log is always right.
- What was added since a mark can be undone.
- No body is written that would take a reader more than VISITS_MAX steps: it is stored without a base instead.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from store.core.errors import InvalidEvent
from store.splices import heads, recipe
from store.splices.difference import COPY_BYTES_MIN, Body, copies
from store.splices.heads import Head, Shelves, Standing
from store.splices.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Mark:
    """A state of a Splicer, to return to."""

    end: int
    shelves: Shelves


class Splicer:
    """Adds bodies at the end of a run's log, `end` bytes long.

    `known` are bodies of the log, oldest first, each with its shelf, that later ones may copy from.
    """

    def __init__(self, end: int = 0, known: Iterable[tuple[str, Head]] = ()) -> None:
        self._taken = end
        self._pending = bytearray()
        self._shelves: Shelves = {}
        for shelf, head in known:
            self._shelves = heads.with_head(self._shelves, shelf, head, None)

    @property
    def end(self) -> int:
        """The length of the log in bytes, with what is still to be taken."""
        return self._taken + len(self._pending)

    def add(self, body: bytes, shelf: str = "", coding: bytes = b"") -> int:
        """Adds a body; its place in the log.

        `shelf` says what kind of body it is, in any words: a body is compared only with those of its shelf. `coding`
        is how its content coding is done again (recoding.py). Raises InvalidEvent for a body over 4 GiB.
        """
        if len(body) > recipe.BODY_BYTES_MAX:
            raise InvalidEvent("a body of more than 4 GiB cannot be stored")
        place, new = self.end, Body(body)
        if len(body) < COPY_BYTES_MIN:
            self._write(Recipe(0, (), len(body), coding), body)
            return place
        spliced = self._spliced(place, new, shelf, coding)
        if spliced is None:
            self._write(Recipe(0, (), len(body), coding), body)
            self._shelves = heads.with_head(self._shelves, shelf, Head(place, new, Standing()), None)
        else:
            written, head, extended = spliced
            self._write(written, body)
            self._shelves = heads.with_head(self._shelves, shelf, head, extended)
        return place

    def begin(self, length: int) -> int:
        """Begins a body that `extend` gives in pieces, `length` bytes in all; its place. It is compared with none."""
        if length > recipe.BODY_BYTES_MAX:
            raise InvalidEvent("a body of more than 4 GiB cannot be stored")
        place = self.end
        self._pending += recipe.encode(Recipe(0, (), length))
        return place

    def extend(self, piece: bytes) -> None:
        """The next piece of a body that was begun."""
        self._pending += piece

    def take(self) -> bytes:
        """What the log has grown by since the last call."""
        taken = bytes(self._pending)
        self._taken += len(taken)
        self._pending.clear()
        return taken

    def mark(self) -> Mark:
        """The state now."""
        return Mark(self.end, self._shelves)

    def undo(self, mark: Mark) -> None:
        """Forgets what was added since `mark`; of that, what was already taken must not be kept."""
        del self._pending[max(0, mark.end - self._taken) :]
        self._taken = min(self._taken, mark.end)
        self._shelves = mark.shelves

    def _spliced(self, place: int, new: Body, shelf: str, coding: bytes) -> tuple[Recipe, Head, Head | None] | None:
        found = heads.base(self._shelves.get(shelf, ()), new)
        if found is None:
            return None
        based, prefix = found
        taken, tail = copies(new, based.body, prefix)
        standing = based.standing.above(taken) if taken else None
        if standing is None:
            return None
        shared = sum(copy.length for copy in taken)
        head = Head(place, new, standing)
        extended = based if heads.extends(shared, based) else None
        return Recipe(place - based.place, taken, tail, coding), head, extended

    def _write(self, written: Recipe, body: bytes) -> None:
        self._pending += recipe.encode(written)
        at = 0
        for copy in written.copies:
            self._pending += body[at : at + copy.literal]
            at += copy.literal + copy.length
        self._pending += body[at:] if at else body

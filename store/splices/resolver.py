"""From a place in the log to the body that is stored there, in bounded time (no I/O of its own).

Rules kept here:
- Bases are never put together: the wanted range is followed down through their copies to literal bytes, which are then
  read in order.
- Nothing that is stored is trusted: a recipe must lie in the log, a copy within its base, a base before its piece, the
  length must be the expected one, and no body takes more than VISITS_MAX steps.
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from store.core.errors import Malformed
from store.splices import recipe, recoding, varint
from store.splices.difference import Body
from store.splices.heads import DEPTH_MAX, VISITS_MAX, Head, Standing
from store.splices.recipe import Recipe

_FIRST_BYTES = 64
_RECIPES_KEPT = 1 << 16
_LITERAL = -1

type Read = Callable[[int, int], bytes]
type Range = tuple[int, int, int]  # a place, or _LITERAL for the log itself; from; to


class _Layout(msgspec.Struct, frozen=True):
    """A recipe laid out over its body: part n ends before `ends[n]`, and comes from `sources[n]`: base and offset."""

    recipe: Recipe
    length: int
    end: int
    ends: list[int]
    sources: list[tuple[int, int]]


class Piece(msgspec.Struct, frozen=True):
    """What the recipe at a place tells: the length of the body as it is stored, whether its content coding is undone
    there, and where in the log the next piece begins.
    """

    length: int
    coded: bool
    end: int


@dataclass(frozen=True, slots=True)
class Found:
    """A body as it is stored, and how its content coding is done again (empty when there is nothing to do)."""

    content: bytes
    coding: bytes


class Resolver:
    """Reads bodies of one log, `end` bytes long; `read(offset, length)` gives its bytes.

    `kept_bytes_max`: how many bytes of bodies are kept for those that copy from them; for reading them all in order.
    """

    def __init__(self, read: Read, end: int, kept_bytes_max: int = 0) -> None:
        self._read = read
        self._end = end
        self._layouts: dict[int, _Layout] = {}
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._kept_bytes = 0
        self._kept_bytes_max = kept_bytes_max

    @property
    def held_bytes(self) -> int:
        """How many bytes of bodies are kept."""
        return self._kept_bytes

    def piece(self, place: int) -> Piece:
        """What stands at `place`, before any of it is put together. Raises Malformed."""
        layout = self._layout(place)
        return Piece(layout.length, bool(layout.recipe.coding), layout.end)

    def body(self, place: int, length: int) -> bytes:
        """The body at `place`, `length` bytes long as its opening tells. Raises Malformed."""
        layout = self._layout(place)
        coding = layout.recipe.coding
        if not coding and layout.length != length:
            raise Malformed(f"a stored body has a length of {layout.length} where {length} is known")
        if coding and layout.length > recoding.content_bytes_max(length):
            raise Malformed("a stored body is too long for the coded form that is known")
        content = self._content(place, layout)
        if not coding:
            return content
        body = recoding.redo(content, coding)
        if len(body) != length:
            raise Malformed(f"a stored body has a length of {len(body)} when coded again, where {length} is known")
        return body

    def stored(self, place: int) -> Found:
        """The body at `place` with its content coding undone. Raises Malformed."""
        layout = self._layout(place)
        return Found(self._content(place, layout), layout.recipe.coding)

    def head(self, place: int) -> Head:
        """The body at `place` as one that a Splicer can copy from. Raises Malformed."""
        chain = [self._layout(place).recipe]
        base = place - chain[0].distance
        while chain[-1].distance and len(chain) <= DEPTH_MAX:
            chain.append(self._layout(base).recipe)
            base -= chain[-1].distance
        standing: Standing | None = Standing()
        for copied in reversed(chain[:-1]):
            standing = standing.above(copied.copies) if standing else None
        if standing is None:
            raise Malformed("a stored body has too many bases")
        return Head(place, Body(self.stored(place).content), standing)

    def _content(self, place: int, layout: _Layout) -> bytes:
        content = self._kept.get(place)
        if content is None:
            parts = self._parts(place, layout.length)
            content = parts[0] if len(parts) == 1 else b"".join(parts)
            self._keep(place, content)
        return content

    def _parts(self, place: int, length: int) -> list[bytes]:
        todo: list[Range] = [(place, 0, length)] if length else []
        parts: list[bytes] = []
        visits = 0
        while todo:
            source, start, stop = todo.pop()
            kept = self._kept.get(source)
            if source == _LITERAL:
                parts.append(self._read(start, stop - start))
            elif kept is not None and stop <= len(kept):
                parts.append(kept[start:stop])
            else:
                below = _below(self._layout(source), start, stop)
                visits += len(below)
                if visits > VISITS_MAX:
                    raise Malformed("a stored body is made of too many parts")
                todo += reversed(below)
        return parts

    def _keep(self, place: int, content: bytes) -> None:
        if len(content) <= self._kept_bytes_max:
            self._kept[place] = content
            self._kept_bytes += len(content)
        while self._kept_bytes > self._kept_bytes_max:
            self._kept_bytes -= len(self._kept.popitem(last=False)[1])

    def _layout(self, place: int) -> _Layout:
        layout = self._layouts.get(place)
        if layout is None:
            if len(self._layouts) >= _RECIPES_KEPT:
                self._layouts.clear()
            layout = self._layouts[place] = self._laid(place)
        return layout

    def _laid(self, place: int) -> _Layout:
        written, literals = self._recipe(place)
        if written.distance > place:
            raise Malformed("a piece of the log has its base before the log")
        ends: list[int] = []
        sources: list[tuple[int, int]] = []
        at, base = 0, place - written.distance
        for copy in written.copies:
            for source, start, length in ((_LITERAL, literals, copy.literal), (base, copy.start, copy.length)):
                if length:
                    at += length
                    ends.append(at)
                    sources.append((source, start))
            literals += copy.literal
        if written.tail:
            ends.append(at + written.tail)
            sources.append((_LITERAL, literals))
        if literals + written.tail > self._end:
            raise Malformed("a piece of the log reaches behind its end")
        return _Layout(written, at + written.tail, literals + written.tail, ends, sources)

    def _recipe(self, place: int) -> tuple[Recipe, int]:
        length = _FIRST_BYTES
        while True:
            there = min(length, self._end - place)
            try:
                written, at = recipe.decode(self._readable(place, there))
            except varint.Short:
                if there < length:
                    raise
                length *= 8
            else:
                return written, place + at

    def _readable(self, place: int, length: int) -> bytes:
        """The bytes from `place` on, up to `length`, as far as they can be read: what stands behind a recipe may be
        damaged, and is no fault of it.
        """
        try:
            return self._read(place, length)
        except Malformed:
            sound, damaged, found = 0, length, b""
            while sound + 1 < damaged:
                middle = (sound + damaged) // 2
                try:
                    found, sound = self._read(place, middle), middle
                except Malformed:
                    damaged = middle
            if not sound:
                raise
            return found


def _below(layout: _Layout, start: int, stop: int) -> list[Range]:
    """The ranges that make up bytes `start` to `stop` of a body, in order."""
    if stop > layout.length:
        raise Malformed("a copy reaches behind the end of its base")
    first = at = bisect_right(layout.ends, start)
    found = []
    begin = layout.ends[first - 1] if first else 0
    while start < stop:
        end = min(stop, layout.ends[at])
        source, offset = layout.sources[at]
        found.append((source, offset + start - begin, offset + end - begin))
        begin = layout.ends[at]
        start = end
        at += 1
    return found

"""The recipe of a piece: how a body is put together from copies of its base and from literal bytes (pure).

A piece lies in the log at its *place* (an offset in bytes) and is, byte by byte:

    head      varint   2 * distance + coded. The base is the piece that begins `distance` bytes before this one; 0: none
    coding    varint c, then c bytes; only when coded is 1: how the body's content coding is done again (recoding.py)
    copies    varint k >= 1; only with a base; then k times
                varint   literal bytes before this copy
                varint   where in the base the copy begins, less the end of the copy before it (0 before the first),
                         as a folded number: 0, -1, 1, -2 are 0, 1, 2, 3
                varint   length of the copy, >= 1
    tail      varint   literal bytes after the last copy
    literals  all the literal bytes, in the order of the body

A varint is unsigned LEB128 in its shortest form (varint.py). Distances only point back, so no chain of bases is a
cycle.
"""

import msgspec

from store.core.errors import Malformed
from store.splices import varint

BODY_BYTES_MAX = 1 << 32
CODING_BYTES_MAX = 1 << 10
_COPY_BYTES_MIN = 3  # what one copy takes in a recipe: no count may promise more copies than bytes


class Copy(msgspec.Struct, frozen=True):
    """`literal` new bytes, then `length` bytes of the base from `start` on."""

    literal: int
    start: int
    length: int


class Recipe(msgspec.Struct, frozen=True):
    """What a body is made of. `distance` is 0 without a base; then there are no copies. `coding` is empty when the body
    is stored as it is.
    """

    distance: int
    copies: tuple[Copy, ...]
    tail: int
    coding: bytes = b""

    @property
    def length(self) -> int:
        """The length of the body in bytes, as it is stored."""
        return self.tail + sum(copy.literal + copy.length for copy in self.copies)

    @property
    def literal(self) -> int:
        """How many literal bytes follow the recipe."""
        return self.tail + sum(copy.literal for copy in self.copies)


def encode(recipe: Recipe) -> bytes:
    """The bytes of a recipe, up to its literals."""
    out = bytearray()
    varint.put(out, recipe.distance << 1 | bool(recipe.coding))
    if recipe.coding:
        varint.put(out, len(recipe.coding))
        out += recipe.coding
    if recipe.distance:
        varint.put(out, len(recipe.copies))
    end = 0
    for copy in recipe.copies:
        varint.put(out, copy.literal)
        varint.put(out, varint.folded(copy.start - end))
        varint.put(out, copy.length)
        end = copy.start + copy.length
    varint.put(out, recipe.tail)
    return bytes(out)


def decode(raw: bytes, at: int = 0) -> tuple[Recipe, int]:
    """The recipe that begins at `at`, and where its literals begin.

    Raises Malformed; varint.Short when the bytes end within it.
    """
    head, at = varint.take(raw, at)
    distance, coding = head >> 1, b""
    if head & 1:
        coding, at = _coding(raw, at)
    copies: tuple[Copy, ...] = ()
    if distance:
        copies, at = _copies(raw, at)
    tail, at = varint.take(raw, at)
    recipe = Recipe(distance, copies, tail, coding)
    if recipe.length > BODY_BYTES_MAX:
        raise Malformed("malformed recipe: the body is too long")
    return recipe, at


def _coding(raw: bytes, at: int) -> tuple[bytes, int]:
    length, at = varint.take(raw, at)
    if not 1 <= length <= CODING_BYTES_MAX:
        raise Malformed("malformed recipe: a coding of no or too many bytes")
    if at + length > len(raw):
        raise varint.Short("malformed recipe: a coding does not end")
    return raw[at : at + length], at + length


def _copies(raw: bytes, at: int) -> tuple[tuple[Copy, ...], int]:
    count, at = varint.take(raw, at)
    if not count:
        raise Malformed("malformed recipe: a base without a copy")
    if count * _COPY_BYTES_MIN > len(raw) - at:
        raise varint.Short("malformed recipe: more copies than bytes")
    copies = []
    end = 0
    for _ in range(count):
        literal, at = varint.take(raw, at)
        delta, at = varint.take(raw, at)
        length, at = varint.take(raw, at)
        start = end + varint.unfolded(delta)
        if start < 0 or not length:
            raise Malformed("malformed recipe: a copy from before its base, or of nothing")
        copies.append(Copy(literal, start, length))
        end = start + length
    return tuple(copies), at

"""Finds what a body shares with an earlier one: prefix, suffix, and what moved between them (pure).

Rules kept here:
- Whole slices are compared, never single bytes: what is shared costs about what copying it in memory does.
- No knowledge of JSON or of a provider: *anchors*, places where such bodies begin something anew, only say where to
  look.
- No copy under 512 bytes: what is shorter the compressor finds by itself, for less than the recipe would cost.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from store.splices.recipe import Copy

COPY_BYTES_MIN = 512
KEY_BYTES = 64

_SLICE_BYTES = 1 << 16
_EXACT_BYTES = 256
_PROBES = (32, 128, 512)  # how far behind a changed place the old text may go on
_PROBE_BYTES = 32
_PROBE_REACH_BYTES = 4096

# Between the elements of a JSON array of objects; where a body has few of them, at line ends, raw or JSON-escaped.
_ELEMENTS = re.compile(rb"\},\s*\{")
_LINES = (b"\n", b"\\n")
_ANCHOR_REACH_BYTES = 4096
_LINES_EVERY = 4  # lines are many; what a line says decides whether it is one, so both bodies keep the same

type Keys = dict[int, int]


@dataclass(slots=True)
class Body:
    """The bytes of a body and, once asked for, its anchors."""

    content: bytes
    _keys: Keys | None = field(default=None, repr=False)

    @property
    def keys(self) -> Keys:
        """The hash of the 64 bytes at each anchor, and where that is (the first of equal ones), in order."""
        if self._keys is None:
            self._keys = _keys(self.content)
        return self._keys


def common_prefix(one: bytes, at: int, other: bytes, other_at: int, limit: int) -> int:
    """How many bytes, up to `limit`, are the same from `at` in `one` and `other_at` in `other` on."""
    same, step, growing = 0, _EXACT_BYTES, True
    while same < limit:
        step = min(step, limit - same)
        left = one[at + same : at + same + step]
        right = other[other_at + same : other_at + same + step]
        if left == right:
            same += step
            step = min(step * 4, _SLICE_BYTES) if growing else step
        elif step <= _EXACT_BYTES:
            differing = int.from_bytes(left, "little") ^ int.from_bytes(right, "little")
            return same + ((differing & -differing).bit_length() - 1) // 8
        else:
            growing, step = False, step // 4
    return same


def common_suffix(one: bytes, end: int, other: bytes, other_end: int, limit: int) -> int:
    """How many bytes, up to `limit`, are the same before `end` in `one` and before `other_end` in `other`."""
    same, step, growing = 0, _EXACT_BYTES, True
    while same < limit:
        step = min(step, limit - same)
        left = one[end - same - step : end - same]
        right = other[other_end - same - step : other_end - same]
        if left == right:
            same += step
            step = min(step * 4, _SLICE_BYTES) if growing else step
        elif step <= _EXACT_BYTES:
            differing = int.from_bytes(left, "big") ^ int.from_bytes(right, "big")
            return same + ((differing & -differing).bit_length() - 1) // 8
        else:
            growing, step = False, step // 4
    return same


def copies(new: Body, base: Body, prefix: int) -> tuple[tuple[Copy, ...], int]:
    """The copies from `base` that give `new`, in the order of `new`, and the literal bytes after the last of them.

    `prefix` is the length of their common prefix.
    """
    ends = len(new.content), len(base.content)
    suffix = common_suffix(new.content, ends[0], base.content, ends[1], min(ends) - prefix)
    search = _Search(new, base, until=ends[0] - suffix, base_until=ends[1] - suffix)
    search.copy(0, 0, prefix)
    search.nearby()
    search.anchored()
    search.copy(search.until, search.base_until, suffix)
    return tuple(search.found), ends[0] - search.done


@dataclass(slots=True)
class _Search:
    """Goes once through `new` from `done` to `until`; `base_done` is where the last copy ended in the base."""

    new: Body
    base: Body
    until: int
    base_until: int
    done: int = 0
    base_done: int = 0
    found: list[Copy] = field(default_factory=list)

    def copy(self, at: int, start: int, length: int) -> bool:
        """Takes a copy, unless it is too short."""
        if length < COPY_BYTES_MIN:
            return False
        self.found.append(Copy(at - self.done, start, length))
        self.done, self.base_done = at + length, start + length
        return True

    def nearby(self) -> None:
        """Goes on behind changed places (a clock, a counter) as long as the old text goes on shortly behind them."""
        while self._worth() and any(self._probe(probe) for probe in _PROBES):
            pass

    def anchored(self) -> None:
        """Looks up the anchors that are left."""
        if not self._worth():
            return
        content, keys = self.new.content, self.base.keys
        for at in self.new.keys.values():
            if self.done <= at < self.until:
                start = keys.get(hash(content[at : at + KEY_BYTES]))
                if start is not None:
                    self._extend(at, start)

    def _worth(self) -> bool:
        return min(self.until - self.done, self.base_until - self.base_done) >= COPY_BYTES_MIN

    def _probe(self, probe: int) -> bool:
        at = self.done + probe
        wanted = self.new.content[at : at + _PROBE_BYTES]
        if at + _PROBE_BYTES > self.until:
            return False
        start = self.base.content.find(wanted, self.base_done, self.base_done + probe + _PROBE_REACH_BYTES)
        return start >= 0 and self._extend(at, start)

    def _extend(self, at: int, start: int) -> bool:
        new, base = self.new.content, self.base.content
        # What goes before, and what goes behind, is copied already.
        before = self.base_done if start >= self.base_done else 0
        behind = self.base_until if start < self.base_until else len(base)
        back = common_suffix(new, at, base, start, min(at - self.done, start - before))
        on = common_prefix(new, at, base, start, min(self.until - at, behind - start))
        return self.copy(at - back, start - back, back + on)


def _keys(content: bytes) -> Keys:
    limit = max(0, len(content) - KEY_BYTES)
    keys = _keys_at((found.start() for found in _ELEMENTS.finditer(content, 0, limit)), content, 1)
    if len(keys) * _ANCHOR_REACH_BYTES >= len(content):
        return keys
    return _keys_at(_line_ends(content, limit), content, _LINES_EVERY)


def _line_ends(content: bytes, limit: int) -> list[int]:
    # Looked for one kind after the other, which is three times as fast as an expression that knows both.
    found: list[int] = []
    for end in _LINES:
        first = len(found)
        at = content.find(end, 0, limit)
        while at >= 0:
            found.append(at)
            at = content.find(end, at + 1, limit)
        if 0 < first < len(found):
            found.sort()
    return found


def _keys_at(anchors: Iterable[int], content: bytes, every: int) -> Keys:
    keys: Keys = {}
    for at in anchors:
        key = hash(content[at : at + KEY_BYTES])
        if not key % every:
            keys.setdefault(key, at)
    return keys

"""The head list: the bodies of a run that a new body may go on from, and which of them it does (pure).

Rules kept here:
- Heads are the last 32 bodies of a shelf that no later body extends: a new body that shares most of its base takes its
  place. So interleaved conversations find their own last request, without labels.
- A shelf only keeps answers from pushing requests out; it is never stored, and any name is right.
- Lists are tuples, replaced and never changed: to remember a state is to keep a reference.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from store.splices.difference import COPY_BYTES_MIN, Body, common_prefix
from store.splices.recipe import Copy

HEADS_MAX = 32
HEADS_BYTES_MAX = 32 << 20  # of one shelf
SHELVES_MAX = 16
VISITS_MAX = 1 << 20
DEPTH_MAX = 1 << 12

_NEAR_BYTES = 64
_ALIKE_BYTES_MIN = 4096  # what is shorter costs less to store than to look for
_GOES_ON_PERCENT = 90
_EXTENDS_PERCENT = 60


@dataclass(frozen=True, slots=True)
class Standing:
    """What reading a body can take at most: how many bases stand behind it, and how many copies and literal parts, of
    it and of them, are met on the way.
    """

    depth: int = 1
    visits: int = 1

    def above(self, copies: tuple[Copy, ...]) -> "Standing | None":
        """That of a body made of `copies` from this one; None when it would be too much to read."""
        # What is copied n times is met n times; and each copy cuts the base, and every base below it, once more.
        visits = _times(copies) * self.visits + len(copies) * self.depth + 2 * len(copies) + 1
        return Standing(self.depth + 1, visits) if self.depth < DEPTH_MAX and visits <= VISITS_MAX else None


@dataclass(frozen=True, slots=True)
class Head:
    """A stored body that later ones may copy from, and its place in the log."""

    place: int
    body: Body
    standing: Standing


type Shelves = Mapping[str, tuple[Head, ...]]


def base(heads: tuple[Head, ...], new: Body) -> tuple[Head, int] | None:
    """The head that `new` most likely goes on from, and the length of their common prefix; None without one."""
    best, prefix = _longest(heads, new.content)
    if best is not None and prefix * 2 >= min(len(new.content), len(best.body.content)):
        return best, prefix
    alike = _most_alike(heads, new) if len(new.content) >= _ALIKE_BYTES_MIN else None
    if alike is not None:
        return alike, _prefix(alike, new.content)
    return (best, prefix) if best is not None and prefix >= COPY_BYTES_MIN else None


def with_head(shelves: Shelves, shelf: str, head: Head, extended: Head | None) -> Shelves:
    """The same shelves with `head` as the newest of `shelf`, in the place of the one that it extends.

    One that is longer than a whole shelf is not kept: conversations are not, and it would stay in memory.
    """
    if len(head.body.content) > HEADS_BYTES_MAX:
        return shelves
    heads = [other for other in shelves.get(shelf, ()) if other is not extended]
    heads.append(head)
    total = sum([len(each.body.content) for each in heads])
    while len(heads) > HEADS_MAX or (total > HEADS_BYTES_MAX and len(heads) > 1):
        total -= len(heads.pop(0).body.content)
    others = {name: kept for name, kept in shelves.items() if name != shelf}
    while len(others) >= SHELVES_MAX:
        del others[next(iter(others))]
    return {**others, shelf: tuple(heads)}


def extends(shared_bytes: int, head: Head) -> bool:
    """Whether a body that shares so much with `head` takes its place."""
    return shared_bytes * 100 >= len(head.body.content) * _EXTENDS_PERCENT


def _longest(heads: tuple[Head, ...], content: bytes) -> tuple[Head | None, int]:
    best: Head | None = None
    longest = 0
    # One must agree where the best one so far ends, which the last bytes before that show at once.
    near = slice(0, 1)
    wanted = content[near]
    for head in reversed(heads):
        other = head.body.content
        if other[near] != wanted:
            continue
        prefix = _prefix(head, content)
        if prefix > longest:
            best, longest = head, prefix
            near = slice(max(0, longest - _NEAR_BYTES), longest + 1)
            wanted = content[near]
        if longest * 100 >= len(other) * _GOES_ON_PERCENT:
            break
    return best, longest


def _prefix(head: Head, content: bytes) -> int:
    other = head.body.content
    return common_prefix(content, 0, other, 0, min(len(content), len(other)))


def _times(copies: tuple[Copy, ...]) -> int:
    """How many of the copies have one byte of the base in common, at most."""
    edges = sorted([(copy.start + copy.length, -1) for copy in copies] + [(copy.start, 1) for copy in copies])
    times = most = 0
    for _, step in edges:
        times += step
        most = max(most, times)
    return most


def _most_alike(heads: tuple[Head, ...], new: Body) -> Head | None:
    best: Head | None = None
    most = 0
    anchors = new.keys.keys()
    for head in reversed(heads if anchors else ()):
        common = len(anchors & head.body.keys.keys())
        if common > most:
            best, most = head, common
    return best

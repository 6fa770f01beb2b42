"""How two values differ: each place named by a JSON Pointer (RFC 6901), with what stands there on either side.

Rules kept here:
- The smallest difference is named: the member of the member, the item of the list.
- What stands alike at the beginning and the end of two lists is taken as the same items, so that one insertion is one
  difference and not a shift of all that follows.
- JSON inside a string has a pointer of its own, below the string's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import zip_longest

from store.core.jsontext import Inner, Node, Repeated, shown

FOLDED_CHARS_MAX = 160


class Absent(Enum):
    """What stands where one side has nothing."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT
type Side = Node | Absent


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two values differ. `inside` is a pointer within the JSON that the string at `pointer` holds."""

    pointer: str
    recorded: Side
    live: Side
    inside: str = ""


def differences(recorded: Node, live: Node) -> Iterator[Difference]:
    """Every smallest difference, in the order of the recorded value; what only the live one has comes after."""
    yield from _differences(recorded, live, "")


def distance(recorded: Node, live: Node) -> float:
    """How unlike two values are in structure: 0 for equal, 1 for nothing in common.

    A leaf that only one side has counts whole; one that both have with other content counts half. So two requests
    with the same members are at most 0.5 apart.
    """
    if recorded == live:
        return 0.0
    apart = 0.0
    for found in differences(recorded, live):
        sizes = [leaves(side) for side in (found.recorded, found.live) if not isinstance(side, Absent)]
        apart += sizes[0] if len(sizes) == 1 else max(sizes) / 2
    return min(1.0, apart / max(leaves(recorded), leaves(live), 1))


def leaves(node: Node) -> int:
    """How many values stand at the ends of `node`'s branches; an empty object or list is one."""
    match node:
        case dict() if node:
            return sum(leaves(member) for member in node.values())
        case list() if node:
            return sum(leaves(item) for item in node)
        case Inner(value):
            return leaves(value)
    return 1


def folded(recorded: Side, live: Side, chars_max: int = FOLDED_CHARS_MAX) -> tuple[str, str]:
    """Both sides as short texts that show where they part; a long one is cut around that place, "…" for the rest."""
    left, right = _plain(recorded), _plain(live)
    same = 0
    if not (isinstance(recorded, Absent) or isinstance(live, Absent)):
        same = next((at for at, (a, b) in enumerate(zip_longest(left, right)) if a != b), 0)
    return _cut(left, same, chars_max), _cut(right, same, chars_max)


def escaped(name: str) -> str:
    """One reference token of a JSON Pointer (RFC 6901, section 3)."""
    return name.replace("~", "~0").replace("/", "~1")


def _differences(recorded: Node, live: Node, pointer: str) -> Iterator[Difference]:
    if recorded == live:
        return
    match recorded, live:
        case dict(), dict():
            for name, member in recorded.items():
                place = f"{pointer}/{escaped(name)}"
                if name in live:
                    yield from _differences(member, live[name], place)
                else:
                    yield Difference(place, member, ABSENT)
            for name, member in live.items():
                if name not in recorded:
                    yield Difference(f"{pointer}/{escaped(name)}", ABSENT, member)
        case list(), list():
            yield from _list_differences(recorded, live, pointer)
        case Inner(was), Inner(became):
            for found in _differences(was, became, ""):
                yield Difference(pointer, found.recorded, found.live, found.pointer + found.inside)
        case Repeated(), Repeated():
            yield Difference(pointer, recorded, live)
        case _:
            yield Difference(pointer, recorded, live)


def _list_differences(recorded: list[Node], live: list[Node], pointer: str) -> Iterator[Difference]:
    shorter = min(len(recorded), len(live))
    start = 0
    while start < shorter and recorded[start] == live[start]:
        start += 1
    end = 0
    while end < shorter - start and recorded[-1 - end] == live[-1 - end]:
        end += 1
    was, became = recorded[start : len(recorded) - end], live[start : len(live) - end]
    for at, pair in enumerate(zip_longest(was, became, fillvalue=ABSENT), start):
        match pair:
            case (Absent(), _) | (_, Absent()):
                yield Difference(f"{pointer}/{at}", *pair)
            case (left, right):
                yield from _differences(left, right, f"{pointer}/{at}")


def _plain(side: Side) -> str:
    return "(absent)" if isinstance(side, Absent) else shown(side)


def _cut(text: str, same: int, chars_max: int) -> str:
    """About `chars_max` characters of `text`, a third of them before the place where it parts from the other."""
    if len(text) <= chars_max:
        return text
    start = max(0, min(same - chars_max // 3, len(text) - chars_max))
    stop = start + chars_max
    before = "…" if start else ""
    after = f"… ({len(text)} characters)" if stop < len(text) else ""
    return before + text[start:stop] + after

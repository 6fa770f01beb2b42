"""Numbers that come one by one or piece by piece, kept as the few ranges that they make up."""

from bisect import bisect_right
from operator import itemgetter

_start = itemgetter(0)


class Ranges:
    """A set of integers; one that is filled in order takes no room."""

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []

    def add(self, start: int, end: int) -> bool:
        """Adds the numbers from `start` to before `end`; False, and nothing, where one of them is there already."""
        ranges = self._ranges
        if ranges and ranges[-1][1] == start:
            ranges[-1] = (ranges[-1][0], end)
            return True
        at = bisect_right(ranges, start, key=_start)
        if (at and ranges[at - 1][1] > start) or (at < len(ranges) and ranges[at][0] < end):
            return False
        if at and ranges[at - 1][1] == start:
            at -= 1
            start, _ = ranges.pop(at)
        if at < len(ranges) and ranges[at][0] == end:
            _, end = ranges.pop(at)
        ranges.insert(at, (start, end))
        return True

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._ranges, number, key=_start)
        return at > 0 and number < self._ranges[at - 1][1]

    def is_all(self, end: int) -> bool:
        """Whether these are all the numbers from 0 to before `end`, and no others."""
        return self._ranges == ([(0, end)] if end else [])

"""Records of many blocks in the order of their seqs, though blocks overlap, as only damaged ones do (pure)."""

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Protocol


class Numbered(Protocol):
    """A record of an event."""

    @property
    def seq(self) -> int:
        """The seq of the event."""


def ordered[R: Numbered](blocks: Iterable[tuple[int, Iterable[R]]]) -> Iterator[R]:
    """The records of blocks that come in the order of their first seqs; no record stands before its block's."""
    waiting: list[R] = []
    for first, records in blocks:
        yield from (record for record in waiting if record.seq < first)
        waiting = sorted([*(record for record in waiting if record.seq >= first), *records], key=attrgetter("seq"))
    yield from waiting

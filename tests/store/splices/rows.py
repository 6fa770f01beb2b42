"""A table of blocks as a store keeps it, held in memory, and conversations that grow as agents make them grow."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from store.splices.blocklog import BlockLog
from store.splices.guard import Cipher, Guard
from store.splices.livelog import Change
from store.splices.resolver import Resolver
from store.splices.stream import Block, Span

GUARD = Cipher(bytes(32), "store", "run", lambda: os.urandom(12))


@dataclass
class Rows:
    """The rows of one run."""

    guard: Guard = GUARD
    stored: dict[int, tuple[Span, bytes]] = field(default_factory=dict)
    fetched: list[int] = field(default_factory=list)

    def apply(self, change: Change) -> None:
        """What a transaction does; a number that is there already is refused, as a primary key does."""
        for number in change.gone:
            del self.stored[number]
        for block in change.blocks:
            assert block.span.number not in self.stored
            self.stored[block.span.number] = block.span, block.stored

    def add(self, blocks: Iterable[Block]) -> None:
        """Stores blocks that nothing guards yet."""
        for block in blocks:
            self.stored[block.span.number] = block.span, self.guard.close(block)

    def log(self) -> BlockLog:
        """The log, opened anew."""
        return BlockLog([self.stored[number][0] for number in sorted(self.stored)], self._fetch, self.guard)

    def resolver(self, kept_bytes_max: int = 0) -> Resolver:
        """A resolver that has read nothing yet."""
        log = self.log()
        return Resolver(log.read, log.end, kept_bytes_max)

    @property
    def stored_bytes(self) -> int:
        """What the rows hold."""
        return sum(len(stored) for _, stored in self.stored.values())

    def _fetch(self, first: int, last: int) -> Sequence[bytes]:
        numbers = [number for number in sorted(self.stored) if first <= number <= last]
        self.fetched += numbers
        return [self.stored[number][1] for number in numbers]


def request(messages: Sequence[str], system: str = "Be brief.") -> bytes:
    """The body of a chat request, as clients spell it."""
    turns = [{"role": "user" if n % 2 == 0 else "assistant", "content": text} for n, text in enumerate(messages)]
    tools = [{"name": f"tool_{n}", "description": "Looks something up, by name. " * 4} for n in range(8)]
    return json.dumps(
        {"model": "m", "system": system, "messages": turns, "tools": tools}, separators=(",", ":")
    ).encode()


def sentence(seed: int, words: int) -> str:
    """Text that does not compress to nothing, and is always the same."""
    state, text = seed * 2654435761 + 1, []
    for _ in range(words):
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        text.append(f"{state >> 40:x}")
    return " ".join(text)


_pieces = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([sentence(n, 120).encode() for n in range(6)]),
    st.sampled_from([b"},{" * 30, b"\n".join(sentence(n, 9).encode() for n in range(40)), b"\0" * 3000]),
)

bodies = st.lists(st.lists(_pieces, max_size=8).map(b"".join), max_size=12)

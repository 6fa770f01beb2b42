"""What a transaction has read of the runs that it writes: asked for again within it, it is not read again.

Rules kept here:
- Nothing is remembered from one transaction to the next: in between anybody may write.
- What is undone is forgotten, with all that was read.
"""

from dataclasses import dataclass, field

from store.vault import RunKeys


@dataclass(frozen=True, slots=True)
class Head:
    """The last event of a run."""

    seq: int
    hash: bytes
    type: str
    mono_us: int


@dataclass(slots=True)
class Recall:
    """By run: its last event, and its keys; and the number of the next piece of each part of a stream."""

    heads: dict[str, Head] = field(default_factory=dict)
    keys: dict[str, RunKeys] = field(default_factory=dict)
    pieces: dict[tuple[str, int, str], int] = field(default_factory=dict)

    def forget(self) -> None:
        """A transaction has ended, or a part of it was undone."""
        self.heads.clear()
        self.keys.clear()
        self.pieces.clear()

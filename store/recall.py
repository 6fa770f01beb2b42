"""What transactions have read of the runs that they write: asked for again, it is not read again.

Rules kept here:
- Within a transaction nobody else writes. From one to the next it is kept only where the database says, inside the
  next one, that nobody else has committed since, and where this writer itself has only appended.
- What is undone is forgotten, with all that was read.
"""

from dataclasses import dataclass, field

import msgspec

from store.vault import RunKeys


class Head(msgspec.Struct, frozen=True):
    """The last event of a run."""

    seq: int
    hash: bytes
    type: str
    mono_us: int


@dataclass(slots=True)
class Recall:
    """By run: its last event, and its keys; the runs whose logs are known to end where this writer's do; and the number
    of the next piece of each part of a stream. `state` is what the database said when the transaction began.
    """

    heads: dict[str, Head] = field(default_factory=dict)
    keys: dict[str, RunKeys] = field(default_factory=dict)
    ends: set[str] = field(default_factory=set)
    pieces: dict[tuple[str, int, str], int] = field(default_factory=dict)
    state: int | None = None

    def begin(self, state: int | None) -> None:
        """A transaction has begun, and the database is in that state; None where it cannot tell."""
        if state is None or state != self.state:
            self.forget()
        self.state = state

    def forget(self) -> None:
        """A transaction has ended that did more than append, or a part of one was undone."""
        self.heads.clear()
        self.keys.clear()
        self.ends.clear()
        self.pieces.clear()

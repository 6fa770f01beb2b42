"""When a checkpoint is due while a store is written (docs/format.md, section 6).

Rules kept here:
- Nothing that was committed waits longer than ACTIVE_S for a signature, nor do more than LEAVES_MAX leaves.
- A recorder that writes nothing looks every IDLE_S whether somebody left something unsigned.
- An attempt that failed is made again after ACTIVE_S, not at once.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

ACTIVE_S = 60.0
IDLE_S = 15 * 60.0
LEAVES_MAX = 1000

type Clock = Callable[[], float]


@dataclass(slots=True)
class Cadence:
    """Counts time and leaves since the last checkpoint; `clock` gives seconds and never runs backwards."""

    clock: Clock = time.monotonic
    active_s: float = ACTIVE_S
    idle_s: float = IDLE_S
    leaves_max: int = LEAVES_MAX
    _looked: float | None = None
    _grown: float | None = None
    _leaves: int = 0

    def leaf(self) -> None:
        """A leaf is about to be committed."""
        self._leaves += 1

    def committed(self) -> None:
        """Something was committed."""
        if self._grown is None:
            self._grown = self.clock()

    def begun(self) -> None:
        """A checkpoint that was due is being made; it may fail."""
        self._looked = self.clock()
        self._leaves = 0
        if self._grown is not None:
            self._grown = self._looked

    def sealed(self) -> None:
        """A checkpoint over everything that we know of is there."""
        self.begun()
        self._grown = None

    def wait_s(self) -> float:
        """How many seconds from now the next checkpoint is due; 0 when it is."""
        now = self.clock()
        if self._looked is None:
            self._looked = now
        if self._leaves >= self.leaves_max:
            return 0.0
        due = self._looked + self.idle_s
        if self._grown is not None:
            due = min(due, self._grown + self.active_s)
        return max(0.0, due - now)

"""The course of a replay whose misses go live: what nothing recorded answers is asked of the real server, if it may.

Rules kept here:
- What the recording answers is answered from it, always.
- Once something went live, what differs from the recording is no drift: the recording cannot hold what follows from an
  answer that it does not have.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from replay_server.match import Match, Tier
from replay_server.registry import Deed, Registry
from replay_server.ventures.choice import Choice, Venture, done_before, let_out
from store.core.model import Mode

_MISSES = (Tier.EXHAUSTED, Tier.UNEXPECTED)


@dataclass(slots=True)
class Misses(Venture):
    """One replay. `is_done` says which recorded requests had a good outcome; `repeats` gives last answers again."""

    registry: Registry
    is_done: Callable[[int], bool]
    repeats: bool = False
    went_live: bool = False
    mode: ClassVar[Mode] = "fork"

    @property
    def has_left(self) -> bool:
        """Whether something went live."""
        return self.went_live

    def choose(self, match: Match, deed: Deed) -> Choice:
        """Decides one request, in the order in which they come."""
        if self.repeats and match.again:
            return Choice("replay")
        return self._missed(match.tier, deed, done=done_before(match, self.is_done))

    def choose_message(self, tier: Tier, deed: Deed, *, done: bool) -> Choice:
        """Decides a request to a tool server on stdin and stdout."""
        return self._missed(tier, deed, done=done)

    def _missed(self, tier: Tier, deed: Deed, *, done: bool) -> Choice:
        if tier not in _MISSES and not (self.went_live and tier is Tier.DRIFTED):
            return Choice("replay")
        choice = let_out(self.registry, tier, deed, done=done)
        self.went_live = self.went_live or choice.course == "live"
        return choice

"""What a live mode decides of a request, and what all of them have in common. Pure.

Rules kept here:
- What is let out is let out by the registry alone; a mode only says when it is asked.
- A child run is answered from the recorded child, unless the mode was told that children are live.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from replay_server.match import Match, Tier
from replay_server.registry import Deed, Registry, Ruling
from store.core.form import Asked, Endpoint
from store.core.model import Mode

type Course = Literal["replay", "inject", "live", "refuse", "leave"]
type Children = Literal["recorded", "live"]

EQUAL = (Tier.SAME, Tier.MAPPED)
_CHILD = "a child run is answered from the recording; --children live lets it go on"


@dataclass(frozen=True, slots=True)
class Choice:
    """What becomes of a request; `why` is a sentence where it is refused, or not let out though a rule is about it.

    `leave`: it is not in the recording, and the mode ends there.
    """

    course: Course
    ruling: Ruling | None = None
    why: str = ""


class Venture:
    """One live mode of one session. `mode` is that of the run it writes; `adds_keys` whether an effect that leaves gets
    an Idempotency-Key; `ends_on_miss` whether a request that nothing recorded answers ends it.
    """

    __slots__ = ()

    mode: ClassVar[Mode]
    adds_keys: ClassVar[bool] = True
    ends_on_miss: ClassVar[bool] = False
    registry: Registry

    @property
    def has_left(self) -> bool:
        """Whether the agent has left the recording for good: then nothing of it is missing or out of order."""
        return True

    def choose(self, match: Match, deed: Deed) -> Choice:
        """Decides one request, in the order in which they come."""
        raise NotImplementedError

    def reach(self) -> None:
        """A fork's step was reached where no request tells so."""

    def choose_message(self, tier: Tier, deed: Deed, *, done: bool) -> Choice:
        """Decides a request to a tool server on stdin and stdout; `done` says that it had a good outcome."""
        return Choice("replay")

    def choose_for_child(self, match: Match) -> Choice:
        """Decides one of a child run that is answered from the recording."""
        if not self.has_left or match.tier is Tier.OPTIONAL or match.tier in EQUAL:
            return Choice("replay")
        return Choice("leave" if self.ends_on_miss else "refuse", why=_CHILD)

    def dials(self, host: str, port: int) -> bool:
        """Whether a connection to there is to be had even if the recorded one failed."""
        return self.has_left

    def injects_at(self, index: int) -> bool:
        """Whether a recorded exchange is answered otherwise."""
        return False

    def changed(self, asked: Asked) -> Asked:
        """A request as it leaves."""
        return asked

    def target(self, place: Endpoint) -> Endpoint | None:
        """Where a request is sent instead of where it is for; None: there."""
        return None


def let_out(registry: Registry, tier: Tier, deed: Deed, *, done: bool, may_serve: bool = True) -> Choice:
    """Live where the registry lets it, else the answer to an equal request if it `may_serve`, else nothing.

    An effect that the recording is `done` with is not done again, unless a rule says `repeat=yes`.
    """
    ruling = registry.rule(deed)
    why = ruling.why
    if ruling.is_live:
        if not done or ruling.effect == "read" or ruling.is_repeat:
            return Choice("live", ruling)
        why = "the recording has done it already, and no rule with repeat=yes names it"
    if may_serve and tier in EQUAL:
        return Choice("replay", ruling)
    return Choice("refuse", ruling, why)


def done_before(match: Match, is_done: Callable[[int], bool]) -> bool:
    """Whether what is asked for had a good outcome in the recording."""
    return match.index is not None and match.tier in (*EQUAL, Tier.EXHAUSTED) and is_done(match.index)

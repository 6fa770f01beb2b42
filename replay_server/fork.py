"""The course of a fork: recorded before its step, another answer at it, then live where the registry allows. Pure.

Rules kept here:
- Nothing goes live before the agent has asked for the fork's step.
- After it, what the registry lets out goes live; the rest is answered by the recorded answer to an equal request, and
  refused where there is none: an answer to another request would be a wrong one.
- An effect that the recording has done already is not done again, unless a rule says `repeat=yes`.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from replay_server.injection import Injection
from replay_server.match import Match, Tier
from replay_server.registry import Deed, Registry, Ruling

type Course = Literal["replay", "inject", "live", "refuse"]

KEY_HEX_DIGITS = 32
_EQUAL = (Tier.SAME, Tier.MAPPED)


@dataclass(frozen=True, slots=True)
class Choice:
    """What becomes of a request; `why` is a sentence where it is refused, or not let out though a rule is about it."""

    course: Course
    ruling: Ruling | None = None
    why: str = ""


@dataclass(slots=True)
class Fork:
    """One fork. `at` is its exchange, by its place among the recorded ones; `is_done` says which had a good outcome."""

    at: int
    registry: Registry
    injection: Injection
    is_done: Callable[[int], bool]
    is_step_live: bool = False
    has_forked: bool = False

    def choose(self, match: Match, deed: Deed) -> Choice:
        """Decides one request, in the order in which they come."""
        if not self.has_forked:
            if match.index != self.at or match.tier not in _EQUAL:
                return Choice("replay")
            self.has_forked = True
            if not self.is_step_live:
                return Choice("inject")
            return self._out(match, deed, may_serve=False)
        is_before = match.tier in _EQUAL and match.index is not None and match.index < self.at
        if match.tier is Tier.OPTIONAL or is_before:
            return Choice("replay")
        return self._out(match, deed, may_serve=True)

    def _out(self, match: Match, deed: Deed, *, may_serve: bool) -> Choice:
        ruling = self.registry.rule(deed)
        why = ruling.why
        if ruling.is_live:
            if not self._repeats(match, ruling):
                return Choice("live", ruling)
            why = "the recording has done it already, and no rule with repeat=yes names it"
        if may_serve and match.tier in _EQUAL:
            return Choice("replay", ruling)
        return Choice("refuse", ruling, why)

    def _repeats(self, match: Match, ruling: Ruling) -> bool:
        if ruling.effect == "read" or ruling.is_repeat or match.index is None:
            return False
        return match.tier in (*_EQUAL, Tier.EXHAUSTED) and self.is_done(match.index)


def idempotency_key(run: str, step: int, body: bytes) -> str:
    """The Idempotency-Key of an effect: the same for the same fork of `run` made again, so that it is done once."""
    return "edgetape-" + hashlib.sha256(f"{run}\n{step}\n".encode() + body).hexdigest()[:KEY_HEX_DIGITS]

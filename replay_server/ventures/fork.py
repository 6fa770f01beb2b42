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
from typing import ClassVar

from replay_server.injection import Injection
from replay_server.match import Match, Tier
from replay_server.registry import Deed, Registry
from replay_server.ventures.choice import EQUAL, Choice, Venture, done_before, let_out
from store.core.model import Mode

KEY_HEX_DIGITS = 32


@dataclass(slots=True)
class Fork(Venture):
    """One fork. `at` is its exchange, by its place among the recorded ones; `is_done` says which had a good outcome.

    `in_socket`: it says something else on the WebSocket that the step opens, and nothing at its opening.
    """

    at: int
    registry: Registry
    injection: Injection
    is_done: Callable[[int], bool]
    is_step_live: bool = False
    has_forked: bool = False
    in_socket: bool = False
    mode: ClassVar[Mode] = "fork"

    @property
    def has_left(self) -> bool:
        """Whether its step was asked for."""
        return self.has_forked

    def injects_at(self, index: int) -> bool:
        """Whether a recorded exchange is the one that is answered otherwise."""
        return index == self.at and not self.is_step_live and not self.in_socket

    def reach(self) -> None:
        """What it says on its socket was said."""
        self.has_forked = True

    def choose(self, match: Match, deed: Deed) -> Choice:
        """Decides one request, in the order in which they come."""
        if not self.has_forked:
            if match.index != self.at or match.tier not in EQUAL or self.in_socket:
                return Choice("replay")
            self.has_forked = True
            if not self.is_step_live:
                return Choice("inject")
            return let_out(self.registry, match.tier, deed, done=done_before(match, self.is_done), may_serve=False)
        is_before = match.tier in EQUAL and match.index is not None and match.index < self.at
        if match.tier is Tier.OPTIONAL or is_before:
            return Choice("replay")
        return let_out(self.registry, match.tier, deed, done=done_before(match, self.is_done))

    def choose_message(self, tier: Tier, deed: Deed, *, done: bool) -> Choice:
        """Decides a request to a tool server on stdin and stdout."""
        return let_out(self.registry, tier, deed, done=done) if self.has_forked else Choice("replay")


def idempotency_key(run: str, step: int, body: bytes) -> str:
    """The Idempotency-Key of an effect: the same for the same fork of `run` made again, so that it is done once."""
    return "edgetape-" + hashlib.sha256(f"{run}\n{step}\n".encode() + body).hexdigest()[:KEY_HEX_DIGITS]

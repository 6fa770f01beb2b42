"""What each mode does about each tier, and the exit code that its findings amount to."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from replay_server.match import Tier
from store.core.errors import EdgetapeError

type OnDrift = Literal["stop", "serve"]
type OnMiss = Literal["fail", "live", "record"]
type Act = Literal["serve", "refuse", "stop"]


class NotAllowed(EdgetapeError):
    """A choice of modes that cannot be had, or not here."""


class Exit(IntEnum):
    """Exit codes of a replay that is not clean, and of one that we failed at."""

    DRIFTED = 40
    UNEXPECTED = 41
    NEVER_REQUESTED = 42
    REFUSED = 43
    FAILED = 125


@dataclass(frozen=True, slots=True)
class Policy:
    """What to do when a request is not the recorded one."""

    on_drift: OnDrift = "stop"
    on_miss: OnMiss = "fail"
    repeat_last: bool = False
    no_wait: bool = False

    def check(self, *, ci: bool, goes_live: bool = False) -> None:
        """Raises NotAllowed for a policy that would let something out where nothing may."""
        if self.on_miss == "fail":
            return
        if ci:
            raise NotAllowed(f"--on-miss {self.on_miss} is not allowed where CI is set", hint="take --on-miss fail")
        if not goes_live:
            raise NotAllowed(f"--on-miss {self.on_miss} goes live, and there is no way out", hint="take --on-miss fail")

    def act(self, tier: Tier) -> Act:
        """Serve from the recording, refuse this request, or end the replay."""
        match tier:
            case Tier.OPTIONAL | Tier.SAME | Tier.MAPPED:
                return "serve"
            case Tier.DRIFTED:
                return self.on_drift
            case Tier.EXHAUSTED | Tier.UNEXPECTED:
                return "refuse"


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast streams are served: `speed` times the recorded pace, at once when infinite."""

    speed: float = math.inf

    @classmethod
    def parse(cls, text: str) -> "Pace":
        """`instant`, `recorded`, or a factor such as 2 or 0.5. Raises NotAllowed."""
        if text in ("instant", "recorded"):
            return cls(math.inf if text == "instant" else 1.0)
        try:
            speed = float(text.removesuffix("x"))
        except ValueError:
            speed = 0.0
        if not speed > 0:
            raise NotAllowed(
                f"no pace: {text!r}", hint="say instant, recorded, or a factor: 2 is twice as fast as recorded"
            )
        return cls(speed)

    def wait_s(self, recorded_us: int) -> float:
        """How long to wait before a piece that came after `recorded_us` microseconds."""
        return recorded_us / 1e6 / self.speed


def is_ci(environment: Mapping[str, str]) -> bool:
    """Whether this runs in continuous integration, as these say by the variable CI."""
    return environment.get("CI", "").lower() in ("1", "true")


def exit_code(counts: Mapping[str, int], agent: int | None) -> int:
    """The agent's own code when the replay is clean; else the gravest finding's.

    A replay that we could not carry out (a failure of ours, a recorded answer that is gone) is 125; then refused over
    missed over drifted over never requested.
    """
    if counts["failed"] or counts["unserved"]:
        return Exit.FAILED
    if counts["refused"]:
        return Exit.REFUSED
    if counts["unexpected"] or counts["exhausted"]:
        return Exit.UNEXPECTED
    if counts["drifted"] or counts["reordered"]:
        return Exit.DRIFTED
    if counts["never_requested"]:
        return Exit.NEVER_REQUESTED
    return agent or 0

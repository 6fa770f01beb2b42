"""Whether a recorded exchange was asked for too early, by the order that a replay is to keep."""

from dataclasses import dataclass

from replay_server.dependence import Dependences
from replay_server.match import Matcher
from replay_server.order import Order


@dataclass(frozen=True, slots=True)
class Turns:
    """Of one replay."""

    order: Order
    matcher: Matcher
    dependences: Dependences

    def missing(self, index: int) -> int | None:
        """The exchange that should have been asked for before `index`, None where the order is kept."""
        matcher = self.matcher
        match self.order:
            case "any":
                return None
            case "strict":
                first = matcher.first_waiting
                return first if first is not None and first < index else None
            case "causal":
                passed = matcher.passed_over(index)
                return self.dependences.missing(index, passed, matcher.given, matcher.served)

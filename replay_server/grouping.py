"""Which recorded exchanges could answer for one another, and which of them may come or not."""

from collections.abc import Iterator
from dataclasses import dataclass

from replay_server.labels import TELEMETRY, kind
from replay_server.match import Group
from replay_server.normalise import Normal
from replay_server.tape import Tape
from store.core.form import Asked, Endpoint


@dataclass(frozen=True, slots=True)
class Groups:
    """Of one tape: `each` has the group of every exchange."""

    telemetry: frozenset[Endpoint]
    each: tuple[Group, ...]

    @classmethod
    def of(cls, tape: Tape) -> "Groups":
        """Few rules name few places, so few requests are read for it."""
        telemetry = frozenset(_telemetry(tape))
        allowing = {place: any(tape.rules.allowing(place)) for place in set(tape.places)}
        found: list[Group] = []
        for index, (asked, place) in enumerate(zip(tape.places, tape.endpoints, strict=True)):
            optional = tape.normal(index).optional if allowing[asked] else ""
            found.append((place, TELEMETRY if place in telemetry else optional, tape.run_of(index)))
        tape.used.update(rule for _, rule, _ in found)
        return cls(telemetry, tuple(found))

    def optional(self, live: Normal) -> str:
        """By which rule a live request may come or not, "" where it is one that is expected."""
        return TELEMETRY if live.form.endpoint in self.telemetry else live.optional


def _telemetry(tape: Tape) -> Iterator[Endpoint]:
    """The endpoints that take telemetry; what the recording says of one of its exchanges goes for all."""
    judged: set[Endpoint] = set()
    for index, (exchange, endpoint) in enumerate(zip(tape.exchanges, tape.endpoints, strict=True)):
        told = exchange.request.glimpse.kind
        if told == TELEMETRY:
            yield endpoint
        elif told is None and endpoint not in judged:
            judged.add(endpoint)
            if kind(Asked(endpoint, b"", tape.headers(index))) == TELEMETRY:
                yield endpoint

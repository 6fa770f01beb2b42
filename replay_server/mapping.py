"""The map of minted values: which of the agent's new ids stands for which recorded one, and what never may.

Rules kept here:
- The recorded value came from no earlier answer and no input, the live one from no answer of this replay.
- One-to-one: a second partner, on either side, is a drift.
- What was equal when a request was matched is a pair too: it is looked up when the first difference asks for it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from replay_server.minted import Blanked, Role, Scalar, Spot, alike, blanked
from replay_server.pairing import Pairing
from replay_server.provenance import Provenance
from store.core.form import Endpoint, Form


@dataclass(frozen=True, slots=True)
class Mapped:
    """One pair at the place where it was used: what was recorded, what is live."""

    pointer: str
    role: Role
    recorded: Scalar
    live: Scalar


@dataclass(slots=True)
class Mapping:
    """Of one replay; `form` gives a recorded request. Without `provenance` nothing is ever mapped."""

    form: Callable[[int], Form]
    provenance: Provenance | None
    pairs: Pairing[str] = field(default_factory=Pairing)
    values: dict[bytes, bytes] = field(default_factory=dict)  # the pairs that differ, for echoes
    _messages: dict[tuple[Endpoint, Scalar], Scalar] = field(default_factory=dict)
    _same: list[int] = field(default_factory=list)

    def serve(self, index: int, *, same: bool) -> None:
        """Takes note that an exchange was served; `same` to a request with an equal key."""
        if self.provenance is not None:
            self.provenance.serve(index)
            if same:
                self._same.append(index)

    def fits(self, index: int, recorded: Blanked, live: Blanked, endpoint: Endpoint) -> bool:
        """Whether the spots of a live request may stand for those of the exchange `index`. Their keys are equal."""
        if self.provenance is None or len(recorded.spots) != len(live.spots):
            return False
        for at in self._same:
            self._learn_equal(at)
        self._same.clear()
        for was, now in zip(recorded.spots, live.spots, strict=True):
            if was.role == "reference" and self._messages.get((endpoint, was.value), was.value) != now.value:
                return False
            if was.role == "token" and was.value != now.value and not self._mintable(index, was, now):
                return False
        return self.pairs.fits(_tokens(recorded), _tokens(live))

    def learn(self, recorded: Blanked, live: Blanked, endpoint: Endpoint) -> list[Mapped]:
        """Keeps the pairs of two requests that fit; those that differ, each at its place."""
        new = self.pairs.learn(_tokens(recorded), _tokens(live))
        self.values |= {was.encode(): now.encode() for was, now in new if was != now}
        both = list(zip(recorded.spots, live.spots, strict=True))
        self._messages |= {(endpoint, was.value): now.value for was, now in both if was.role == "correlation"}
        return [Mapped(was.pointer, was.role, was.value, now.value) for was, now in both if was.value != now.value]

    def _mintable(self, index: int, was: Spot, now: Spot) -> bool:
        assert self.provenance is not None
        recorded, live = str(was.value), str(now.value)
        if self.pairs.live(recorded) == live:
            return True
        return (
            alike(recorded, live)
            and not self.provenance.recorded_before(recorded, index)
            and not self.provenance.served(live)
        )

    def _learn_equal(self, index: int) -> None:
        tokens = _tokens(blanked(self.form(index)))
        self.pairs.learn(tokens, tokens)


def _tokens(said: Blanked) -> list[str]:
    return [str(spot.value) for spot in said.spots if spot.role == "token"]

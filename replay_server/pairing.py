"""A one-to-one map that grows: which value of the replay stands for which value of the recording."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Pairing[K]:
    """Pairs of a recorded and a live value; neither ever gets a second partner."""

    _lives: dict[K, K] = field(default_factory=dict)
    _recordeds: dict[K, K] = field(default_factory=dict)

    def fits(self, recorded: Sequence[K], live: Sequence[K]) -> bool:
        """Whether these could stand for one another in turn, given all that was learned."""
        if len(recorded) != len(live):
            return False
        lives: dict[K, K] = {}
        recordeds: dict[K, K] = {}
        return all(
            self._lives.get(was, lives.setdefault(was, now)) == now
            and self._recordeds.get(now, recordeds.setdefault(now, was)) == was
            for was, now in zip(recorded, live, strict=True)
        )

    def live(self, recorded: K) -> K | None:
        """What stands for a recorded value, as far as that is known."""
        return self._lives.get(recorded)

    def learn(self, recorded: Sequence[K], live: Sequence[K]) -> list[tuple[K, K]]:
        """Keeps these pairs, as far as they do not contradict what is known; those that are new."""
        new = []
        for was, now in zip(recorded, live, strict=False):
            if was not in self._lives and now not in self._recordeds:
                self._lives[was], self._recordeds[now] = now, was
                new.append((was, now))
        return new

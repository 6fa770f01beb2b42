"""A recorded run with its child runs: everything that happened in any of them, in the order in which it happened.

And on the other side: which recorded run a live request belongs to. A live child is the recorded one that it names by
id or name, else the one not taken yet whose first request fits best.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from replay_server.match import Match, Tier
from store.core.errors import EdgetapeError
from store.core.event import Event
from store.core.model import RunSpawn
from store.exchange import Exchange, Step, steps
from store.reader import Reader, RunInfo

_RANKS = {tier: rank for rank, tier in enumerate(Tier)}

type Read = Callable[[str], Iterator[Event]]


def gathered(reader: Reader, run: RunInfo, read: Read) -> tuple[list[Step], dict[str, str]]:
    """The steps of a run and all runs below it, and the names of those by id. A child that is gone is passed over.

    `read` gives the events of a run.
    """
    names: dict[str, str] = {}
    found = list(_below(reader, run, names, read))
    if len(names) > 1:
        found.sort(key=lambda step: _event(step).glimpse.ts)  # stable: what one run did keeps its order
    return found, names


def _below(reader: Reader, run: RunInfo, names: dict[str, str], read: Read) -> Iterator[Step]:
    names[run.id] = run.name or run.id
    for step in steps(read(run.id)):
        yield step
        if isinstance(step, Exchange):
            continue
        facts = step.event.facts
        if isinstance(facts, RunSpawn) and facts.child not in names:
            try:
                child = reader.run(facts.child)
            except EdgetapeError:
                continue
            yield from _below(reader, child, names, read)


def _event(step: Step) -> Event:
    return step.request if isinstance(step, Exchange) else step.event


@dataclass(slots=True)
class Kin:
    """The runs of one replay: `own` is the run that is replayed, `now` the replay's own run, which stands for it.

    `names` are those of the run and its children by id.
    """

    own: str
    now: str
    names: Mapping[str, str]
    _known: dict[str, str] = field(default_factory=dict)

    def run(self, said: str, match: Callable[[str], Match]) -> str:
        """The recorded run that a live tag stands for; `match` says what a request of it would get in one of them."""
        if said in ("", self.now) or len(self.names) == 1:
            return self.own
        if said not in self._known:
            self._known[said] = self._choose(said, match)
        return self._known[said]

    @property
    def unpaired(self) -> list[str]:
        """The names of the recorded child runs that no live one stands for."""
        taken = {self.own, *self._known.values()}
        return [name for run, name in self.names.items() if run not in taken]

    def _choose(self, said: str, match: Callable[[str], Match]) -> str:
        if said in self.names:
            return said
        named = [run for run, name in self.names.items() if name == said]
        taken = set(self._known.values())
        free = [run for run in self.names if run not in taken and run != self.own]
        if named:
            return next((run for run in named if run not in taken), named[-1])
        ranked = [(_RANKS[match(run).tier], at) for at, run in enumerate(free)]
        best = min(ranked, default=None)
        return self.own if best is None or best[0] >= _RANKS[Tier.EXHAUSTED] else free[best[1]]

"""Which earlier exchange a recorded one could not have come without: only that is order.

The exchange B depends on an earlier A when

- B goes on from A (`order`), or B is a tool request that A's model asked for;
- B goes on from the request whose answer asked for A, so that it holds A's result;
- B holds A's whole answer, or an identifier that nothing before A had and A's answer has;
- one of both has an effect, both are for the same host, and A had ended when B began. Agents side by side (two
  runs or lanes) keep no such order, nor do calls of one answer that are not known to write.

All of it is asked only for what comes earlier than it was recorded, and only of what was passed over: an agent that
walks its path costs nothing. What the agent has been given before proves nothing, so it is never counted.
"""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field

from replay_server.order import Lanes
from replay_server.spoken import Spoken, distinct

PASSED_OVER_MAX = 256
GIVEN_MAX = 2048
ASKERS_MAX = 512

_WRITES = ("write", "idempotent")


@dataclass(slots=True)
class Dependences:
    """Of one replay; `spoken` gives what a recorded exchange asked and said."""

    lanes: Lanes
    spoken: Callable[[int], Spoken]
    _kept: dict[int, Spoken] = field(default_factory=dict)
    _askers: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)
    _wholes: set[str] = field(default_factory=set)
    _uncounted: list[int] = field(default_factory=list)
    _given: int = 0

    def missing(self, index: int, passed: Sequence[int], given: Sequence[int], served: Container[int]) -> int | None:
        """The exchange among `passed` that `index` depends on, None where there is none.

        `passed` are those before `index` that were not asked for yet, in recorded order; `given` those that were, in
        the order of this replay, and `served` the same for look-ups.
        """
        if not passed:
            return None
        parents = self.lanes.parents(index)
        if parents and not any(parent in served for parent in parents):
            return next((parent for parent in parents if parent in passed), None)
        self._take_note(given)
        late = self._of(index)
        askers = self._asked_by(index)
        if askers and not any(asker in served for asker in askers):
            return askers[-1] if askers[-1] in passed else None
        known = set[str]()
        for at in passed[-PASSED_OVER_MAX:]:
            early = self._of(at)
            if self._result_of(at, parents) or self._effects(index, at, early, late):
                return at
            # Answers are long: none is read that nothing depends on.
            if late.words:
                fresh = late.words & early.said.words - early.words - known
                if fresh and any(distinct(word) or not self._apart(index, at) for word in fresh - self._counted()[0]):
                    return at
                known |= late.words & early.all_words
            if late.quotes(early) and early.said.whole not in self._counted()[1]:
                return at
        return None

    def _result_of(self, at: int, parents: Iterable[int]) -> bool:
        """Whether the answer that a request goes on from asked for the exchange `at`, and no other answer did."""
        askers = self._asked_by(at)
        return bool(askers) and set(askers) <= set(parents)

    def _effects(self, index: int, at: int, early: Spoken, late: Spoken) -> bool:
        """Whether two exchanges act on one host one after the other."""
        if early.llm or late.llm or early.host != late.host or early.ended is None or early.ended > late.began:
            return False
        if self._apart(index, at):
            return False
        known = early.effect in _WRITES or late.effect in _WRITES
        return known or ("unknown" in (early.effect, late.effect) and not self._together(index, at))

    def _apart(self, one: int, other: int) -> bool:
        """Whether two exchanges belong to different runs or lanes."""
        if self._of(one).run != self._of(other).run:
            return True
        first, second = self._lane(one), self._lane(other)
        return first is not None and second is not None and first != second

    def _together(self, one: int, other: int) -> bool:
        """Whether one answer asked for both."""
        return bool(set(self._asked_by(one)) & set(self._asked_by(other)))

    def _lane(self, index: int) -> int | None:
        if self._of(index).llm:
            return self.lanes.root(index)
        askers = self._asked_by(index)
        return self.lanes.root(askers[-1]) if askers else None

    def _asked_by(self, index: int) -> tuple[int, ...]:
        """The LLM exchanges before `index` whose answers asked for it, as far as can be told."""
        late = self._of(index)
        if late.llm:
            return ()
        if index not in self._askers:
            earlier = range(max(0, index - ASKERS_MAX), index)
            asked = {at: max(map(late.follows, calls)) for at in earlier if (calls := self._of(at).said.calls)}
            surest = max(asked.values(), default=0)
            self._askers[index] = tuple(at for at, how in asked.items() if how and how == surest)
        return self._askers[index]

    def _take_note(self, given: Sequence[int]) -> None:
        """Takes note of what the agent has been given, of the last GIVEN_MAX of it where much is new."""
        self._uncounted += given[max(self._given, len(given) - GIVEN_MAX) :]
        self._given = len(given)

    def _counted(self) -> tuple[set[str], set[str]]:
        """The words, and the whole answers, that the agent has been given."""
        for at in self._uncounted:
            spoken = self._of(at)
            self._known |= spoken.all_words
            self._wholes.add(spoken.said.whole)
        self._uncounted.clear()
        return self._known, self._wholes

    def _of(self, index: int) -> Spoken:
        if index not in self._kept:
            self._kept[index] = self.spoken(index)
        return self._kept[index]

"""One round of anchoring: the newest checkpoint goes to everybody outside, and what they give is kept together."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from store.core.checkpoint import Checkpoint
from store.core.errors import EdgetapeError
from store.outside import keeping
from store.outside.keeping import Given, Kept
from store.outside.post import Way, host_of
from store.outside.stamp import stamp
from store.outside.token import Authority, Token
from store.outside.witness import Witness, cosign


@dataclass(frozen=True, slots=True)
class Plan:
    """Whom to ask: time stamp authorities by their addresses (with `trusted`, only what one of those signed is kept),
    and witnesses.
    """

    authorities: tuple[str, ...] = ()
    trusted: tuple[Authority, ...] = ()
    witnesses: tuple[Witness, ...] = ()
    way: Way = field(default_factory=Way)

    def __bool__(self) -> bool:
        return bool(self.authorities or self.witnesses)


@dataclass(slots=True)
class Outcome:
    """How a round went: what it was about, what is kept now, the stamps among it, and who failed with what."""

    stated: Checkpoint
    kept: list[Kept] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)
    failures: list[EdgetapeError] = field(default_factory=list)


def go(folder: Path, keys: Path, plan: Plan, *, anyway: bool = True) -> Outcome:
    """Anchors the newest checkpoint, which is made if need be; unless `anyway`, only with those who have not seen all
    of it yet. Raises StoreUnusable, KeyUnavailable.
    """
    stated, note = keeping.newest(folder, keys)
    outcome, given = Outcome(stated), []
    for url in plan.authorities:
        if anyway or keeping.has_grown(folder, "rfc3161", host_of(url)):
            given += _tried(outcome, partial(_stamped, outcome, url, note, plan))
    for witness in plan.witnesses:
        if anyway or keeping.has_grown(folder, "cosignature", witness.key.name):
            given += _tried(outcome, partial(_cosigned, folder, stated, note, witness, plan.way))
    outcome.kept = keeping.keep(folder, keys, given) if given else []
    return outcome


def _tried(outcome: Outcome, ask: Callable[[], Given]) -> list[Given]:
    """One who fails keeps nobody else from being asked."""
    try:
        return [ask()]
    except EdgetapeError as error:
        outcome.failures.append(error)
        return []


def _stamped(outcome: Outcome, url: str, note: bytes, plan: Plan) -> Given:
    made = stamp(url, note, plan.trusted, plan.way)
    outcome.tokens.append(made.token)
    return Given("rfc3161", outcome.stated.size, host_of(url), made.content)


def _cosigned(folder: Path, stated: Checkpoint, note: bytes, witness: Witness, way: Way) -> Given:
    known = keeping.last_size(folder, "cosignature", witness.key.name)
    lines = cosign(witness, stated, note, known, partial(keeping.prove, folder), way)
    return Given("cosignature", stated.size, witness.key.name, lines)

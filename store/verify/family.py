"""Holds what runs say of one another together: a child of its parent, a parent of its child; pure.

docs/format.md, section 7, rule 15.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from store.core import digest
from store.core.model import Parent
from store.verify.ledger import Ledger
from store.verify.records import Records
from store.verify.verdict import Tally


@dataclass(frozen=True, slots=True)
class Spawned:
    """What a run.spawn says: the event that says it, the child, and the hash that the child begins with."""

    seq: int
    child: str
    genesis: str


@dataclass(frozen=True, slots=True)
class Ties:
    """What a run that has events says of others; `opened` tells whether its run.open can be read."""

    run: str
    opened: bool
    parent: Parent | None
    spawned: Sequence[Spawned]


def check(runs: Iterable[Ties], records: Records, log: Ledger, tally: Tally) -> None:
    """Checks the ties between runs that were verified together; one that is faulty itself has had its say."""
    faulty = {finding.run for finding in tally.findings}
    known = {each.run: each for each in runs if each.run not in faulty}
    claims: dict[str, list[tuple[str, Parent]]] = {}
    for each in known.values():
        if each.parent is not None and each.parent.run in known:
            claims.setdefault(each.parent.run, []).append((each.run, each.parent))
    for parent, named in claims.items():
        _check_parent(parent, named, records, tally)
    for each in known.values():
        for spawned in each.spawned:
            _check_child(each.run, spawned, known, log, tally)


def _check_parent(parent: str, named: list[tuple[str, Parent]], records: Records, tally: Tally) -> None:
    """A child names an event of its parent by its hash."""
    wanted = {claim.seq for _, claim in named}
    hashes = {row.seq: row.hash.hex() for row in records.events(parent) if row.seq in wanted}
    for child, claim in named:
        if hashes.get(claim.seq) != claim.event_hash:
            tally.find("V220", f"its parent {parent} has no such event {claim.seq}", child, 0)


def _check_child(run: str, spawned: Spawned, known: Mapping[str, Ties], log: Ledger, tally: Tally) -> None:
    child = known.get(spawned.child)
    if child is None or not child.opened:
        return
    origin = log.origin_of(spawned.child)
    foreign = origin is not None and spawned.genesis != digest.genesis_prev(origin, spawned.child).hex()
    if foreign or child.parent is None or child.parent.run != run:
        tally.find("V221", f"the run {spawned.child} does not say that it is its child", run, spawned.seq)

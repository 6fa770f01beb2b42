"""Verifies one run by itself, in room that does not grow with its length: its events, its ends, its bodies; pure."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from store.core import annotation, digest, draft
from store.core.annotation import Kept
from store.core.errors import Malformed
from store.core.event import Event
from store.core.model import LogPoint
from store.envelopes import Envelope
from store.verify import annotations, chain, heads
from store.verify.annotations import Annotated
from store.verify.bodies import BodyCheck, Contents
from store.verify.deep import Deep
from store.verify.family import Ties
from store.verify.ledger import Ledger
from store.verify.records import CatalogueRow, Records
from store.verify.terms import Rules
from store.verify.verdict import Remarks, Tally

TOLD_EVENTS = 256

type Told = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found of one run. `point` is the log as its run.open says that it was; `told` what the catalogue has to
    say of it, None where it has no beginning; `ties` what it says of other runs; `unread` says that there are events
    which cannot be read; `remarks` is what is to be said of its annotations.
    """

    run: str
    events: int
    bodies: int
    point: LogPoint | None
    told: CatalogueRow | None
    ties: Ties
    unread: bool
    tally: Tally
    remarks: Remarks = annotations.NONE_OF_THEM


def check_all(records: Records, rules: Rules, runs: Iterable[str], log: Ledger, told: Told) -> Iterator[Verified]:
    """Verifies one run after the other, as `check` does."""
    return (check(records, run, log, told, rules) for run in runs)


def check(records: Records, run: str, log: Ledger, told: Told, rules: Rules) -> Verified:
    """Verifies a run of `records`; `log` has to know what the log says of it. `told` hears of so many events more.

    By `rules`, where there are any, what events say of bodies is derived again.
    """
    tally, extent = Tally(), records.extent
    facts = None if rules is None else Deep(run, Tally(), rules)
    bodies = BodyCheck(run, log, records) if extent.bodies else None
    said, spoken = _said(records, run, log)
    taken = 0

    def take(row: Envelope, happened: Event | None) -> None:
        nonlocal taken
        taken += 1
        if taken % TOLD_EVENTS == 0:
            told(TOLD_EVENTS)
        if row.seq in spoken:
            spoken[row.seq] |= {row.hash, digest.event_hash(row.raw)}
        named = None if happened is None else draft.commitments(happened.facts, row.raw)
        contents: Contents = {}
        if bodies is not None:
            contents = bodies.event(row.seq, named)
        elif named is not None:
            tally.counts["PAYLOADS_WITHHELD"] += len(named)
        if facts is not None and happened is not None:
            facts.event(happened, contents)

    found = chain.walk(run, records.events(run), log, tally, take, ordered=extent.ordered)
    told(taken % TOLD_EVENTS)
    heads.check(found, log)
    if bodies is not None and (found.count or run not in log.runs or log.runs[run].pruned):
        bodies.end(found)
        tally.add(bodies.tally)
    if facts is not None:
        tally.add(facts.tally)
    count = 0 if bodies is None else bodies.count
    ties = Ties(run, 0 in found.seen and 0 not in found.unread, found.parent, found.spawned)
    remarks = _remarks(run, said, spoken, log, words=extent.bodies)
    return Verified(run, found.count, count, found.point, found.told, ties, bool(found.unread), tally, remarks)


def _said(records: Records, run: str, log: Ledger) -> tuple[list[Kept], dict[int, set[bytes]]]:
    """The annotations of a run; and the seqs that they name, whose hashes are to be looked at."""
    said = records.annotations(run, log.origin)
    seqs: dict[int, set[bytes]] = {}
    for each in said:
        with contextlib.suppress(Malformed):
            seqs[annotation.decode(each.raw)[1].seq] = set()
    return said, seqs


def _remarks(run: str, said: list[Kept], spoken: Mapping[int, set[bytes]], log: Ledger, *, words: bool) -> Remarks:
    known = log.annotated.get(run)
    if known is None and not said:
        return annotations.NONE_OF_THEM
    origin = log.origin_of(run)
    begun = None if origin is None else digest.genesis_prev(origin, run).hex()
    sealed = log.checkpoint[0] if log.checkpoint else 0
    return annotations.Check(run, begun, known or Annotated(), spoken, sealed, log.newer, words).of(said)

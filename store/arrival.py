"""Runs of another store, as they come in: their rows, and the leaf that says where they are from.

docs/format.md, sections 6 and 9. Whoever calls this has verified them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from store import annotations, envelopes, journal, log, vault
from store.core import digest, event, leaf
from store.core.annotation import Kept
from store.core.draft import Opening
from store.core.errors import InvalidEvent
from store.core.model import RunClose, RunOpen, is_step
from store.core.shape import type_name
from store.core.text import plain
from store.database.connection import Connection
from store.livelogs import LiveLogs
from store.vault import Vault


@dataclass(frozen=True, slots=True)
class Arrival:
    """One run: its events in order, the openings of each by seq, the checkpoint (size, root) of `origin`, what the log
    there says was erased of it and said about it, and these annotations.
    """

    run: str
    origin: str
    size: int
    root: bytes
    events: Sequence[bytes]
    openings: Mapping[int, Sequence[Opening]]
    told: Sequence[leaf.PayloadErased | leaf.AnnotationHead] = ()
    annotations: Sequence[Kept] = ()


def take_in(connection: Connection, logs: LiveLogs, arrivals: Sequence[Arrival], opener: Vault, ts: str) -> None:
    """Writes runs into the store of which `opener` has the keys, inside the caller's transaction.

    Raises InvalidEvent for a run that is here already, or comes from here.
    """
    for each in arrivals:
        if each.origin == opener.origin or envelopes.first(connection, each.run):
            raise InvalidEvent(f"run {each.run} is in this store already, or was recorded in it")
        _events(connection, logs, each)
        _catalogue(connection, each)
        log.append(connection, ts, _leaf(each))
        annotations.take_in(connection, each.run, each.annotations, opener)
        for facts in each.told:
            log.append(connection, ts, facts)
        if any(isinstance(facts, leaf.PayloadErased) and facts.seq is None for facts in each.told):
            vault.destroy(connection, each.run)  # as in the store that it comes from


def _events(connection: Connection, logs: LiveLogs, arrival: Arrival) -> None:
    logs.found(connection, arrival.run)
    for seq, raw in enumerate(arrival.events):
        envelopes.append(logs.additions, arrival.run, seq, raw)
        kind = type_name(event.decode(raw).facts)
        journal.keep(connection, logs, arrival.run, seq, kind, arrival.openings.get(seq, ()))


def _catalogue(connection: Connection, arrival: Arrival) -> None:
    happened = [event.decode(raw) for raw in arrival.events]
    opened, last = happened[0].facts, happened[-1]
    assert isinstance(opened, RunOpen)
    name, workflow = plain(opened.name), plain(opened.workflow)
    closed = last.place.ts if isinstance(last.facts, RunClose) else ""
    steps = sum(is_step(each.facts) for each in happened)
    parent = opened.parent.run if opened.parent else ""
    count = len(happened)
    connection.execute(
        "INSERT INTO runs (id, name, mode, workflow, parent, opened, closed, events, steps, headed)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (arrival.run, name, opened.mode, workflow, parent, happened[0].place.ts, closed, count, steps, count),
    )


def _leaf(arrival: Arrival) -> leaf.RunImported:
    return leaf.RunImported(
        run=arrival.run,
        origin=arrival.origin,
        n=len(arrival.events),
        head=digest.event_hash(arrival.events[-1]).hex(),
        size=arrival.size,
        root=arrival.root.hex(),
    )

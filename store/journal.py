"""Appending to the chain of a run, inside the writer's transaction (docs/format.md, sections 3-5).

Rules kept here:
- seq, prev and clocks are given here, from what the transaction reads, or knows to be unchanged (`Recall`).
- A record is encoded, and so refused, before anything of it is written.
"""

import json
from collections.abc import Iterable
from typing import Literal, cast

import msgspec

from store import envelopes, loans, log, openings, pending
from store.core import digest, draft, event, leaf, merkle, shape
from store.core.errors import InvalidEvent, KeyUnavailable, Malformed
from store.core.model import EVENT_TYPES, CloseReason, LogPoint, RunClose, RunOpen, is_step
from store.core.text import plain
from store.database.connection import Connection
from store.livelogs import LiveLogs
from store.recall import Head

_FILLED_IN = "0" * 64


class Now(msgspec.Struct, frozen=True):
    """The writer's clocks at a commit: the wall clock as a record spells it, and microseconds since the run opened."""

    ts: str
    mono_us: int


class Appended(msgspec.Struct, frozen=True):
    """Where an event stands now: its seq and its event_hash (32 bytes)."""

    seq: int
    hash: bytes


class Weighed(msgspec.Struct, frozen=True):
    """A draft whose bodies are hashed: ready to be placed, and committed there."""

    members: draft.Members
    contents: tuple[draft.Content, ...] = ()
    is_step: bool = False

    def linked(self, name: str, seq: int) -> "Weighed":
        """The same, its member `name` (`req`, `open`) naming the event `seq`."""
        return Weighed({**self.members, name: seq}, self.contents, self.is_step)


def head(connection: Connection, run: str) -> Head | None:
    """The last event of `run`; None when there is no such run."""
    last = envelopes.last(connection, run)
    if last is None:
        return None
    record = json.loads(last.raw)
    return Head(last.seq, last.hash, record["type"], record["mono_us"])


def open_run(
    connection: Connection, logs: LiveLogs, origin: str, run: str, owner: str, weighed: Weighed, now: Now
) -> Appended:
    """Writes event 0 of a new run, its leaf, its row in the catalogue and the lease of the writer `owner`."""
    leaves = log.size(connection)
    root = cast("bytes", log.root_at(connection, leaves))
    members: draft.Members = {
        **weighed.members,
        "origin": origin,
        "checkpoint": shape.members(LogPoint(size=leaves, root=root.hex())),
    }
    opened = cast("RunOpen", shape.facts(members, EVENT_TYPES))
    genesis = digest.genesis_prev(origin, run)
    place = event.Place(run, 0, genesis.hex(), now.ts, 0)
    logs.found(connection, run)
    appended = _insert(connection, logs, place, msgspec.structs.replace(weighed, members=members))
    log.append(connection, now.ts, leaf.RunOpened(run=run, genesis=genesis.hex(), head=appended.hash.hex()))
    connection.execute(
        "INSERT INTO runs (id, name, mode, workflow, parent, opened, closed, events, steps, headed)"
        " VALUES (?, ?, ?, ?, ?, ?, '', 1, 0, 1)",
        (
            run,
            plain(opened.name),
            opened.mode,
            plain(opened.workflow),
            opened.parent.run if opened.parent else "",
            now.ts,
        ),
    )
    connection.execute("INSERT INTO leases (run, owner) VALUES (?, ?)", (run, owner))
    return appended


def append(connection: Connection, logs: LiveLogs, run: str, weighed: Weighed, now: Now) -> Appended:
    """Adds one event at the end of an open run. Raises InvalidEvent when there is no such run, or it is closed."""
    last = logs.recall.heads.get(run) or head(connection, run)
    if last is None:
        raise InvalidEvent(f"there is no run {run} to append to")
    if last.type == "run.close":
        raise InvalidEvent(f"run {run} is closed: nothing may follow")
    place = event.Place(run, last.seq + 1, last.hash.hex(), now.ts, max(last.mono_us, now.mono_us))
    appended = _insert(connection, logs, place, weighed)
    logs.additions.add(
        "UPDATE runs SET events = ?, steps = steps + ? WHERE id = ?", appended.seq + 1, int(weighed.is_step), run
    )
    return appended


def closing(reason: CloseReason, partial: int, exit_code: int | None, *, dead: bool) -> RunClose:
    """The end of a run, its figures still to be filled in; `dead` when another recorder's."""
    clock: Literal["resumed"] | None = "resumed" if dead else None
    return RunClose(
        n=0,
        head=_FILLED_IN,
        root=_FILLED_IN,
        reason=reason,
        counts=[],
        partial=partial,
        exit_code=exit_code,
        clock=clock,
    )


def close_run(connection: Connection, logs: LiveLogs, run: str, facts: RunClose, now: Now) -> Appended:
    """Writes run.close, its leaf and the end of the lease. `n`, `head`, `root` and `counts` are filled in here.

    Raises InvalidEvent for a run that is not there, or facts that version 1 has no room for.
    """
    logs.additions.write(connection)
    tree = merkle.Tree()
    counts: dict[str, int] = {}
    last = b""
    for each in envelopes.in_order(connection, run):
        tree.append(each.raw)
        last = each.hash
        kind = event.glimpsed(each.raw).type
        counts[kind] = counts.get(kind, 0) + 1
    members = shape.members(facts) | {
        "n": tree.size,
        "head": last.hex(),
        "root": tree.root.hex(),
        "counts": [[kind, count] for kind, count in sorted(counts.items())],
    }
    _demand_known(members)
    appended = append(connection, logs, run, Weighed(members), now)
    logs.additions.write(connection)
    log.append(
        connection,
        now.ts,
        leaf.RunClosed(run=run, n=appended.seq + 1, head=appended.hash.hex(), root=tree.root.hex()),
    )
    connection.execute("UPDATE runs SET closed = ?, headed = events WHERE id = ?", (now.ts, run))
    connection.execute("DELETE FROM leases WHERE run = ?", (run,))
    return appended


def drop_pending(logs: LiveLogs, run: str, req: int, weighed: Weighed) -> None:
    """Deletes the pieces of a stream that its finished event now holds."""
    if weighed.members["type"] == "http.request.end":
        pending.drop(logs.additions, run, req, upload=True)
    elif weighed.members["type"] in ("http.response", "http.error"):
        pending.drop(logs.additions, run, req, upload=False)


def note_heads(connection: Connection, ts: str) -> None:
    """Writes a run.head leaf for every run that has grown since its last one: done before each checkpoint."""
    grown = connection.execute("SELECT id FROM runs WHERE events > headed ORDER BY id").fetchall()
    for (run,) in grown:
        last = head(connection, run)
        if last is not None:
            log.append(connection, ts, leaf.RunHead(run=run, n=last.seq + 1, head=last.hash.hex()))
            connection.execute("UPDATE runs SET headed = ? WHERE id = ?", (last.seq + 1, run))


def keep(
    connection: Connection,
    logs: LiveLogs,
    run: str,
    seq: int,
    kind: str,
    opened: Iterable[draft.Opening],
    *,
    derived: bool = False,
) -> None:
    """Keeps the openings of one event, of the type `kind`, and their bodies in the log of its run; `derived` when all
    salts are those of the run's salt key.
    """
    veil = logs.keys(connection, run).veil
    for opening in opened:
        lent = None if opening.elsewhere is None else _lent(connection, logs, opening)
        if lent is not None:
            place = None
            loans.add(logs.additions, loans.Loan(run, seq, opening.pointer, lent))
        else:
            place = logs.add(connection, run, f"{kind}{opening.pointer}", opening.content)
        openings.add(logs.additions, run, seq, opening, place, veil, derived=derived)


def _lent(connection: Connection, logs: LiveLogs, opening: draft.Opening) -> draft.Elsewhere | None:
    """Where a body is kept already; None where that cannot be told, and it is kept once more."""
    assert opening.elsewhere is not None
    try:
        return logs.lender(connection, opening.elsewhere.run).found(connection, opening)
    except (Malformed, KeyUnavailable):  # the run is not in this store, or its bodies are erased
        return None


def _insert(connection: Connection, logs: LiveLogs, place: event.Place, weighed: Weighed) -> Appended:
    members, opened = weighed.members, list[draft.Opening]()
    if weighed.contents:
        veil = logs.keys(connection, place.run).veil
        members, opened = draft.seal(members, weighed.contents, lambda pointer: veil.salt(place.seq, pointer))
    try:
        raw = event.encode(place, members)
    except Malformed as error:
        raise InvalidEvent(f"not an event: {error}") from error
    hashed = envelopes.append(logs.additions, place.run, place.seq, raw)
    if opened:
        keep(connection, logs, place.run, place.seq, str(members["type"]), opened, derived=True)
    logs.recall.heads[place.run] = Head(place.seq, hashed, str(members["type"]), place.mono_us)
    return Appended(place.seq, hashed)


def weighed(facts_draft: draft.Draft) -> Weighed:
    """Hashes a draft's bodies, which is done before the transaction begins.

    Raises InvalidEvent for facts that version 1 has no room for.
    """
    members, contents = draft.weighed(facts_draft)
    _demand_known(members)
    return Weighed(members, tuple(contents), is_step(facts_draft.facts))


def _demand_known(members: draft.Members) -> None:
    try:
        shape.facts(members, EVENT_TYPES)
    except Malformed as error:
        raise InvalidEvent(f"not an event: {error}") from error

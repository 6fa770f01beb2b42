"""Runs whose time is over: what a policy needs to know of them, and taking a whole one out of the store, on record.

docs/format.md, sections 5 and 6.

Rules kept here:
- Nothing of a run that is open, or held, leaves; the leaf that says so is written first, in the same transaction.
- Everything that a run has goes with it: nothing is left that only it could explain.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from store import database, envelopes, erasure, journal, log, openings, schema, standing
from store.core import event, leaf
from store.core.errors import EdgetapeError, Malformed
from store.core.model import HttpRequestEnd, HttpResponse, Note
from store.core.retention import DEFAULT, Subject
from store.database.connection import Connection
from store.erasure import WORDS_MAX, Erasure
from store.standing import NOTHING
from store.ticket import Ticket
from store.vault import Vault
from store.writer import Writer


class PruningRefused(EdgetapeError):
    """A run that must not leave the store."""


@dataclass(frozen=True, slots=True)
class Pruning:
    """The run that is to leave, and why; `policy` is the digest of the one that asks for it."""

    run: str
    by: str
    reason: str
    policy: str = DEFAULT

    def __post_init__(self) -> None:
        if not self.reason.strip() or any(len(text) > WORDS_MAX for text in (self.by, self.reason)):
            raise PruningRefused("a run leaves with a reason, in a few words", hint="--reason WORDS")


def subjects(connection: Connection, before: str) -> Iterator[Subject]:
    """All runs, newest first; those that ended before `before`, as `ts` is spelled, with their bodies told apart."""
    told = standing.of_all(connection)
    query = "SELECT id, mode, parent, closed FROM runs ORDER BY opened DESC, id DESC"
    for run, mode, parent, closed in connection.execute(query).fetchall():
        hold = told.get(run, NOTHING).hold
        plain = Subject(run, mode, closed, parent, hold.reason if hold else "")
        yield _with_bodies(connection, plain) if closed and closed < before else plain


def prune(writer: Writer, pruning: Pruning) -> Ticket:
    """Takes a closed run out of the store, on record; `tidy` then leaves no trace of it. The ticket raises
    PruningRefused.
    """
    return writer.change(lambda connection, ts: remove(connection, pruning, writer.vault, ts))


def tidy(writer: Writer) -> Ticket:
    """Leaves no old byte in the store's files. The ticket raises ErasureRefused while somebody else uses them."""
    return writer.change(lambda connection, ts: None, erasure.tidy)


def remove(connection: Connection, pruning: Pruning, vault: Vault, ts: str) -> None:
    """Takes a run out, in the caller's transaction, and erases what others have borrowed of it. Raises PruningRefused,
    ErasureRefused.
    """
    run = pruning.run
    last = journal.head(connection, run)
    if last is None or last.type != "run.close":
        raise PruningRefused(f"run {run} is not there, or still open")
    hold = standing.of_run(connection, run).hold
    if hold is not None:
        raise PruningRefused(f"run {run} is held: {hold.reason}", hint=f"edgetape hold {run} --release --reason WORDS")
    database.forget_deleted(connection)
    erasure.erase_borrowed(connection, Erasure(run, None, pruning.by, pruning.reason, pruning.policy), vault, ts)
    said = leaf.RetentionPruned(run=run, by=pruning.by, reason=pruning.reason, policy=pruning.policy)
    log.append(connection, ts, said)
    for table in schema.OF_RUNS:
        connection.execute(f"DELETE FROM {table} WHERE run = ?", (run,))
    connection.execute("DELETE FROM runs WHERE id = ?", (run,))
    database.note_untidy(connection)


def _with_bodies(connection: Connection, plain: Subject) -> Subject:
    there = {seq for seq, _ in openings.of_run(connection, plain.run)}
    damaged, receipts = False, set[int]()
    try:
        receipts = _receipts(connection, plain.run)
    except Malformed:
        damaged = True
    return Subject(
        plain.run,
        plain.mode,
        plain.closed,
        plain.parent,
        plain.hold,
        damaged,
        receipts=tuple(sorted(there & receipts)),
        others=tuple(sorted(there - receipts)),
    )


def _receipts(connection: Connection, run: str) -> set[int]:
    """The events that prove what was done outside: notes of an effect, and exchanges whose answer has a receipt."""
    found: set[int] = set()
    uploads: dict[int, int] = {}
    for row in envelopes.in_order(connection, run):
        match event.decode(row.raw).facts:
            case Note(kind="effect"):
                found.add(row.seq)
            case HttpRequestEnd() as facts:
                uploads[facts.req] = row.seq
            case HttpResponse() as facts if facts.receipt is not None:
                found |= {facts.req, row.seq}
    return found | {upload for req, upload in uploads.items() if req in found}

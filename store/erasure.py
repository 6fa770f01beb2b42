"""Erasing bodies of a run: the openings, the bytes, and the record that it was done (docs/format.md, section 5).

Rules kept here:
- Nothing is erased of a run that is open, or held; nor where a body that stays could not be kept.
- What is left behind is written anew, so that nothing of what is gone is part of it.
"""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from store import envelopes, journal, log, openings, payloads, standing
from store.core import leaf
from store.core.errors import EdgetapeError, Malformed
from store.splices.blocklog import BlockLog
from store.splices.erasure import Respliced
from store.splices.guard import Guard
from store.splices.resolver import Resolver

WORDS_MAX = 1000


class ErasureRefused(EdgetapeError):
    """Bodies that must not, or cannot, be erased."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """What is to be erased: the bodies of the events `seqs` of a run, or of all its events for None; and why."""

    run: str
    seqs: tuple[int, ...] | None
    by: str
    reason: str
    policy: str | None = None

    def __post_init__(self) -> None:
        if not self.reason.strip() or any(len(text) > WORDS_MAX for text in (self.by, self.reason, self.policy or "")):
            raise ErasureRefused("an erasure needs a reason, in a few words", hint="--reason WORDS")

    def leaves(self) -> Iterable[leaf.PayloadErased]:
        """What the log says of it."""
        for seq in (None,) if self.seqs is None else self.seqs:
            yield leaf.PayloadErased(run=self.run, by=self.by, reason=self.reason, seq=seq, policy=self.policy)


@dataclass(frozen=True, slots=True)
class Body:
    """One body that has an opening: which it is, and its length in bytes."""

    seq: int
    pointer: str
    bytes: int


def affected(connection: sqlite3.Connection, erasure: Erasure) -> list[Body]:
    """The bodies that would be erased. Raises ErasureRefused when none may be."""
    last = journal.head(connection, erasure.run)
    if last is None or last.type != "run.close":
        raise ErasureRefused(f"run {erasure.run} is still open", hint="bodies are erased once it is closed")
    held = standing.of_run(connection, erasure.run).hold
    if held is not None:
        raise ErasureRefused(
            f"run {erasure.run} is held: {held.reason}", hint=f"edgetape hold {erasure.run} --release --reason WORDS"
        )
    found = [Body(seq, row.pointer, row.length) for seq, row in openings.of_run(connection, erasure.run)]
    kept = [body for body in found if erasure.seqs is None or body.seq in erasure.seqs]
    return sorted(kept, key=lambda body: (body.seq, body.pointer))


def erase(connection: sqlite3.Connection, erasure: Erasure, guard: Guard, ts: str) -> None:
    """Erases, in the caller's transaction. Raises ErasureRefused."""
    affected(connection, erasure)
    connection.execute("PRAGMA secure_delete=ON")
    run = erasure.run
    openings.delete(connection, run, erasure.seqs)
    _resplice(connection, run, guard)
    for facts in erasure.leaves():
        log.append(connection, ts, facts)


def tidy(connection: sqlite3.Connection) -> None:
    """Leaves no old byte in the file or beside it. Raises ErasureRefused while somebody else uses the store."""
    try:
        connection.execute("VACUUM")
        ((busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.OperationalError:
        busy = 1
    if busy:
        raise ErasureRefused(
            "the bodies are erased, but old bytes of them may lie in the file until it is written anew:"
            " the store is in use",
            hint="end what uses it, then run `edgetape compact`",
        )


def _resplice(connection: sqlite3.Connection, run: str, guard: Guard) -> None:
    kept = openings.places(connection, run)
    types = {each.seq: json.loads(each.raw)["type"] for each in envelopes.in_order(connection, run)}
    try:
        old = BlockLog(payloads.spans(connection, run), payloads.fetching(connection, run), guard)
        resolver = Resolver(old.read, old.end, payloads.KEPT_BYTES_MAX)
        shelved = [(each.place, f"{types.get(each.seq, '')}{each.pointer}") for each in kept]
        respliced = Respliced(resolver, shelved)
        blocks = [(block.span, guard.close(block)) for block in respliced.blocks()]
    except Malformed as error:
        raise ErasureRefused(
            f"a body that stays cannot be read, and would be lost: {error}", hint=f"edgetape verify {run}"
        ) from error
    connection.execute("DELETE FROM blocks WHERE run = ?", (run,))
    connection.executemany(
        "INSERT INTO blocks (run, number, start, length, frame, stored) VALUES (?, ?, ?, ?, ?, ?)",
        [(run, span.number, span.start, span.length, span.frame, stored) for span, stored in blocks],
    )
    openings.move(connection, run, kept, respliced.places)

"""Erasing bodies of a run: the openings, the bytes, and the record that it was done (docs/format.md, section 5).

Rules kept here:
- Nothing is erased of a run that is held; nor where a body that stays could not be kept.
- What is left behind is written anew under other keys, so that nothing of what is gone is part of it, or opens with
  any key that there is.
- What people said about an event goes with its bodies, for it may quote them.
- That the file is still to be written anew is part of the transaction: whoever is cut off leaves it to the next writer.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from msgspec import structs

from store import annotations, database, envelopes, journal, loans, log, openings, payloads, pending, standing
from store.core import leaf
from store.core.errors import EdgetapeError, Malformed
from store.database.connection import Connection
from store.openings import OpeningRow
from store.splices import stream
from store.splices.blocklog import BlockLog
from store.splices.erasure import Respliced
from store.splices.livelog import Stored
from store.splices.resolver import Resolver
from store.vault import RunKeys, Vault, destroy, wrapped

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

    run: str
    seq: int
    pointer: str
    bytes: int


def affected(connection: Connection, erasure: Erasure) -> list[Body]:
    """The bodies that would be erased, and those that others have borrowed of them with the rest of their events.
    Raises ErasureRefused when none may be.
    """
    return [body for each in _together(connection, erasure) for body in _bodies(connection, each)]


def _together(connection: Connection, erasure: Erasure) -> list[Erasure]:
    """An erasure, and those of what others have borrowed of it."""
    found = [erasure]
    for each in found:  # it grows while it is walked
        seqs: dict[str, set[int]] = {}
        for loan in loans.from_run(connection, each.run, each.seqs):
            seqs.setdefault(loan.run, set()).add(loan.seq)
        more = [replace(erasure, run=run, seqs=tuple(sorted(at))) for run, at in seqs.items()]
        found += [one for one in more if one not in found]
    return found


def _bodies(connection: Connection, erasure: Erasure) -> list[Body]:
    held = standing.of_run(connection, erasure.run).hold
    if held is not None:
        raise ErasureRefused(
            f"run {erasure.run} is held: {held.reason}", hint=f"edgetape hold {erasure.run} --release --reason WORDS"
        )
    found = [Body(erasure.run, seq, row.pointer, row.length) for seq, row in openings.of_run(connection, erasure.run)]
    kept = [body for body in found if erasure.seqs is None or body.seq in erasure.seqs]
    return sorted(kept, key=lambda body: (body.seq, body.pointer))


def erase(connection: Connection, erasure: Erasure, vault: Vault, ts: str) -> None:
    """Erases, in the caller's transaction, with what others have borrowed. Raises ErasureRefused, KeyUnavailable."""
    for each in reversed(_together(connection, erasure)):
        _erase(connection, each, vault, ts)


def erase_borrowed(connection: Connection, erasure: Erasure, vault: Vault, ts: str) -> None:
    """The same without the run itself, which leaves the store."""
    for each in reversed(_together(connection, erasure)[1:]):
        _erase(connection, each, vault, ts)


def _erase(connection: Connection, erasure: Erasure, vault: Vault, ts: str) -> None:
    bodies = _bodies(connection, erasure)
    last = journal.head(connection, erasure.run)
    closed = last is not None and last.type == "run.close"
    database.forget_deleted(connection)
    if erasure.seqs is None and closed:
        _destroy(connection, erasure.run)
    else:
        if erasure.seqs is None:
            # More events may follow, whose bodies nobody asked to erase: those are named that are there.
            spoken = {seq for _, seq, _ in annotations.words_of(connection, erasure.run, None)}
            erasure = replace(erasure, seqs=tuple(sorted({body.seq for body in bodies} | spoken)))
        if wrapped(connection, erasure.run):  # else all of it is erased already
            _resplice(connection, erasure, vault, tight=closed)
    annotations.erase(connection, erasure.run, erasure.seqs)
    for facts in erasure.leaves():
        log.append(connection, ts, facts)
    database.note_untidy(connection)


def tidy(connection: Connection) -> None:
    """Leaves no old byte in the file or beside it. Raises ErasureRefused while somebody else uses the store."""
    if not database.write_anew(connection):
        raise ErasureRefused(
            "the bodies are erased, but old bytes of them may lie in the file until it is written anew:"
            " the store is in use",
            hint="end what uses it, then run `edgetape compact`",
        )


def tidy_if_due(connection: Connection) -> None:
    """Does what an erasure that was cut off, or hindered, left to do; as far as that can be done now."""
    if database.is_untidy(connection):
        database.write_anew(connection)


def _destroy(connection: Connection, run: str) -> None:
    """Everything of a run but its envelopes."""
    openings.delete(connection, run)
    loans.drop(connection, run)
    payloads.delete(connection, run)
    pending.drop_all(connection, run)
    destroy(connection, run)


def _resplice(connection: Connection, erasure: Erasure, vault: Vault, *, tight: bool) -> None:
    """Puts the bodies that stay together anew, under other keys, each opening with its own salt from now on."""
    run = erasure.run
    try:
        old = vault.of(connection, run)
        shown = [(seq, row.shown(seq, old.veil)) for seq, row in openings.of_run(connection, run)]
        kept = [(seq, row) for seq, row in shown if seq not in (erasure.seqs or ())]
        new = vault.renew(connection, run)
        moved = _moved(connection, old, new, kept, tight=tight)
        placed = [
            (seq, structs.replace(row, place=None if row.place is None else moved[row.place])) for seq, row in kept
        ]
        openings.replace_all(connection, run, placed, new.veil)
        loans.drop(connection, run, erasure.seqs or ())
        pending.move(connection, old, new)
    except Malformed as error:
        raise ErasureRefused(
            f"a body that stays cannot be read, and would be lost: {error}", hint=f"edgetape verify {run}"
        ) from error


def _moved(
    connection: Connection, old: RunKeys, new: RunKeys, kept: list[tuple[int, OpeningRow]], *, tight: bool
) -> Mapping[int, int]:
    """Where the bodies stand in the log that holds them alone, and is stored in the place of the other one, by where
    they stood.
    """
    run = old.run
    types = {each.seq: json.loads(each.raw)["type"] for each in envelopes.in_order(connection, run)}
    shelved = sorted((row.place, f"{types.get(seq, '')}{row.pointer}") for seq, row in kept if row.place is not None)
    blocks = BlockLog(payloads.spans(connection, run), payloads.fetching(connection, run), old.guard)
    resolver = Resolver(blocks.read, blocks.end, payloads.KEPT_BYTES_MAX)
    respliced = Respliced(resolver, shelved)
    level = stream.level_for(blocks.end) if tight else stream.EASIER_LEVEL
    stored = [Stored(block.span, new.guard.close(block)) for block in respliced.blocks(level)]
    payloads.replace_all(connection, run, stored)
    return respliced.places

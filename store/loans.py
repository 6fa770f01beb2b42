"""Bodies of replays that are kept once, in the run that was replayed: each loan says of which body of which run.

docs/format.md, sections 5 and 8.

Rules kept here:
- What is lent lies in the log of its own run: no loan is ever lent on.
- A loan proves nothing. The body that it leads to is held against the borrower's own opening.
- A store that was not written since there are loans has no table of them.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from store import openings
from store.additions import Additions
from store.cells import exact, number, text
from store.core.draft import Elsewhere, Opening
from store.core.errors import Malformed
from store.database import has_table
from store.database.connection import Connection
from store.openings import OpeningRow
from store.vault import RunKeys

BYTES_MIN: Final = 1024  # a shorter body takes about as little room as its loan
_INSERT = "INSERT INTO loans (run, seq, pointer, lender, lender_seq, lender_pointer) VALUES (?, ?, ?, ?, ?, ?)"
_LENT = f"{text('lender')}, {number('lender_seq')}, {text('lender_pointer')}"


class Loan(msgspec.Struct, frozen=True):
    """A body of an event `seq` of `run` that is kept `elsewhere`."""

    run: str
    seq: int
    pointer: str
    elsewhere: Elsewhere


def one(connection: Connection, run: str, seq: int, pointer: str) -> Elsewhere | None:
    """Where a body is kept that is not kept in the log of its run; None if nowhere."""
    if not has_table(connection, "loans"):
        return None
    query = f"SELECT {_LENT} FROM loans WHERE run = CAST(? AS TEXT) AND seq = ? AND pointer = CAST(? AS TEXT)"
    row = connection.execute(query, (exact(run), seq, exact(pointer))).fetchone()
    return None if row is None else Elsewhere(*row)


def of_run(connection: Connection, run: str) -> Iterator[Loan]:
    """What a run has borrowed, in order of seq."""
    if has_table(connection, "loans"):
        query = (
            f"SELECT {number('seq')}, {text('pointer')}, {_LENT} FROM loans WHERE run = CAST(? AS TEXT) ORDER BY 1, 2"
        )
        for seq, pointer, *lent in connection.execute(query, (exact(run),)):
            yield Loan(run, seq, pointer, Elsewhere(*lent))


def strays(connection: Connection, run: str) -> list[tuple[int, str]]:
    """(seq, pointer) of what a run has borrowed without an opening of its own."""
    found = [(loan.seq, loan.pointer) for loan in of_run(connection, run)]
    return [
        (seq, pointer)
        for seq, pointer in found
        if all(row.pointer != pointer for row in openings.of_event(connection, run, seq))
    ]


def place(connection: Connection, lent: Elsewhere) -> int | None:
    """Where a body that is lent stands in the log of its run; None when nothing is stored."""
    return openings.place(connection, lent.run, lent.seq, lent.pointer)


def kept(connection: Connection, run: str, seq: int, pointer: str) -> tuple[str, int]:
    """The run that has a body for another one, and its place there. Raises Malformed where there is none."""
    lent = one(connection, run, seq, pointer)
    at = None if lent is None else place(connection, lent)
    if lent is None or at is None:
        raise Malformed("it is missing")
    return lent.run, at


def runs(connection: Connection) -> set[str]:
    """The ids of the runs that have borrowed something."""
    if not has_table(connection, "loans"):
        return set()
    return {run for (run,) in connection.execute(f"SELECT DISTINCT {text('run')} FROM loans")}


def from_run(connection: Connection, lender: str, seqs: Collection[int] | None = None) -> Iterator[Loan]:
    """What others have borrowed of a run, of its events `seqs` or of any."""
    if not has_table(connection, "loans"):
        return
    query = f"SELECT {text('run')}, {number('seq')}, {text('pointer')}, {_LENT} FROM loans WHERE lender = ?"
    for run, seq, pointer, *lent in connection.execute(f"{query} ORDER BY run, seq, pointer", (lender,)).fetchall():
        elsewhere = Elsewhere(*lent)
        if seqs is None or elsewhere.seq in seqs:
            yield Loan(run, seq, pointer, elsewhere)


@dataclass(slots=True)
class Lender:
    """A run that bodies are lent from, with its keys. Openings of it are remembered: as long as the keys are these,
    none of them was erased.
    """

    keys: RunKeys
    _near: Mapping[int, Sequence[OpeningRow]] = field(default_factory=dict)

    def found(self, connection: Connection, opening: Opening) -> Elsewhere | None:
        """Where the very bytes of a body are kept already, if that is where they are said to be."""
        said = opening.elsewhere
        if said is None or len(opening.content) < BYTES_MIN:
            return None
        row = next((row for row in self._rows(connection, said) if row.pointer == said.pointer), None)
        if row is None or row.damage:
            return None
        shown = row.shown(said.seq, self.keys.veil)
        if shown.sha256 != opening.sha256 or shown.length != len(opening.content):
            return None
        return said if row.place is not None else one(connection, said.run, said.seq, said.pointer)

    def _rows(self, connection: Connection, said: Elsewhere) -> Sequence[OpeningRow]:
        rows = self._near.get(said.seq)
        if rows is None:
            rows, near = openings.around(connection, said.run, said.seq)
            self._near = near or self._near
        return rows


def add(additions: Additions, loan: Loan) -> None:
    """Adds a loan."""
    lent = loan.elsewhere
    additions.add(_INSERT, loan.run, loan.seq, loan.pointer, lent.run, lent.seq, lent.pointer)


def drop(connection: Connection, run: str, seqs: Collection[int] | None = None) -> None:
    """Deletes the loans of a run, of its events `seqs` or of all, in the caller's transaction."""
    if seqs is None:
        connection.execute("DELETE FROM loans WHERE run = ?", (run,))
    for seq in seqs or ():
        connection.execute("DELETE FROM loans WHERE run = ? AND seq = ?", (run, seq))

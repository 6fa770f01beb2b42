"""What the rooms of the store ask of a database: one connection, whatever kind of store stands behind it.

`sqlite3.Connection` is one as it is, so that a SQLite store pays nothing for the other kind.

Rules kept here and by whoever writes SQL:
- Values are bound as `?`; rows come in an order only where the query says which.
- No table is read by its rowid, and nothing is asked of a cursor but its rows.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

type Value = str | bytes | int | float | None


class Rows(Protocol):
    """What a statement has found, row by row: tuples of what lies in the columns."""

    def __iter__(self) -> Iterator[Any]:
        """The rows that were not taken yet."""

    def fetchone(self) -> Any:  # noqa: ANN401  # as the sqlite3 module has it: a tuple or None
        """The next row; None when there is none."""

    def fetchall(self) -> list[Any]:
        """All rows that were not taken yet."""


class Connection(Protocol):
    """One connection to the database of a store. Transactions are begun by hand: see `store.database`.

    Raises one of `FAULTS` when the database cannot do what it is asked for.
    """

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""

    def execute(self, sql: str, parameters: Sequence[Value] = (), /) -> Rows:
        """Runs one statement."""

    def executemany(self, sql: str, parameters: Iterable[Sequence[Value]], /) -> Rows:
        """Runs one statement with each row of values."""

    def close(self) -> None:
        """Gives the connection back; what was not committed is undone."""


# What a database says when it fails.
FAULTS = (sqlite3.Error,)

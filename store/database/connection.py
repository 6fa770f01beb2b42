"""What the rooms of the store ask of a database: one connection, whatever kind of store stands behind it.

`sqlite3.Connection` is one as it is, so that a SQLite store pays nothing for the other kind.

Rules kept here and by whoever writes SQL:
- Values are bound as `?` or `?1`; rows come in an order only where the query says which.
- No table is read by its rowid, and nothing is asked of a cursor but its rows.
- What the two kinds spell differently is asked of `store.database`, or put right in `store.database.dialect`.
"""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
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


class Fault(Exception):
    """What a database server said, or that it said nothing; `hint` is what a person can do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


# What a database says when it fails.
FAULTS = (sqlite3.Error, Fault)


class Served(ABC):
    """A connection to a server, which is asked for what SQLite is told by its pragmas and its files.

    See the functions of `store.database` that bear the same names.
    """

    @abstractmethod
    def write_anew(self) -> bool:
        """Leaves nothing in the tables of what was deleted; False while somebody else uses the store."""

    @abstractmethod
    def note_untidy(self) -> None:
        """Notes that the tables are still to be written anew, in the caller's transaction."""

    @abstractmethod
    def is_untidy(self) -> bool:
        """Whether they are."""

    @abstractmethod
    def hurry(self) -> None:
        """Waits for nobody from now on."""

    @abstractmethod
    def has_table(self, name: str) -> bool:
        """Whether there is such a table."""

    @abstractmethod
    def may_delete(self) -> bool:
        """Whether our role may move events from their rows into blocks."""

    @abstractmethod
    def hold(self, owner: str) -> None:
        """Holds the lease of the writer `owner` for as long as the connection is there."""

    @abstractmethod
    def inherited(self, owner: str) -> AbstractContextManager[bool]:
        """Whether the writer `owner` is dead; if so its lease is ours meanwhile."""

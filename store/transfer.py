"""A store copied as it is into another place, of either kind: the same records, the same log, the same origin.

docs/format.md, section 9: what moves a store changes nothing that is proven.

Rules kept here:
- All is read of one moment, and written in one transaction, into a store that has nothing yet.
- Nothing is copied while somebody records: of two stores that go on from the same log, one would be a fork.
"""

import contextlib
from collections.abc import Callable, Iterator
from itertools import batched
from pathlib import Path

from store import database
from store.core.errors import EdgetapeError
from store.database.connection import Connection
from store.database.tables import Table, tables
from store.lease import inheriting

type Progress = Callable[[int, int], None]

_ROWS_AT_ONCE = 200


class CopyRefused(EdgetapeError):
    """A store that must not be copied now, or a place that has one already."""


def copy(source: Path, target: Path, progress: Progress) -> int:
    """Copies the store in one folder to another one; how many rows it has. `progress(done, total)` is told of rows.

    Raises CopyRefused, StoreUnusable.
    """
    with (
        contextlib.closing(database.open_for_reading(source)) as old,
        database.explained(source),
        database.snapshot(old),
    ):
        _refuse_while_recorded(old, source)
        total = sum(_count(old, table) for table in tables())
        with contextlib.closing(database.open_for_writing(target)) as new, database.explained(target):
            _copy(old, new, target, lambda done: progress(done, total))
    return total


def _copy(old: Connection, new: Connection, target: Path, told: Callable[[int], None]) -> None:
    done = 0
    with database.transaction(new):
        if any(_count(new, table) for table in tables()):
            raise CopyRefused(f"there is a store at {database.shown(target)} already", hint="name an empty place")
        for table in tables():
            for rows in batched(_rows(old, table), _ROWS_AT_ONCE):
                new.executemany(_insert(table), rows)
                done += len(rows)
                told(done)


def _refuse_while_recorded(connection: Connection, folder: Path) -> None:
    for run, owner in connection.execute("SELECT run, owner FROM leases ORDER BY run").fetchall():
        with inheriting(connection, folder / "leases", owner) as dead:
            if not dead:
                raise CopyRefused(f"run {run} is being recorded", hint="end its recorder first")


def _count(connection: Connection, table: Table) -> int:
    if not database.has_table(connection, table.name):
        return 0
    return int(connection.execute(f"SELECT COUNT(*) FROM {table.name}").fetchone()[0])


def _rows(connection: Connection, table: Table) -> Iterator[tuple[str | bytes | int, ...]]:
    if not database.has_table(connection, table.name):
        return
    columns, key = ", ".join(name for name, _ in table.columns), ", ".join(table.key)
    query = f"SELECT {columns} FROM {table.name}"
    if table.key[0] != "run":
        yield from connection.execute(f"{query} ORDER BY {key}")
        return
    # A run at a time: a server's answer comes as a whole.
    for (run,) in connection.execute(f"SELECT DISTINCT run FROM {table.name} ORDER BY run").fetchall():
        yield from connection.execute(f"{query} WHERE run = ? ORDER BY {key}", (run,))


def _insert(table: Table) -> str:
    columns = ", ".join(name for name, _ in table.columns)
    return f"INSERT INTO {table.name} ({columns}) VALUES ({', '.join('?' for _ in table.columns)})"

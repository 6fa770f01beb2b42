"""The database of a store, of either kind: a SQLite file in the store's folder, or a PostgreSQL server that it names.

Rules kept here:
- One writer at a time: a transaction that writes sees all that was committed before it, and nobody comes between.
- What a commit has returned for survives a power cut.
- A reader takes no lock that a writer would wait for.
- Foreign exceptions end here: everything above sees StoreUnusable.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from store.core.errors import StoreUnusable
from store.database import server, sqlite
from store.database.connection import FAULTS, Connection, Fault, Served
from store.database.server import shown
from store.database.sqlite import FILE_NAME, connect

__all__ = ["FAULTS", "FILE_NAME", "Connect", "Connection", "connect", "explained", "shown", "transaction"]

type Connect = Callable[[Path], sqlite3.Connection]

_TIDY_MS_MAX = 200


def open_for_writing(folder: Path, connect: Connect = connect) -> Connection:
    """The connection of a writer to the store in `folder`, which is made (0700) if it is not there.

    Raises StoreUnusable: no such place, no permission, locked, full, or of a newer version.
    """
    known = server.of(folder)
    if known is None:
        return sqlite.open_for_writing(folder, connect)
    with explained(folder):
        return server.driver().open_for_writing(known)


def open_for_reading(folder: Path, *, doubted: bool = False) -> Connection:
    """A read-only connection to the store in `folder`; `doubted` when text that is none must not stop the reader.

    Raises StoreUnusable when there is none that we can read.
    """
    known = server.of(folder)
    if known is None:
        return sqlite.open_for_reading(folder, doubted=doubted)
    with explained(folder):
        return server.driver().open_for_reading(known)


def demand(folder: Path) -> None:
    """Raises StoreUnusable unless there is a store in `folder`."""
    if server.of(folder) is None:
        sqlite.demand(folder)
    else:
        open_for_reading(folder).close()


class _Explained(sqlite.Explained):
    def _said(self, error: BaseException) -> StoreUnusable | None:
        if isinstance(error, Fault):
            return StoreUnusable(f"the store {server.shown(self._path)} cannot be used: {error}", hint=error.hint)
        return super()._said(error)


def explained(path: Path) -> AbstractContextManager[None]:
    """Turns what a database and the system say into one StoreUnusable; `path` is the store's folder, or its file."""
    return _Explained(path)


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """BEGIN IMMEDIATE, then COMMIT; ROLLBACK when anything is raised, also by the COMMIT itself."""
    if connection.in_transaction:
        # The ROLLBACK of the one before failed too, as it may on a failing disk.
        connection.execute("ROLLBACK")
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def changes(connection: Connection) -> int | None:
    """A number that is another one as soon as somebody else has committed, asked in an open transaction; None where the
    kind of store has none (SQLite: https://www.sqlite.org/pragma.html#pragma_data_version).
    """
    if isinstance(connection, Served):
        return None
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


@contextmanager
def snapshot(connection: Connection) -> Iterator[None]:
    """Everything that is read inside is of one moment."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")


def begin_to_read(connection: Connection) -> None:
    """Makes a connection read the moment that is now, until it begins anew."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")
    connection.execute("BEGIN")
    connection.execute("SELECT 1 FROM leaves LIMIT 1").fetchall()


def without_log(folder: Path, hint: str) -> StoreUnusable:
    """What a store says that was made and never begun."""
    return StoreUnusable(f"the store at {shown(folder)} has no log", hint=hint)


def is_served(folder: Path) -> bool:
    """Whether the store in `folder` is kept by a database server, and so has no file."""
    return server.of(folder) is not None


def write_anew(connection: Connection) -> bool:
    """Writes the tables anew: no byte is left in them, or beside them, of what was deleted.

    False while somebody else uses the store.
    """
    return connection.write_anew() if isinstance(connection, Served) else sqlite.write_anew(connection)


def forget_deleted(connection: Connection) -> None:
    """Lets what is deleted from now on be overwritten, where the kind of store can do that."""
    if not isinstance(connection, Served):
        connection.execute("PRAGMA secure_delete=ON")


def note_untidy(connection: Connection) -> None:
    """Notes that the tables are still to be written anew, in the caller's transaction."""
    if isinstance(connection, Served):
        connection.note_untidy()
    else:
        connection.execute(f"PRAGMA user_version={sqlite.UNTIDY}")


def is_untidy(connection: Connection) -> bool:
    """Whether the tables are still to be written anew."""
    if isinstance(connection, Served):
        return connection.is_untidy()
    return bool(connection.execute("PRAGMA user_version").fetchone() == (sqlite.UNTIDY,))


def hurry(connection: Connection) -> None:
    """Waits for nobody from now on."""
    if isinstance(connection, Served):
        connection.hurry()
    else:
        connection.execute("PRAGMA busy_timeout=0")


def leave_one_file(connection: Connection) -> None:
    """Leaves one file behind, not a file and its log; a reader in our way is no reason to wait."""
    if not isinstance(connection, Served):
        connection.execute(f"PRAGMA busy_timeout={_TIDY_MS_MAX}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def has_table(connection: Connection, name: str) -> bool:
    """Whether there is such a table: one that came later is missing where nobody has written since."""
    if isinstance(connection, Served):
        return connection.has_table(name)
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(query, (name,)).fetchone() is not None


def may_delete(connection: Connection) -> bool:
    """Whether we may move events from their rows into blocks: the recorder's role on a server may not."""
    return connection.may_delete() if isinstance(connection, Served) else True


def fault_of_file(connection: Connection) -> str:
    """What is wrong with the file, where the kind of store has one: readers find by indexes what lies in tables, and
    both must be whole. Empty where it is.
    """
    if isinstance(connection, Served):
        return ""
    ((said,),) = connection.execute("PRAGMA integrity_check(1)").fetchall()
    return "" if said == "ok" else str(said)

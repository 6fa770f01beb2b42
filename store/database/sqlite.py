"""Opening the SQLite file of a store, for writing or for reading, with errors that a person can act on.

Rules kept here:
- WAL and `synchronous=FULL`: what a commit has returned for survives a power cut.
- A reader opens read-only and takes no lock that a writer would wait for.
"""

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from store import schema
from store.core.errors import StoreUnusable
from store.database.connection import Connection

FILE_NAME = "edgetape.db"
BUSY_TIMEOUT_S = 10.0
UNTIDY = 1  # SQLite's user_version while the file is still to be written anew: a transaction writes it with the rest
# Of a new store. What a run leaves is a few values of some kilobytes, and what a commit writes is a page for each row
# that it touches: pages as SQLite would choose them, of 4 KiB, make a file a third longer and a commit no faster.
PAGE_BYTES = 512

_NOT_WRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)

type Connect = Callable[[Path], sqlite3.Connection]


def connect(path: Path) -> sqlite3.Connection:
    """A connection for the writer's thread; transactions are begun by hand."""
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    try:
        connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
    except Exception:
        connection.close()
        raise
    return connection


def open_for_writing(folder: Path, connect: Connect = connect) -> Connection:
    """The connection of a writer to the store in `folder`, which is made (0700) if it is not there.

    Raises StoreUnusable: no such place, no permission, locked, full, or of a newer version.
    """
    path = folder / FILE_NAME
    with Explained(path):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(folder / "making.lock"):
            # Made by us, so that SQLite gives the files that it lays beside it the same mode. One that is there is not
            # opened: closing it would take away the locks of this process's other connections (fcntl(2)), and the next
            # process to end would remove the log that they write.
            with contextlib.suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            connection = connect(path)
            try:
                if _applied(connection, path, may_be_empty=True) != schema.known():
                    schema.migrate(connection)
            except Exception:
                connection.close()
                raise
    return connection


def open_for_reading(folder: Path, *, doubted: bool = False) -> Connection:
    """A read-only connection to the store in `folder`; `doubted` when text that is none must not stop the reader.

    Raises StoreUnusable when there is none that we can read.
    """
    path = folder / FILE_NAME
    demand(folder)
    with Explained(path):
        try:
            return _read_only(path, "mode=ro", doubted=doubted)
        except sqlite3.OperationalError as error:
            # SQLite wants to lay a file beside a database in WAL mode; where we may not, and none lies there, nobody
            # writes, and the file is all there is.
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # what the Python module says itself has no code
            if code not in _NOT_WRITABLE or path.with_name(f"{path.name}-wal").exists():
                raise
        return _read_only(path, "mode=ro&immutable=1", doubted=doubted)


def demand(folder: Path) -> None:
    """Raises StoreUnusable unless there is a store in `folder`."""
    if not (folder / FILE_NAME).is_file():
        raise StoreUnusable(
            f"there is no store at {folder}", hint="record a run first, or name another store with --store"
        )


def _read_only(path: Path, mode: str, *, doubted: bool) -> sqlite3.Connection:
    # A second thread may read bodies while the first one iterates; each call uses its own cursor.
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?{mode}",
        uri=True,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,
        check_same_thread=False,
    )
    if doubted:
        # Whoever changed the file may have put anything into it: text that is none must be a finding, not a failure.
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    try:
        _applied(connection, path, may_be_empty=False)
    except Exception:
        connection.close()
        raise
    return connection


class Explained:
    """Turns what SQLite and the system say inside into one StoreUnusable. It stands around every body that is read."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        found = None if error is None else self._said(error)
        if found is not None:
            raise found from error

    def _said(self, error: BaseException) -> StoreUnusable | None:
        match error:
            case sqlite3.Error():
                return StoreUnusable(f"the store {self._path} cannot be used: {error}", hint=_hint(error))
            case OSError():
                return StoreUnusable(f"the store {self._path} cannot be used: {error.strerror}")
            case UnicodeDecodeError():
                # Python's module cannot even tell what SQLite says of a file whose text is damaged.
                hint = "keep it, and restore a copy"
                return StoreUnusable(f"the store {self._path} is damaged: {error}", hint=hint)
        return None


def write_anew(connection: Connection) -> bool:
    """Writes the file anew and cuts off the write-ahead log: no byte is left of what was deleted.

    False while somebody else uses the store.
    """
    try:
        connection.execute("VACUUM")
        ((busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if not busy and connection.execute("PRAGMA user_version").fetchone() == (UNTIDY,):
            connection.execute("PRAGMA user_version=0")
    except sqlite3.OperationalError:
        return False
    return not busy


def _applied(connection: Connection, path: Path, *, may_be_empty: bool) -> frozenset[str]:
    """The migrations that a database has behind it. Raises StoreUnusable for one that is no store, or a newer one."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    own = schema.MIGRATIONS
    query = f"SELECT name FROM {own} WHERE migration_set = ?"
    applied = frozenset(name for (name,) in connection.execute(query, (schema.OURS,))) if own in tables else frozenset()
    is_empty = all(name == own or name.startswith("sqlite_") for name in tables)
    if not applied and not (may_be_empty and is_empty):
        raise StoreUnusable(f"the database {path} is no store of edgetape", hint="name another store with --store")
    if applied - schema.known():
        raise StoreUnusable(
            f"the store {path} was written by a newer version of edgetape",
            hint="upgrade edgetape, or name another store",
        )
    return applied


def _hint(error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", "")
    hints = {
        "SQLITE_FULL": "the disk is full: make room and try again",
        "SQLITE_BUSY": "another program holds the store locked: end it, or wait",
        "SQLITE_NOTADB": "the file is no SQLite database, or it is damaged: restore it, or name another store",
        "SQLITE_CORRUPT": "the file is damaged: keep it, and restore the store from a copy",
        "SQLITE_IOERR": "the disk or its file system failed: see what the system's log says",
        "SQLITE_READONLY": "the file or its folder is read-only for this user",
        "SQLITE_CANTOPEN": "its folder is missing, or closed to this user",
    }
    return next((hint for code, hint in hints.items() if name.startswith(code)), "")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    # Two recorders that start at once must not both make the tables.
    lock = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)

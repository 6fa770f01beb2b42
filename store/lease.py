"""Who writes into which open run: a lock a writer, which goes when the writer dies.

Of a SQLite store it is a lock on a file, which the system gives up; not a process number: it holds across namespaces,
and nobody else's new process can take it by chance. Of a store on a server, whose writers may be on many machines, it
is a lock of the writer's session there.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from store.database.connection import Connection, Served


class Lease:
    """Held from the writer's start to its end; every run that it opens names it."""

    def __init__(self, folder: Path, owner: str) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self.owner = owner
        self._path = _path(folder, owner)
        self._descriptor: int | None = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def release(self) -> None:
        """Gives it up; its file goes, so that nothing piles up. A second call changes nothing."""
        if self._descriptor is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None


class SessionLease:
    """The same for a writer whose store is on a server: held as long as its connection is."""

    def __init__(self, connection: Served, owner: str) -> None:
        self.owner = owner
        connection.hold(owner)

    def release(self) -> None:
        """It has gone with the connection."""


def taken(connection: Connection, folder: Path, owner: str) -> Lease | SessionLease:
    """The lease of a writer with this connection; files of leases lie in `folder`."""
    return SessionLease(connection, owner) if isinstance(connection, Served) else Lease(folder, owner)


def inheriting(connection: Connection, folder: Path, owner: str) -> AbstractContextManager[bool]:
    """As `inherited`, for whatever kind of store the connection is to."""
    return connection.inherited(owner) if isinstance(connection, Served) else inherited(folder, owner)


@contextmanager
def inherited(folder: Path, owner: str) -> Iterator[bool]:
    """Whether the writer `owner` is dead; if so its lease is ours meanwhile, and gone at the end."""
    path = _path(folder, owner)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        yield True
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
        path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _path(folder: Path, owner: str) -> Path:
    return folder / f"{owner}.lock"

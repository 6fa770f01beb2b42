"""Ends the runs whose writers died, in the caller's transaction (docs/format.md, sections 4-5)."""

from collections.abc import Callable
from pathlib import Path

from store.core.errors import EdgetapeError
from store.database.connection import Connection
from store.lease import inheriting
from store.livelogs import LiveLogs

type Close = Callable[[Connection, str], object]


def adopt(connection: Connection, leases: Path, owner: str, logs: LiveLogs, close: Close) -> dict[str, Exception]:
    """Lets `close` end every run that a dead writer left open; those that it could not end, and why.

    A damaged run stays as it is: it must not keep others out.
    """
    refused: dict[str, Exception] = {}
    for run, other in connection.execute("SELECT run, owner FROM leases WHERE owner <> ?", (owner,)).fetchall():
        with inheriting(connection, leases, other) as dead:
            error = _tried(connection, run, logs, close) if dead else None
        if error is not None:
            refused[run] = error
    return refused


def _tried(connection: Connection, run: str, logs: LiveLogs, close: Close) -> Exception | None:
    connection.execute("SAVEPOINT adopted")
    marks = logs.mark()
    refused: Exception | None = None
    try:
        close(connection, run)
    except (EdgetapeError, ValueError) as error:
        connection.execute("ROLLBACK TO adopted")
        logs.undo(marks)
        refused = error
    connection.execute("RELEASE adopted")
    return refused

"""The pieces of streams that are still open, until their event holds them (docs/format.md, sections 5 and 8).

Rules kept here:
- A piece is closed under the payload key of its run, for the place where it stands.
"""

import contextlib
from collections.abc import Iterator

from store.additions import Additions
from store.core.errors import Malformed
from store.database.connection import Connection
from store.livelogs import LiveLogs
from store.vault import RunKeys

UPLOAD = "upload"
_INSERT = "INSERT INTO pending (run, req, part, number, piece) VALUES (?, ?, ?, ?, ?)"
_LABEL = "edgetape/pending/v1"


def keep(connection: Connection, logs: LiveLogs, run: str, req: int, part: str, piece: bytes) -> None:
    """Adds the next piece of one part of a stream."""
    keys, numbers = logs.keys(connection, run), logs.recall.pieces
    number = numbers.get((run, req, part), -1)
    if number < 0:
        query = "SELECT COALESCE(MAX(number) + 1, 0) FROM pending WHERE run = ? AND req = ? AND part = ?"
        ((number,),) = connection.execute(query, (run, req, part)).fetchall()
    numbers[run, req, part] = number + 1
    logs.additions.add(_INSERT, *_row(keys, req, part, number, piece))


def part(connection: Connection, keys: RunKeys, req: int, part: str) -> bytes:
    """What is kept of one part of a stream, up to the first piece that is not as it was written."""
    return b"".join(piece for _, piece in _pieces(connection, keys, req, part))


def drop(additions: Additions, run: str, req: int, *, upload: bool) -> None:
    """Deletes the pieces of an upload, or of an answer, that its event holds now."""
    operator = "=" if upload else "<>"
    additions.drop(f"DELETE FROM pending WHERE run = ? AND req = ? AND part {operator} ?", run, req, UPLOAD)


def drop_all(connection: Connection, run: str) -> None:
    """Deletes all pieces of a run."""
    connection.execute("DELETE FROM pending WHERE run = ?", (run,))


def move(connection: Connection, old: RunKeys, new: RunKeys) -> int:
    """Closes the pieces of a run under its new keys, in the caller's transaction; how many requests they are of."""
    query = "SELECT DISTINCT req, part FROM pending WHERE run = ? ORDER BY req, part"
    parts = connection.execute(query, (old.run,)).fetchall()
    kept = [(req, name, *each) for req, name in parts for each in _pieces(connection, old, req, name)]
    drop_all(connection, old.run)
    for each in kept:
        connection.execute(_INSERT, _row(new, *each))
    return len({req for req, _ in parts})


def _pieces(connection: Connection, keys: RunKeys, req: int, part: str) -> Iterator[tuple[int, bytes]]:
    query = "SELECT number, piece FROM pending WHERE run = ? AND req = ? AND part = ? ORDER BY number"
    with contextlib.suppress(Malformed):
        for number, piece in connection.execute(query, (keys.run, req, part)).fetchall():
            yield number, keys.pieces.open(piece, _about(keys, req, part, number))


def _row(keys: RunKeys, req: int, part: str, number: int, piece: bytes) -> tuple[str, int, str, int, bytes]:
    return keys.run, req, part, number, keys.pieces.close(piece, _about(keys, req, part, number))


def _about(keys: RunKeys, req: int, part: str, number: int) -> bytes:
    return f"{_LABEL}\n{keys.origin}\n{keys.run}\n{req}\n{part}\n{number}".encode()

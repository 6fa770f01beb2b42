"""The store log in SQLite: leaves, the nodes of their tree, checkpoints (docs/format.md, section 6).

Rules kept here:
- Everything runs inside the caller's transaction and reads the log's size there: any number of writers share one log.
- Every complete node of the tree is kept, so the root at any earlier size costs O(log n).
"""

from store.core import merkle, proof
from store.core.errors import StoreUnusable
from store.core.leaf import Leaf, encode
from store.database.connection import Connection


def size(connection: Connection) -> int:
    """How many leaves the log has."""
    return int(connection.execute("SELECT COALESCE(MAX(position) + 1, 0) FROM leaves").fetchone()[0])


def append(connection: Connection, ts: str, leaf: Leaf) -> int:
    """Appends a leaf and gives its position."""
    position = size(connection)
    raw = encode(ts, leaf)
    nodes = merkle.completed(position, _subtrees(connection, position), raw)
    connection.execute("INSERT INTO leaves (position, leaf) VALUES (?, ?)", (position, raw))
    connection.executemany("INSERT INTO nodes (level, position, hash) VALUES (?, ?, ?)", nodes)
    return position


def root_at(connection: Connection, leaves: int) -> bytes | None:
    """The root of the first `leaves` leaves (32 bytes); None when the log is shorter."""
    if leaves > size(connection):
        return None
    return merkle.fold(_subtrees(connection, leaves))


def inclusion(connection: Connection, index: int, leaves: int) -> list[bytes]:
    """The audit path of leaf `index` in the log as it was with `leaves` leaves. Raises ValueError beyond its end."""
    _refuse_beyond(connection, leaves)
    return proof.inclusion(index, leaves, lambda level, position: _node(connection, level, position))


def consistency(connection: Connection, old: int, new: int) -> list[bytes]:
    """The proof that the first `new` leaves only add to the first `old`. Raises ValueError beyond the log's end."""
    _refuse_beyond(connection, new)
    return proof.consistency(old, new, lambda level, position: _node(connection, level, position))


def newest_checkpoint(connection: Connection) -> bytes | None:
    """The signed note over the most leaves."""
    row = connection.execute("SELECT note FROM checkpoints ORDER BY size DESC LIMIT 1").fetchone()
    return None if row is None else bytes(row[0])


def sealed_size(connection: Connection) -> int:
    """How many leaves the newest checkpoint covers."""
    return int(connection.execute("SELECT COALESCE(MAX(size), 0) FROM checkpoints").fetchone()[0])


def add_checkpoint(connection: Connection, leaves: int, note: bytes) -> None:
    """Keeps a signed note; one that another writer has kept for the same size is the same note."""
    connection.execute(
        "INSERT INTO checkpoints (size, note)"
        " SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM checkpoints WHERE size = ?1)",
        (leaves, note),
    )


def _refuse_beyond(connection: Connection, leaves: int) -> None:
    if leaves > size(connection):
        raise ValueError(f"the log has fewer than {leaves} leaves")


def _subtrees(connection: Connection, leaves: int) -> list[bytes]:
    return [_node(connection, *place) for place in merkle.frontier(leaves)]


def _node(connection: Connection, level: int, position: int) -> bytes:
    row = connection.execute("SELECT hash FROM nodes WHERE level = ? AND position = ?", (level, position)).fetchone()
    if row is None:
        raise StoreUnusable(
            f"node {position} of level {level} is missing from the store's log", hint="run `edgetape verify`"
        )
    return bytes(row[0])

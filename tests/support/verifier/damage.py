"""The tools of somebody who may write every row of a store: he edits, and he covers up as far as he likes."""

import base64
import json
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.support.verifier.hashes import Tree, event_hash, leaf_hash
from tests.support.verifier.opener import Opener, RunKeys, ShutError
from tests.support.verifier.rows import Rows

type Cell = bytes | str | int
type Loose = dict[str, object]

KEYS = {
    "events": ("run", "seq"),
    "openings": ("run", "seq", "pointer"),
    "payloads": ("run", "seq", "pointer"),
    "loans": ("run", "seq", "pointer"),
    "event_blocks": ("run", "first"),
    "opening_blocks": ("run", "first"),
    "blocks": ("run", "number"),
    "keys": ("run", "kind"),
    "leaves": ("position",),
    "nodes": ("level", "position"),
    "checkpoints": ("size",),
    "anchors": ("position",),
    "annotations": ("run", "number"),
    "annotation_texts": ("run", "number"),
}


def canon(record: object) -> bytes:
    """Spell a record canonically, also where it is none."""
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def loose(data: bytes) -> Loose:
    """Read a record that may be damaged already; one without members when it cannot be read."""
    try:
        record: object = json.loads(data)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


class Damage:
    """A store that is open for writing without its triggers, and a random source."""

    def __init__(self, connection: sqlite3.Connection, source: random.Random, keys: Path) -> None:
        """Work on this connection, with the store key that lies in a folder."""
        self.connection = connection
        self.source = source
        self.keys = keys

    def run_keys(self, run: Cell) -> RunKeys | None:
        """Open the keys of a run; none where they are damaged already."""
        rows = Rows(self.connection)
        try:
            return Opener.of(self.keys, self.origin(), rows.keys("")).run(str(run), rows.keys(str(run)))
        except (ShutError, KeyError, IndexError):
            return None

    def sql(self, statement: str, *values: Cell) -> list[tuple[Cell, ...]]:
        """Run a statement."""
        return self.connection.execute(statement, values).fetchall()

    def some(self, table: str, columns: str, where: str = "1") -> tuple[Cell, ...]:
        """Give some columns of one row; of none when there is no such row."""
        rows = self.sql(f"SELECT {columns} FROM {table} WHERE {where} ORDER BY {', '.join(KEYS[table])}")
        return self.source.choice(rows) if rows else ()

    def change(self, table: str, rowid: Cell, **columns: Cell) -> None:
        """Change columns of a row, unless another row has that key."""
        names = ", ".join(f"{name} = ?" for name in columns)
        self.sql(f"UPDATE OR IGNORE {table} SET {names} WHERE rowid = ?", *columns.values(), rowid)

    def event(self, run: Cell, seq: Cell) -> bytes:
        """Read an event's bytes; no bytes where there is none."""
        rows = self.sql("SELECT event FROM events WHERE run = ? AND seq = ?", run, seq)
        return rows[0][0] if rows and isinstance(rows[0][0], bytes) else b""

    def write(self, run: Cell, seq: Cell, data: bytes, *, rehash: bool) -> None:
        """Change an event's bytes, and its hash with them or not."""
        self.sql("UPDATE events SET event = ? WHERE run = ? AND seq = ?", data, run, seq)
        if rehash:
            self.sql("UPDATE events SET hash = ? WHERE run = ? AND seq = ?", event_hash(data), run, seq)

    def seqs(self, run: Cell) -> list[int]:
        """List the seqs of a run."""
        rows = self.sql("SELECT seq FROM events WHERE run = ? ORDER BY seq", run)
        return [seq for (seq,) in rows if isinstance(seq, int)]

    def runs(self) -> list[str]:
        """List the runs that have events."""
        return [str(run) for (run,) in self.sql("SELECT DISTINCT run FROM events ORDER BY run")]

    def columns(self, table: str) -> list[str]:
        """List the columns of a table."""
        return [str(name) for _, name, *_ in self.sql(f"PRAGMA table_info({table})")]

    def rechain(self, run: Cell) -> None:
        """Make every later event follow the one before it, and the run.close agree with them."""
        before: list[bytes] = []
        for seq in self.seqs(run):
            data = self.event(run, seq)
            record = loose(data)
            if record and before:
                record["prev"] = event_hash(before[-1]).hex()
                if record.get("type") == "run.close":
                    root = Tree([leaf_hash(one) for one in before]).root(len(before)).hex()
                    record |= {"head": record["prev"], "root": root}
                data = canon(record)
            self.write(run, seq, data, rehash=True)
            before.append(data)

    def relog(self, run: Cell) -> None:
        """Make the log's leaves about a run agree with its events."""
        for position, data in self.sql("SELECT position, leaf FROM leaves ORDER BY position"):
            leaf = loose(bytes(data) if isinstance(data, bytes) else b"")
            if leaf.get("run") != run:
                continue
            n = leaf.get("n", 1)
            last = self.event(run, n - 1 if isinstance(n, int) else 0)
            leaf["head"] = event_hash(last).hex()
            if leaf["type"] == "run.close":
                leaf["root"] = loose(last).get("root", "0" * 64)
            self.sql("UPDATE leaves SET leaf = ? WHERE position = ?", canon(leaf), position)
        self.regrow()

    def leaves(self) -> list[bytes]:
        """Read the leaves."""
        rows = self.sql("SELECT leaf FROM leaves ORDER BY position")
        return [data for (data,) in rows if isinstance(data, bytes)]

    def vkey(self) -> str:
        """Read the store's key from leaf 0."""
        return str(loose(self.leaves()[0])["vkey"])

    def origin(self) -> str:
        """Read the store's origin from leaf 0."""
        return str(loose(self.leaves()[0])["origin"])

    def regrow(self) -> None:
        """Make the nodes again from the leaves."""
        self.sql("DELETE FROM nodes")
        levels = Tree([leaf_hash(data) for data in self.leaves()]).levels
        for level, row in enumerate(levels):
            for position, node in enumerate(row):
                self.sql("INSERT INTO nodes (level, position, hash) VALUES (?, ?, ?)", level, position, node)

    def resign(self, **lies: str | int) -> None:
        """Put a key of one's own into leaf 0 and sign every checkpoint with it; about one of them tell these lies."""
        leaves = self.leaves()
        created = loose(leaves[0]) if leaves else {}
        origin = created.get("origin")
        if not isinstance(origin, str):
            return
        key = Ed25519PrivateKey.from_private_bytes(bytes(self.source.randbytes(32)))
        public = b"\x01" + key.public_key().public_bytes_raw()
        identity = sha256(f"{origin}\n".encode() + public).digest()[:4]
        created["vkey"] = f"{origin}+{identity.hex()}+{base64.b64encode(public).decode()}"
        self.sql("UPDATE leaves SET leaf = ? WHERE position = 0", canon(created))
        self.regrow()
        tree = Tree([leaf_hash(data) for data in self.leaves()])
        sizes = [size for (size,) in self.sql("SELECT size FROM checkpoints") if isinstance(size, int)]
        liar = self.source.choice(sizes) if sizes else None
        for size in sizes:
            lie = lies if size == liar else {}
            root = tree.root(size) if size <= len(tree) else bytes(32)
            encoded = base64.b64encode(root).decode()
            text = f"{lie.get('origin', origin)}\n{lie.get('size', size)}\n{lie.get('root', encoded)}\n"
            signature = base64.b64encode(identity + key.sign(text.encode())).decode()
            note = f"{text}\n{lie.get('before', '')}\u2014 {origin} {signature}\n{lie.get('after', '')}"
            self.sql("UPDATE checkpoints SET note = ? WHERE size = ?", note.encode(), size)


@contextmanager
def damaged(store: Path, copy: Path, source: random.Random) -> Iterator[Damage]:
    """Copy a store and open the copy for writing."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(store, copy)
    with closing(sqlite3.connect(copy / "edgetape.db", isolation_level=None)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        yield Damage(connection, source, store.parent / "keys")
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

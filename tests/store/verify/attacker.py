"""Somebody with the disk, and all that the program can do, but (mostly) without the key: what they do to a store."""

import base64
import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

import zstandard
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from store.core import checkpoint, digest, merkle
from store.core.checkpoint import Checkpoint, VerifierKey
from store.database import FILE_NAME
from store.payloads import bodies
from store.splices import stream
from store.splices.guard import Guard
from store.splices.splicer import Splicer
from store.splices.stream import Block, Span
from store.vault import RunKeys, Vault
from tests.store.verify.rolling import roll, unrolled

type Record = dict[str, object]

MIDDLE = 3  # the second request of a closed run: it has a query and a body


def encoded(record: Record) -> bytes:
    """Canonical bytes, without a check of what they say."""
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


class Attacker:
    """Has the file open, and no trigger in the way.

    What lies in blocks is in rows meanwhile; with `blocks`, it is in blocks again in the end.
    """

    def __init__(self, folder: Path, *, blocks: bool = False) -> None:
        self.folder = folder
        self.db = sqlite3.connect(folder / FILE_NAME, isolation_level=None)
        for (name,) in self.db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            self.db.execute(f"DROP TRIGGER {name}")
        rolled = unrolled(self.db)
        self.rolled = rolled if blocks else set[str]()
        ((raw,),) = self.db.execute("SELECT leaf FROM leaves WHERE position = 0").fetchall()
        self.key = VerifierKey.parse(json.loads(raw)["vkey"])
        self.origin = self.key.name

    def double(self, table: str, where: str, *values: object) -> None:
        """Takes the key of a table away, and puts the rows that are meant into it once more."""
        self.db.execute(f"CREATE TABLE doubled AS SELECT * FROM {table}")
        self.db.execute(f"DROP TABLE {table}")
        self.db.execute(f"ALTER TABLE doubled RENAME TO {table}")
        done = self.db.execute(f"INSERT INTO {table} SELECT * FROM {table} WHERE {where}", values)
        assert done.rowcount == 1

    @property
    def keys(self) -> Path:
        """Where the keys of the store lie, which mostly he has not."""
        return self.folder.parent / "keys"

    def run_keys(self, run: str) -> RunKeys:
        """The keys of a run, which the program of the store's keeper would use for him."""
        return Vault(self.keys, self.origin).of(self.db, run)

    def give_keys(self, run: str) -> None:
        """Gives a run keys of its own."""
        Vault(self.keys, self.origin).make(self.db, run)

    def copy_openings(self, run: str, copy: str) -> None:
        """Gives a run the openings of another one."""
        old, new = self.run_keys(run).veil, self.run_keys(copy).veil
        query = "SELECT seq, pointer, salt, sha256, length FROM openings WHERE run = ?"
        for seq, pointer, salt, sha256, length in self.db.execute(query, (run,)).fetchall():
            kept = new.kept(seq, pointer, *old.shown(seq, pointer, salt, sha256))
            self.db.execute("INSERT INTO openings VALUES (?, ?, ?, ?, ?, ?)", (copy, seq, pointer, *kept, length))

    def guard(self, run: str) -> Guard:
        """What closes blocks of a run."""
        return self.run_keys(run).guard

    def close(self) -> None:
        """Leaves one file behind."""
        for run in self.rolled:
            roll(self.db, run)
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.db.close()

    def run(self, name: str) -> str:
        """The id of the run of this name."""
        ((run,),) = self.db.execute("SELECT id FROM runs WHERE name = ?", (name,)).fetchall()
        return str(run)

    def raws(self, run: str) -> list[bytes]:
        """The events of a run."""
        return [raw for (raw,) in self.db.execute("SELECT event FROM events WHERE run = ? ORDER BY seq", (run,))]

    def put(self, run: str, seq: int, raw: bytes, hashed: bytes | None = None) -> None:
        """Replaces the bytes of an event, and the hash that is stored with it."""
        self.db.execute(
            "UPDATE events SET event = ?, hash = ? WHERE run = ? AND seq = ?",
            (raw, digest.event_hash(raw) if hashed is None else hashed, run, seq),
        )

    def edit(self, run: str, seq: int, change: Callable[[Record], object], *, rechain: bool = True) -> None:
        """Changes what an event says; then its hash, and if wanted all links after it, fit again."""
        record = json.loads(self.raws(run)[seq])
        change(record)
        self.put(run, seq, encoded(record))
        if rechain:
            self.rechain(run, seq + 1)

    def rechain(self, run: str, start: int) -> None:
        """Links every event from `start` on to the one before it, and numbers it."""
        raws = self.raws(run)
        for seq in range(max(1, start), len(raws)):
            record = {**json.loads(raws[seq]), "seq": seq, "prev": digest.event_hash(raws[seq - 1]).hex()}
            raws[seq] = encoded(record)
            self.put(run, seq, raws[seq])

    def insert(self, run: str, raw: bytes, seq: int) -> None:
        """Puts an event at `seq`; those that stood there and later move up, and what opens them fits again."""
        veil = self.run_keys(run).veil
        query = "SELECT rowid, seq, pointer, salt, sha256 FROM openings WHERE run = ? AND seq >= ?"
        for rowid, at, pointer, *hidden in self.db.execute(query, (run, seq)).fetchall():
            kept = veil.kept(at + 1, pointer, *veil.shown(at, pointer, *hidden))
            self.db.execute("UPDATE openings SET salt = ?, sha256 = ? WHERE rowid = ?", (*kept, rowid))
        tables = ("events", "openings", "payloads")
        for table in tables:
            self.db.execute(f"UPDATE {table} SET seq = -seq - 1 WHERE run = ? AND seq >= ?", (run, seq))
        for table in tables:
            self.db.execute(f"UPDATE {table} SET seq = -seq WHERE run = ? AND seq < 0", (run,))
        self.db.execute(
            "INSERT INTO events (run, seq, hash, event) VALUES (?, ?, ?, ?)", (run, seq, digest.event_hash(raw), raw)
        )
        self.rechain(run, seq)

    def drop(self, run: str, first: int, last: int | None = None) -> None:
        """Deletes the events from `first` to `last`, with their bodies."""
        last = first if last is None else last
        for table in ("events", "openings", "payloads"):
            self.db.execute(f"DELETE FROM {table} WHERE run = ? AND seq BETWEEN ? AND ?", (run, first, last))

    def recount(self, run: str) -> None:
        """Makes the catalogue fit the events."""
        records = [json.loads(raw) for raw in self.raws(run)]
        steps = sum(record["type"] in ("http.request", "value", "note") for record in records)
        closed = records[-1]["ts"] if records and records[-1]["type"] == "run.close" else ""
        values = (len(records), steps, closed, run)
        self.db.execute("UPDATE runs SET events = ?, steps = ?, closed = ? WHERE id = ?", values)

    def leaf(self, position: int, change: Callable[[Record], object] | bytes) -> None:
        """Changes a leaf, and the tree over it."""
        ((raw,),) = self.db.execute("SELECT leaf FROM leaves WHERE position = ?", (position,)).fetchall()
        if isinstance(change, bytes):
            raw = change
        else:
            record = json.loads(raw)
            change(record)
            raw = encoded(record)
        self.db.execute("UPDATE leaves SET leaf = ? WHERE position = ?", (raw, position))
        self.regrow()

    def leaf_of(self, kind: str, run: str | None = None) -> int:
        """Where the first leaf of a type (and run) stands."""
        for position, raw in self.db.execute("SELECT position, leaf FROM leaves ORDER BY position"):
            record = json.loads(raw)
            if record["type"] == kind and record.get("run") == run:
                return int(position)
        raise LookupError(kind)

    def regrow(self) -> None:
        """Computes every node of the tree from the leaves."""
        self.db.execute("DELETE FROM nodes")
        leaves = [raw for (raw,) in self.db.execute("SELECT leaf FROM leaves ORDER BY position").fetchall()]
        nodes = merkle.Forest(leaves).nodes()
        self.db.executemany("INSERT INTO nodes (level, position, hash) VALUES (?, ?, ?)", nodes)

    def cut_log(self, size: int) -> None:
        """Takes the leaves from `size` on out of the log."""
        self.db.execute("DELETE FROM leaves WHERE position >= ?", (size,))
        self.regrow()

    def root(self, size: int) -> bytes:
        """The root of the first `size` leaves."""
        query = "SELECT leaf FROM leaves WHERE position < ? ORDER BY position"
        return merkle.Tree(raw for (raw,) in self.db.execute(query, (size,))).root

    def newest_checkpoint(self) -> tuple[int, bytes]:
        """(size, note)."""
        ((size, note),) = self.db.execute("SELECT size, note FROM checkpoints ORDER BY size DESC LIMIT 1").fetchall()
        return int(size), bytes(note)

    def sign(self, private: Ed25519PrivateKey, *, origin: str | None = None, size: int | None = None) -> None:
        """Puts notes of this key in the place of all checkpoints, or of the newest one for another origin or size."""
        key = checkpoint.verifier_key(self.origin, private)
        sizes = [size for (size,) in self.db.execute("SELECT size FROM checkpoints ORDER BY size").fetchall()]
        for each in sizes if origin is None and size is None else sizes[-1:]:
            stated = each if size is None else size
            note = checkpoint.sign(Checkpoint(origin or self.origin, stated, self.root(stated)), key, private)
            self.db.execute("UPDATE checkpoints SET note = ? WHERE size = ?", (note, each))

    def stolen_key(self) -> Ed25519PrivateKey:
        """The true key of the store."""
        (path,) = (self.folder.parent / "keys").glob("*.pem")
        private = serialization.load_pem_private_key(path.read_bytes(), None)
        assert isinstance(private, Ed25519PrivateKey)
        return private

    def body(self, run: str, seq: int, pointer: str, content: bytes) -> None:
        """Replaces a stored body, its opening left as it is, and packs all of the run anew as it should be."""
        self.repack(run, {(seq, pointer): content})

    def repack(self, run: str, other: Mapping[tuple[int, str], bytes], more: bytes = b"") -> None:
        """Packs the bodies of a run that are left anew, some of them with other content, and `more` behind the last."""
        openings = "openings o JOIN payloads p ON p.run = o.run AND p.seq = o.seq AND p.pointer = o.pointer"
        query = f"SELECT p.seq, p.pointer, p.place, o.length FROM {openings} WHERE p.run = ? ORDER BY p.place"
        rows = self.db.execute(query, (run,)).fetchall()
        stored, splicer = bodies(self.db, run, self.guard(run)), Splicer()
        for seq, pointer, place, length in rows:
            content = other.get((seq, pointer))
            moved = splicer.add(stored.body(place, length) if content is None else content)
            statement = "UPDATE payloads SET place = ? WHERE run = ? AND seq = ? AND pointer = ?"
            self.db.execute(statement, (moved, run, seq, pointer))
        self.put_log(run, splicer.take() + more)

    def log_of(self, run: str) -> bytes:
        """The log of a run's bodies."""
        query = "SELECT number, start, length, frame, stored FROM blocks WHERE run = ? ORDER BY number"
        parts, unpacker = [], zstandard.ZstdDecompressor().decompressobj()
        for *numbers, stored in self.db.execute(query, (run,)).fetchall():
            span = Span(*numbers)
            if span.number == span.frame:
                unpacker = zstandard.ZstdDecompressor().decompressobj()
            parts.append(unpacker.decompress(self.guard(run).open(span, stored)))
        return b"".join(parts)

    def put_log(self, run: str, log: bytes) -> None:
        """Puts one block in the place of those of a run."""
        (block,) = stream.tight().blocks(log)
        self.put_block(run, block.content, len(log))

    def put_block(self, run: str, content: bytes, length: int) -> None:
        """Puts one block with this content, and the check that fits it, in the place of those of a run."""
        span = Span(0, 0, length, 0)
        self.db.execute("DELETE FROM blocks WHERE run = ?", (run,))
        self.db.execute(
            "INSERT INTO blocks (run, number, start, length, frame, stored) VALUES (?, 0, 0, ?, 0, ?)",
            (run, length, self.guard(run).close(Block(span, content))),
        )

    def open_as(self, run: str, seq: int, pointer: str, content: bytes) -> None:
        """Makes the opening of a body fit other content."""
        _, sha256 = self.run_keys(run).veil.kept(seq, pointer, b"", digest.body_digest(content))
        self.db.execute(
            "UPDATE openings SET sha256 = ?, length = ? WHERE run = ? AND seq = ? AND pointer = ?",
            (sha256, len(content), run, seq, pointer),
        )


def flipped(note: bytes) -> bytes:
    """A note with one bit of its signature changed, spelled well."""
    head, _, encoded_signature = note.decode().rstrip("\n").rpartition(" ")
    raw = bytearray(base64.b64decode(encoded_signature))
    raw[20] ^= 1
    return f"{head} {base64.b64encode(raw).decode()}\n".encode()

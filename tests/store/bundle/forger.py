"""Somebody with a bundle, every tool, and a key of his own: he edits, and covers up as far as he likes."""

import json
import random
from typing import cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from store.core import checkpoint, digest, merkle
from store.core.checkpoint import Checkpoint
from tests.store.bundle.parcel import Parcel, Record

EVENTS, LEAVES, OPENINGS = "events.ndjson", "log.ndjson", "openings.ndjson"
ANNOTATIONS = "annotations.ndjson"
VALUES: tuple[object, ...] = (
    0,
    1,
    2,
    3,
    7,
    999,
    -1,
    True,
    None,
    "",
    "x",
    "0" * 64,
    [],
    {},
    {"body": "0" * 64},
    1 << 54,
)
# The members on which both verifiers build; what else a record says only one of them reads.
MEMBERS = ("run", "seq", "prev", "ts", "mono_us", "origin", "n", "head", "root", "genesis", "type", "v", "checkpoint")


def spelled(record: Record) -> bytes:
    """Canonical bytes, whatever it says."""
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def loose(raw: bytes) -> Record:
    """A record that may be damaged already."""
    try:
        return cast("Record", json.loads(raw))
    except ValueError:
        return {}


class Forger:
    """Changes one parcel, by chance."""

    def __init__(self, parcel: Parcel, source: random.Random) -> None:
        self.parcel = parcel
        self.source = source
        self.key = Ed25519PrivateKey.from_private_bytes(bytes(source.randbytes(32)))

    def strike(self) -> None:
        """One edit, or two, and then some covering up."""
        for _ in range(self.source.choice((1, 1, 1, 2))):
            self.source.choice((self.edit, self.edit, self.edit, self.move, self.claim, self.body))()
        for step in (self.parcel.rehash, self.rechain, self.relog, self.resign)[: self.source.randrange(5)]:
            step()
        self.parcel.seal()

    def edit(self) -> None:
        """Another value in one record."""
        name = self.source.choice(
            [each for each in (EVENTS, EVENTS, LEAVES, OPENINGS, ANNOTATIONS) if self.parcel.members.get(each)]
        )
        lines = self.parcel.lines(name)
        at = self.source.choice((0, len(lines) - 1, self.source.randrange(len(lines))))
        whole = loose(lines[at])
        record = whole
        if name == ANNOTATIONS and self.source.random() < 0.7 and isinstance(whole.get("annotation"), dict):
            record = cast("Record", whole["annotation"])
        free = name in (OPENINGS, ANNOTATIONS)
        member = self.source.choice([each for each in record if free or each in MEMBERS] or ["v"])
        old = record.get(member)
        if isinstance(old, int) and self.source.random() < 0.5:
            record[member] = max(0, old + self.source.choice((-2, -1, 1, 2)))
        elif self.source.random() < 0.2:
            record.pop(member, None)
        else:
            record[member] = self.source.choice(VALUES)
        lines[at] = spelled(whole) if self.source.random() < 0.95 else lines[at] + b" "
        self.parcel.put_lines(name, lines)

    def move(self) -> None:
        """A line out, twice, or elsewhere."""
        name = self.source.choice(
            [each for each in (EVENTS, LEAVES, OPENINGS, "hashes.txt", ANNOTATIONS) if self.parcel.members.get(each)]
        )
        lines = self.parcel.lines(name)
        line = lines.pop(self.source.randrange(len(lines)))
        for _ in range(self.source.randrange(3)):
            lines.insert(self.source.randrange(len(lines) + 1), line)
        self.parcel.put_lines(name, lines)

    def claim(self) -> None:
        """Another manifest."""
        said = json.loads(self.parcel.members["manifest.json"])
        said[self.source.choice(("origin", "size", "runs", "log", "bodies", "format"))] = self.source.choice(
            (*VALUES, "proofs", "full", "withheld", "included", ["0" * 36])
        )
        self.parcel.members["manifest.json"] = (json.dumps(said, indent=1, sort_keys=True) + "\n").encode()

    def body(self) -> None:
        """Another body, under its own name or not, or none."""
        names = [name for name in self.parcel.members if name.startswith("blobs/")]
        if names:
            content = self.parcel.members.pop(self.source.choice(names)) + b"!"
            name = self.source.choice((names[0], f"blobs/{digest.body_digest(content).hex()}"))
            self.parcel.members.update({name: content} if self.source.random() < 0.7 else {})

    def rechain(self) -> None:
        """Makes every event follow the one before it, and every run.close fit."""
        before: dict[object, list[bytes]] = {}
        lines = []
        for found in self.parcel.lines(EVENTS):
            record, raw = loose(found), found
            chain = before.setdefault(str(record.get("run")), [])
            if chain and record:
                record["prev"] = digest.event_hash(chain[-1]).hex()
                if record.get("type") == "run.close":
                    record.update(head=record["prev"], root=merkle.Tree(chain).root.hex(), n=len(chain))
                raw = spelled(record)
            chain.append(raw)
            lines.append(raw)
        self.parcel.put_lines(EVENTS, lines)
        self.parcel.rehash()

    def relog(self) -> None:
        """Makes the leaves fit the events."""
        chains: dict[object, list[bytes]] = {}
        for raw in self.parcel.lines(EVENTS):
            chains.setdefault(str(loose(raw).get("run")), []).append(raw)
        if LEAVES not in self.parcel.members:
            return
        lines = [loose(raw) for raw in self.parcel.lines(LEAVES)]
        for leaf in lines:
            chain, n = chains.get(str(leaf.get("run")), []), leaf.get("n", 1)
            if "head" in leaf and isinstance(n, int) and 0 < n <= len(chain):
                leaf["head"] = digest.event_hash(chain[n - 1]).hex()
                leaf.update({"root": loose(chain[n - 1]).get("root", "0" * 64)} if "root" in leaf else {})
        self.parcel.put_lines(LEAVES, list(map(spelled, lines)))

    def resign(self) -> None:
        """Puts his own key into the log, and signs what there is."""
        lines = self.parcel.lines(LEAVES) if LEAVES in self.parcel.members else []
        created = loose(lines[0]) if lines else {}
        origin = created.get("origin")
        if not isinstance(origin, str) or not origin:
            return
        key = checkpoint.verifier_key(origin, self.key)
        lines[0] = spelled({**created, "vkey": str(key)})
        self.parcel.put_lines(LEAVES, lines)
        self.parcel.members["vkey"] = f"{key}\n".encode()
        note = checkpoint.sign(Checkpoint(origin, len(lines), merkle.Tree(lines).root), key, self.key)
        self.parcel.members["checkpoint"] = note
        if self.source.random() < 0.8:
            said = json.loads(self.parcel.members["manifest.json"]) | {"size": len(lines), "origin": origin}
            self.parcel.members["manifest.json"] = (json.dumps(said, indent=1, sort_keys=True) + "\n").encode()

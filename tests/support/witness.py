"""A witness of logs (C2SP tlog-witness, tlog-cosignature) for tests, written from those pages alone.

`with witnessing({ORIGIN: VKEY}) as witness:` serves; `witness.vkey` verifies its cosignatures, `witness.seen` is its
memory: by origin the size and root that it cosigned last. It reads and proves with nothing of the program's own.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.support.desk import Reply, serving
from tests.support.verifier.hashes import node_hash
from tests.support.verifier.notes import Checkpoint, Key

NAME = "witness.example/w1"
PLAIN = "text/plain"


class Witness:
    """Cosigns what leads on from what it has seen."""

    def __init__(self, logs: Mapping[str, str], name: str = NAME) -> None:
        self.name = name
        self.url = ""
        self.seen: dict[str, tuple[int, bytes]] = {}
        self.requests: list[bytes] = []
        self.clock = 1_796_000_000
        self._logs = logs
        self._private = Ed25519PrivateKey.generate()
        self._atomic = threading.Lock()

    @property
    def vkey(self) -> str:
        """Its verifier key, of the type of Ed25519 cosignatures."""
        material = b"\x04" + self._private.public_key().public_bytes_raw()
        return f"{self.name}+{self._id().hex()}+{base64.b64encode(material).decode()}"

    def answer(self, body: bytes) -> Reply:
        """The answer to an add-checkpoint request."""
        self.requests.append(body)
        head, _, note = body.partition(b"\n\n")
        first, *lines = head.decode().split("\n")
        proof = [base64.b64decode(line, validate=True) for line in lines]
        stated = Checkpoint.read(note)
        if stated is None or not first.startswith("old ") or len(proof) > 63:
            return 400, PLAIN, b"not a request\n"
        old = int(first.removeprefix("old "))
        key = Key.read(self._logs.get(stated.origin, ""))
        if key is None:
            return 404, PLAIN, b"unknown log\n"
        if not stated.is_signed_by(key):
            return 403, PLAIN, b"not signed\n"
        with self._atomic:
            return self._judge(stated, old, proof)

    def cosign(self, text: bytes) -> bytes:
        """A cosignature line over the text of any checkpoint."""
        self.clock += 1
        signature = self._private.sign(b"cosignature/v1\ntime %d\n" % self.clock + text)
        material = self._id() + self.clock.to_bytes(8, "big") + signature
        return f"\u2014 {self.name} {base64.b64encode(material).decode()}\n".encode()

    def _judge(self, stated: Checkpoint, old: int, proof: Sequence[bytes]) -> Reply:
        size, root = self.seen.get(stated.origin, (0, b""))
        if old > stated.size:
            return 400, PLAIN, b"the old size is larger\n"
        if old != size:
            return 409, "text/x.tlog.size", b"%d\n" % size
        if old == stated.size and root != stated.root:
            return 409, PLAIN, b"another root\n"
        if not leads_on(old, root, stated.size, stated.root, proof):
            return 422, PLAIN, b"the proof does not hold\n"
        self.seen[stated.origin] = (stated.size, stated.root)
        return 200, PLAIN, self.cosign(stated.signed)

    def _id(self) -> bytes:
        return sha256(self.name.encode() + b"\n\x04" + self._private.public_key().public_bytes_raw()).digest()[:4]


def leads_on(old: int, old_root: bytes, new: int, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """Says whether a proof of RFC 6962, section 2.1.2, holds, by going down the tree as that section defines it."""
    if old in {0, new}:
        return not proof and (old == 0 or old_root == new_root)
    left = list(proof)
    try:
        before, after = _both(old, new, left, old_root, whole=True)
    except IndexError:
        return False
    return not left and (before, after) == (old_root, new_root)


def _both(old: int, new: int, proof: list[bytes], old_root: bytes, *, whole: bool) -> tuple[bytes, bytes]:
    """The roots of the first `old` of these leaves, and of all; SUBPROOF(old, D[new], whole) read from its end."""
    if old == new:
        node = old_root if whole else proof.pop()
        return node, node
    split = 1 << (new - 1).bit_length() - 1
    if old <= split:
        right = proof.pop()
        before, after = _both(old, split, proof, old_root, whole=whole)
        return before, node_hash(after, right)
    left = proof.pop()
    before, after = _both(old - split, new - split, proof, old_root, whole=False)
    return node_hash(left, before), node_hash(left, after)


@contextmanager
def witnessing(logs: Mapping[str, str], name: str = NAME) -> Iterator[Witness]:
    """A witness that answers on a free port while the block lasts; `logs` are the vkeys that it knows, by origin."""
    witness = Witness(logs, name)

    def answer(path: str, body: bytes) -> Reply:
        return witness.answer(body) if path.endswith("/add-checkpoint") else (404, PLAIN, b"no such call\n")

    with serving(answer) as witness.url:
        yield witness

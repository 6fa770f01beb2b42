"""Inclusion proofs that carry their leaf, in the one text form that a bundle has (C2SP tlog-proof); pure."""

import base64
import re
from dataclasses import dataclass

from store.core.errors import Malformed

_FIRST_LINE = "c2sp.org/tlog-proof@v1"
_LEVELS_MAX = 63


@dataclass(frozen=True, slots=True)
class Proof:
    """That `leaf` stands at `index` in the tree of `checkpoint` (a signed note): the hashes beside its way up."""

    index: int
    leaf: bytes
    hashes: tuple[bytes, ...]
    checkpoint: bytes


def encode(proof: Proof) -> bytes:
    """The proof as tlog-proof text; its `extra` line carries the leaf."""
    lines = [_FIRST_LINE, f"extra {_base64(proof.leaf)}", f"index {proof.index}", *map(_base64, proof.hashes), ""]
    return "".join(f"{line}\n" for line in lines).encode() + proof.checkpoint


def parse(raw: bytes) -> Proof:
    """Raises Malformed for anything but what `encode` writes."""
    head, separator, note = raw.partition(b"\n\n")
    lines = head.decode("latin-1").split("\n")
    if not separator or not 3 <= len(lines) <= _LEVELS_MAX + 3:
        raise Malformed("malformed proof: not a tlog-proof")
    index = re.fullmatch(r"index (0|[1-9][0-9]{0,14})", lines[2])
    try:
        leaf = base64.b64decode(lines[1].removeprefix("extra "))
        hashes = tuple(base64.b64decode(line) for line in lines[3:])
    except ValueError:
        raise Malformed("malformed proof: not base64") from None
    if index is None or any(len(each) != 32 for each in hashes):
        raise Malformed("malformed proof: no index, or a hash that is not 32 bytes long")
    proof = Proof(int(index[1]), leaf, hashes, note)
    if encode(proof) != raw:
        raise Malformed("malformed proof: another spelling than the canonical one")
    return proof


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()

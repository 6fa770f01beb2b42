"""The text of an inclusion proof that carries its leaf (C2SP tlog-proof): the only reader and writer of it; pure.

Rules kept here:
- C2SP leaves no choice but the `extra` line: ours is always there, and holds the leaf, so a proof proves something by
  itself. So each proof has one spelling, and every other text is refused.
- Neither leaf nor note is believed here: who signed, and what it says, is checked where the log is.
"""

import base64
import re
from dataclasses import dataclass

from store.core.errors import Malformed

_FIRST_LINE = "c2sp.org/tlog-proof@v1"
_LEVELS_MAX = 63
_INDEX = re.compile(r"index (0|[1-9][0-9]{0,18})", re.ASCII)


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
    if not separator or lines[0] != _FIRST_LINE or not 3 <= len(lines) <= _LEVELS_MAX + 3:
        raise Malformed("malformed proof: not a tlog-proof of version 1 with its leaf")
    index = _INDEX.fullmatch(lines[2])
    try:
        leaf = base64.b64decode(lines[1].removeprefix("extra "))
        hashes = tuple(base64.b64decode(line) for line in lines[3:])
    except ValueError:
        raise Malformed("malformed proof: not base64") from None
    if index is None or any(len(each) != 32 for each in hashes):
        raise Malformed("malformed proof: no canonical index, or a hash that is not 32 bytes long")
    proof = Proof(int(index[1]), leaf, hashes, note)
    if encode(proof) != raw:
        raise Malformed("malformed proof: another spelling than the canonical one")
    return proof


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()

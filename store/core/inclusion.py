"""RFC 6962 inclusion proofs, and their text form, C2SP tlog-proof; pure."""

import base64
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from store.core import merkle
from store.core.errors import Malformed

_FIRST_LINE = "c2sp.org/tlog-proof@v1"
_LEVELS_MAX = 63

type NodeAt = Callable[[int, int], bytes]


@dataclass(frozen=True, slots=True)
class Proof:
    """That `leaf` stands at `index` in the tree of `checkpoint` (a signed note): the hashes beside its way up."""

    index: int
    leaf: bytes
    hashes: tuple[bytes, ...]
    checkpoint: bytes


def path(index: int, size: int, node_at: NodeAt) -> list[bytes]:
    """PATH(index, D[size]) (RFC 6962, section 2.1.1); `node_at(level, position)` gives complete nodes."""

    def root(start: int, end: int) -> bytes:
        """The root over leaves start ... end - 1, where start is a multiple of the largest power of two below."""
        first = start
        subtrees = []
        for level, _ in merkle.frontier(end - start):
            subtrees.append(node_at(level, first >> level))
            first += 1 << level
        return merkle.fold(subtrees)

    hashes = []
    start, end = 0, size
    while end - start > 1:
        middle = start + (1 << (end - start - 1).bit_length() - 1)
        if index < middle:
            hashes.append(root(middle, end))
            end = middle
        else:
            hashes.append(root(start, middle))
            start = middle
    return hashes[::-1]


def root_of(index: int, size: int, leaf: bytes, hashes: Sequence[bytes]) -> bytes | None:
    """The root that a proof leads to (RFC 9162, section 2.1.3.2); None for a proof of another shape."""
    if not 0 <= index < size:
        return None
    place, last, node = index, size - 1, merkle.leaf_hash(leaf)
    for each in hashes:
        if last == 0:
            return None
        if place & 1 or place == last:
            node = merkle.node_hash(each, node)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            node = merkle.node_hash(node, each)
        place, last = place >> 1, last >> 1
    return node if last == 0 else None


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

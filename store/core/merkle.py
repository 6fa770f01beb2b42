"""The RFC 6962 Merkle tree hash, whole and grown leaf by leaf."""

import hashlib
from collections.abc import Iterable, Sequence


def leaf_hash(leaf: bytes) -> bytes:
    """MTH({d}) = SHA-256(0x00 | d) (RFC 6962, section 2.1)."""
    return hashlib.sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """SHA-256(0x01 | left | right) (RFC 6962, section 2.1)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def fold(subtrees: Sequence[bytes]) -> bytes:
    """The root over the roots of the largest complete subtrees, widest first; of none, SHA-256 of nothing."""
    if not subtrees:
        return hashlib.sha256(b"").digest()
    root = subtrees[-1]
    for left in reversed(subtrees[:-1]):
        root = node_hash(left, root)
    return root


def frontier(size: int) -> list[tuple[int, int]]:
    """Where the complete subtrees of a tree of `size` leaves stand: (level, index at that level), widest first."""
    places = []
    start = 0
    for level in reversed(range(size.bit_length())):
        if size >> level & 1:
            places.append((level, start >> level))
            start += 1 << level
    return places


def completed(size: int, subtrees: Sequence[bytes], leaf: bytes) -> list[tuple[int, int, bytes]]:
    """The nodes that appending `leaf` to a tree of `size` leaves completes: (level, index, hash), lowest first.

    `subtrees` are the hashes at `frontier(size)`.
    """
    node = leaf_hash(leaf)
    nodes = [(0, size, node)]
    left = list(subtrees)
    level = 0
    while size >> level & 1:
        node = node_hash(left.pop(), node)
        level += 1
        nodes.append((level, size >> level, node))
    return nodes


class Tree:
    """A tree that only grows, held as its O(log n) frontier."""

    def __init__(self, leaves: Iterable[bytes] = ()) -> None:
        self.size = 0
        self._frontier: list[bytes] = []
        for leaf in leaves:
            self.append(leaf)

    def append(self, leaf: bytes) -> list[tuple[int, int, bytes]]:
        """Adds one leaf at the end; the nodes that it completes, as `completed` gives them."""
        nodes = completed(self.size, self._frontier, leaf)
        del self._frontier[len(self._frontier) - len(nodes) + 1 :]
        self._frontier.append(nodes[-1][2])
        self.size += 1
        return nodes

    @property
    def root(self) -> bytes:
        """The Merkle tree hash of all leaves so far, 32 bytes."""
        return fold(self._frontier)

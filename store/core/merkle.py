"""The RFC 6962 Merkle tree hash, whole and grown leaf by leaf."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

_HASH_BYTES = 32


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

    def append(self, leaf: bytes) -> None:
        """Adds one leaf at the end."""
        node, width = leaf_hash(leaf), self.size
        while width & 1:
            node = node_hash(self._frontier.pop(), node)
            width >>= 1
        self._frontier.append(node)
        self.size += 1

    @property
    def root(self) -> bytes:
        """The Merkle tree hash of all leaves so far, 32 bytes."""
        return fold(self._frontier)


class Forest:
    """A tree that only grows, held with every complete node: about 64 bytes a leaf."""

    def __init__(self, leaves: Iterable[bytes] = ()) -> None:
        self._levels: list[bytearray] = []
        for leaf in leaves:
            self.append(leaf)

    def append(self, leaf: bytes) -> None:
        """Adds one leaf at the end."""
        node, level = leaf_hash(leaf), 0
        while True:
            if level == len(self._levels):
                self._levels.append(bytearray())
            row = self._levels[level]
            row += node
            if len(row) % (2 * _HASH_BYTES):
                return
            node, level = node_hash(bytes(row[-2 * _HASH_BYTES : -_HASH_BYTES]), node), level + 1

    @property
    def size(self) -> int:
        """How many leaves it has."""
        return self.width(0)

    def width(self, level: int) -> int:
        """How many complete nodes there are at a level; leaves are at level 0."""
        return len(self._levels[level]) // _HASH_BYTES if 0 <= level < len(self._levels) else 0

    def node(self, level: int, index: int) -> bytes | None:
        """One complete node, or None where there is none."""
        if not 0 <= index < self.width(level):
            return None
        return bytes(self._levels[level][index * _HASH_BYTES : (index + 1) * _HASH_BYTES])

    def nodes(self) -> Iterator[tuple[int, int, bytes]]:
        """(level, index, hash) of every complete node, leaves first."""
        for level, row in enumerate(self._levels):
            for index in range(self.width(level)):
                yield level, index, bytes(row[index * _HASH_BYTES : (index + 1) * _HASH_BYTES])

    def root(self, size: int) -> bytes:
        """The root over the first `size` leaves, at most as many as there are."""
        return fold([node for place in frontier(size) if (node := self.node(*place)) is not None])

"""Section 3: the labelled hashes and the Merkle tree of RFC 6962."""

from collections.abc import Sequence
from hashlib import sha256


def event_hash(data: bytes) -> bytes:
    """Hash an event's bytes."""
    return sha256(b"edgetape/event/v1\n" + data).digest()


def annotation_hash(data: bytes) -> str:
    """Hash an annotation's bytes."""
    return sha256(b"edgetape/annotation/v1\n" + data).hexdigest()


def genesis_prev(origin: str, run: str) -> str:
    """Give the `prev` of a run's event 0."""
    return sha256(f"edgetape/genesis/v1\n{origin}\n{run}".encode(errors="surrogateescape")).hexdigest()


def commitment(salt: bytes, digest: bytes, length: int) -> str:
    """Give the commitment that an opening opens."""
    return sha256(b"edgetape/body/v1\n" + salt + digest + length.to_bytes(8, "big")).hexdigest()


def leaf_hash(data: bytes) -> bytes:
    """Hash a leaf of a tree."""
    return sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash an inner node of a tree."""
    return sha256(b"\x01" + left + right).digest()


class Tree:
    """Every complete node over a list of leaf hashes, from which the root of any prefix follows."""

    def __init__(self, leaves: Sequence[bytes]) -> None:
        """Build the levels, from the leaves upwards."""
        self.levels: list[list[bytes]] = [list(leaves)]
        while len(below := self.levels[-1]) > 1:
            self.levels.append([node_hash(below[i], below[i + 1]) for i in range(0, len(below) - 1, 2)])

    def __len__(self) -> int:
        """Count the leaves."""
        return len(self.levels[0])

    def root(self, size: int) -> bytes:
        """Give the Merkle tree hash of the first leaves."""
        if size == 0:
            return sha256(b"").digest()
        parts: list[bytes] = []
        start = 0
        for level in reversed(range(size.bit_length())):
            if size >> level & 1:
                parts.append(self.levels[level][start >> level])
                start += 1 << level
        result = parts.pop()
        while parts:
            result = node_hash(parts.pop(), result)
        return result

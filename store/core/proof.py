"""Proofs about an RFC 6962 tree: that a leaf is in it, and that a larger tree only adds to a smaller one.

Pure; RFC 6962, sections 2.1.1 and 2.1.2, verified as RFC 9162, sections 2.1.3.2 and 2.1.4.2, says. The text of a
proof that goes into a file is that of `inclusion`.
"""

from collections.abc import Callable, Sequence

from store.core.merkle import node_hash

# The hash of the complete subtree (level, index at that level): leaves index * 2^level up to the next one's first.
type NodeAt = Callable[[int, int], bytes]


def subtree(start: int, end: int, node: NodeAt) -> bytes:
    """MTH(D[start:end]) for a range that a recursive split of the tree gives: `start` is a multiple of its width."""
    width = end - start
    if width & (width - 1) == 0:
        level = width.bit_length() - 1
        return node(level, start >> level)
    middle = start + _split(width)
    return node_hash(subtree(start, middle, node), subtree(middle, end, node))


def inclusion(index: int, size: int, node: NodeAt) -> list[bytes]:
    """PATH(index, D[size]): the audit path of a leaf, lowest first (RFC 6962, section 2.1.1)."""
    if not 0 <= index < size:
        raise ValueError(f"there is no leaf {index} in a tree of {size} leaves")
    start, end = 0, size
    path = []
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            path.append(subtree(middle, end, node))
            end = middle
        else:
            path.append(subtree(start, middle, node))
            start = middle
    return path[::-1]


def consistency(old: int, new: int, node: NodeAt) -> list[bytes]:
    """PROOF(old, D[new]) (RFC 6962, section 2.1.2); empty for the same size, and for an empty old tree."""
    if not 0 <= old <= new:
        raise ValueError(f"a tree of {new} leaves does not extend one of {old}")
    if old in (0, new):
        return []
    start, end = 0, new
    path = []
    while end != old:
        middle = start + _split(end - start)
        if old <= middle:
            path.append(subtree(middle, end, node))
            end = middle
        else:
            path.append(subtree(start, middle, node))
            start = middle
    if start:
        path.append(subtree(start, end, node))
    return path[::-1]


def root_of(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """The root that an audit path gives for the hash of a leaf; None when no such path can be of this place.

    RFC 9162, section 2.1.3.2.
    """
    if not 0 <= index < size:
        return None
    place, last, root = index, size - 1, leaf
    for each in path:
        if last == 0:
            return None
        if place & 1 or place == last:
            root = node_hash(each, root)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            root = node_hash(root, each)
        place, last = place >> 1, last >> 1
    return root if last == 0 else None


def is_extension(old: int, old_root: bytes, new: int, new_root: bytes, path: Sequence[bytes]) -> bool:
    """Whether `path` proves that the tree of `new` leaves only adds to that of `old` (RFC 9162, section 2.1.4.2)."""
    if old == new:
        return not path and old_root == new_root
    if old == 0:
        return not path  # the empty tree is the beginning of every other
    if not 0 < old < new or not path:
        return False
    hashes = list(path) if old & (old - 1) else [old_root, *path]
    place, last = old - 1, new - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    first = second = hashes[0]
    for each in hashes[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            first, second = node_hash(each, first), node_hash(each, second)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            second = node_hash(second, each)
        place, last = place >> 1, last >> 1
    return last == 0 and (first, second) == (old_root, new_root)


def _split(width: int) -> int:
    """The largest power of two smaller than `width` (> 1)."""
    return 1 << (width - 1).bit_length() - 1

"""The tree of RFC 6962: as published, and grown leaf by leaf as the recursive definition has it."""

from hashlib import sha256
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.merkle import Forest, Tree, completed, fold, frontier, leaf_hash, node_hash
from tests.vectors.samples import TREE_LEAVES

# The roots of the first 0 to 8 of these leaves, from the certificate-transparency project's own tests.
PUBLISHED_ROOTS = (
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
leaves = st.lists(st.binary(max_size=8), max_size=70)


def mth(entries: list[bytes]) -> bytes:
    """MTH(D[n]) word for word (RFC 6962, section 2.1)."""
    if not entries:
        return sha256(b"").digest()
    if len(entries) == 1:
        return sha256(b"\x00" + entries[0]).digest()
    k = 1
    while k * 2 < len(entries):
        k *= 2
    return sha256(b"\x01" + mth(entries[:k]) + mth(entries[k:])).digest()


@pytest.mark.parametrize("size", range(9))
def test_the_published_roots_come_out(size: int) -> None:
    entries = [bytes.fromhex(each) for each in TREE_LEAVES[:size]]
    assert Tree(entries).root.hex() == PUBLISHED_ROOTS[size]
    assert mth(entries).hex() == PUBLISHED_ROOTS[size]


@given(entries=leaves)
def test_a_grown_tree_has_the_root_of_the_definition_at_every_size(entries: list[bytes]) -> None:
    tree = Tree()
    for size, entry in enumerate(entries):
        assert (tree.size, tree.root) == (size, mth(entries[:size]))
        tree.append(entry)
    assert tree.root == mth(entries)


@given(entries=leaves)
def test_the_kept_nodes_give_the_root_of_every_earlier_size(entries: list[bytes]) -> None:
    forest = Forest(entries)
    found = list(forest.nodes())
    nodes = {(level, index): node for level, index, node in found}
    assert len(nodes) == len(found) == sum(map(forest.width, range(8)))
    for size in range(len(entries) + 1):
        assert fold([nodes[place] for place in frontier(size)]) == forest.root(size) == mth(entries[:size])
    for (level, index), node in nodes.items():
        assert node == forest.node(level, index) == mth(entries[index << level : (index + 1) << level])
    assert forest.size == len(entries)
    assert forest.node(0, len(entries)) is forest.node(-1, 0) is forest.node(9, 0) is None


@given(size=st.integers(0, 2**53))
def test_a_frontier_covers_every_leaf_once_widest_first(size: int) -> None:
    places = frontier(size)
    assert sum(1 << level for level, _ in places) == size
    assert all(one > other for (one, _), (other, _) in pairwise(places))
    covered = 0
    for level, index in places:
        assert index << level == covered
        covered += 1 << level


@given(size=st.integers(0, 2**40), leaf=st.binary(max_size=5))
def test_appending_completes_one_node_a_level_that_was_full(size: int, leaf: bytes) -> None:
    subtrees = [sha256(b"%d %d" % place).digest() for place in frontier(size)]
    nodes = completed(size, subtrees, leaf)
    full = len(bin(size)) - len(bin(size).rstrip("1"))
    assert [(level, index) for level, index, _ in nodes] == [(level, size >> level) for level in range(full + 1)]
    assert len(frontier(size + 1)) == len(subtrees) - full + 1


def test_a_leaf_is_never_taken_for_a_node() -> None:
    left, right = leaf_hash(b"a"), leaf_hash(b"b")
    assert leaf_hash(left + right) != node_hash(left, right)

"""Proofs: as published, as the recursive definition has them, and none holds for anything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core import merkle, proof
from tests.store.core.test_merkle import PUBLISHED_ROOTS, mth
from tests.vectors.samples import TREE_LEAVES

ENTRIES = [bytes.fromhex(each) for each in TREE_LEAVES]
A = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"
B = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e"
C = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"
D = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"
E = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0"
F = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a"

# From the certificate-transparency project's own tests: (index, size) and (old, new).
PUBLISHED_PATHS = {
    (0, 1): [],
    (0, 8): [A, B, C],
    (5, 8): [D, E, PUBLISHED_ROOTS[4]],
    (2, 3): [PUBLISHED_ROOTS[2]],
    (1, 5): [PUBLISHED_ROOTS[1], B, D],
}
PUBLISHED_PROOFS = {(1, 1): [], (1, 8): [A, B, C], (6, 8): [F, E, PUBLISHED_ROOTS[4]], (2, 5): [B, D]}
SIZES = st.integers(1, 40)


def split(width: int) -> int:
    k = 1
    while k * 2 < width:
        k *= 2
    return k


def path(m: int, entries: list[bytes]) -> list[bytes]:
    """PATH(m, D[n]) word for word (RFC 6962, section 2.1.1)."""
    if len(entries) == 1:
        return []
    k = split(len(entries))
    if m < k:
        return [*path(m, entries[:k]), mth(entries[k:])]
    return [*path(m - k, entries[k:]), mth(entries[:k])]


def subproof(m: int, entries: list[bytes], known: bool) -> list[bytes]:
    """SUBPROOF(m, D[n], b) word for word (RFC 6962, section 2.1.2)."""
    n = len(entries)
    if m == n:
        return [] if known else [mth(entries)]
    k = split(n)
    if m <= k:
        return [*subproof(m, entries[:k], known), mth(entries[k:])]
    return [*subproof(m - k, entries[k:], False), mth(entries[:k])]


def kept(entries: list[bytes]) -> proof.NodeAt:
    """The complete nodes over these leaves, as a store keeps them."""
    nodes = {(level, index): node for level, index, node in merkle.Forest(entries).nodes()}
    return lambda level, index: nodes[level, index]


def numbered(size: int) -> list[bytes]:
    return [b"%d" % number for number in range(size)]


@pytest.mark.parametrize("index, size", PUBLISHED_PATHS)
def test_the_published_paths_come_out(index: int, size: int) -> None:
    found = proof.inclusion(index, size, kept(ENTRIES))
    assert [each.hex() for each in found] == PUBLISHED_PATHS[index, size]
    root = proof.root_of(merkle.leaf_hash(ENTRIES[index]), index, size, found)
    assert root is not None
    assert root.hex() == PUBLISHED_ROOTS[size]


@pytest.mark.parametrize("old, new", PUBLISHED_PROOFS)
def test_the_published_consistency_proofs_come_out(old: int, new: int) -> None:
    found = proof.consistency(old, new, kept(ENTRIES))
    assert [each.hex() for each in found] == PUBLISHED_PROOFS[old, new]
    roots = [bytes.fromhex(PUBLISHED_ROOTS[size]) for size in (old, new)]
    assert proof.is_extension(old, roots[0], new, roots[1], found)


@given(size=SIZES, further=st.integers(0, 10), choice=st.integers(0, 10**6))
def test_a_path_is_that_of_the_definition_whatever_the_log_has_grown_to(size: int, further: int, choice: int) -> None:
    entries, index = numbered(size + further), choice % size
    found = proof.inclusion(index, size, kept(entries))
    assert found == path(index, entries[:size])
    assert proof.root_of(merkle.leaf_hash(entries[index]), index, size, found) == mth(entries[:size])


@given(new=SIZES, choice=st.integers(0, 10**6))
def test_a_consistency_proof_is_that_of_the_definition(new: int, choice: int) -> None:
    entries = numbered(new)
    old = 1 + choice % new
    found = proof.consistency(old, new, kept(entries))
    assert found == subproof(old, entries, True)
    assert proof.is_extension(old, mth(entries[:old]), new, mth(entries), found)


@given(size=SIZES, choice=st.integers(0, 10**6), other=st.integers(0, 50), mask=st.integers(1, 255))
def test_a_path_proves_no_other_leaf_place_or_root(size: int, choice: int, other: int, mask: int) -> None:
    entries, index = numbered(size), choice % size
    found = proof.inclusion(index, size, kept(entries))
    leaf, root = merkle.leaf_hash(entries[index]), mth(entries)
    assert proof.root_of(merkle.leaf_hash(b"other"), index, size, found) != root
    if other != index:
        assert proof.root_of(leaf, other, size, found) != root
    assert proof.root_of(leaf, index, size, [*found, bytes(32)]) != root
    if found:
        assert proof.root_of(leaf, index, size, found[:-1]) != root
        found[0] = bytes([found[0][0] ^ mask]) + found[0][1:]
        assert proof.root_of(leaf, index, size, found) != root


@given(new=st.integers(2, 40), choice=st.integers(0, 10**6), at=st.integers(0, 10**6))
def test_no_proof_shows_that_a_changed_log_extends_the_old_one(new: int, choice: int, at: int) -> None:
    entries = numbered(new)
    old = 1 + choice % (new - 1)
    changed = [*entries]
    changed[at % old] = b"changed"
    old_root = mth(entries[:old])
    for source in (entries, changed):
        found = proof.consistency(old, new, kept(source))
        assert not proof.is_extension(old, old_root, new, mth(changed), found)
    found = proof.consistency(old, new, kept(entries))
    assert proof.is_extension(old, old_root, new, mth(entries), found)
    assert not proof.is_extension(old, old_root, new, mth(entries), [*found, bytes(32)])
    assert not proof.is_extension(old, old_root, new, mth(entries), found[:-1])
    assert not proof.is_extension(new, mth(entries), old, old_root, found)


def test_the_empty_log_is_the_beginning_of_every_log() -> None:
    assert proof.consistency(0, 8, kept(ENTRIES)) == []
    assert proof.is_extension(0, mth([]), 8, mth(ENTRIES), [])
    assert not proof.is_extension(0, mth([]), 8, mth(ENTRIES), [bytes(32)])


@pytest.mark.parametrize("index, size", [(-1, 3), (3, 3), (0, 0)])
def test_a_place_outside_of_the_tree_has_no_path(index: int, size: int) -> None:
    with pytest.raises(ValueError, match="no leaf"):
        proof.inclusion(index, size, kept(ENTRIES))
    assert proof.root_of(bytes(32), index, size, []) is None
    with pytest.raises(ValueError, match="does not extend"):
        proof.consistency(4, 3, kept(ENTRIES))

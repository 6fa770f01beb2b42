"""Inclusion proofs: every leaf of every small tree, no other leaf, and one text form."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core import inclusion, merkle
from store.core.errors import Malformed
from store.core.inclusion import Proof
from store.core.proof import inclusion as path
from store.core.proof import root_of as root_of_hash

NOTE = b"origin\n3\nroot\n\n\xe2\x80\x94 origin x\n"


def root_of(index: int, size: int, leaf: bytes, hashes: list[bytes]) -> bytes | None:
    return root_of_hash(merkle.leaf_hash(leaf), index, size, hashes)


def tree(size: int) -> tuple[list[bytes], dict[tuple[int, int], bytes], bytes]:
    leaves = [b"leaf %d" % number for number in range(size)]
    grown = merkle.Forest(leaves)
    return leaves, {(level, at): node for level, at, node in grown.nodes()}, grown.root(size)


@pytest.mark.parametrize("size", range(1, 34))
def test_every_leaf_leads_to_the_root_and_no_other_does(size: int) -> None:
    leaves, nodes, root = tree(size)
    for index, leaf in enumerate(leaves):
        hashes = path(index, size, lambda level, at: nodes[level, at])
        assert root_of(index, size, leaf, hashes) == root
        assert root_of(index, size, b"another", hashes) != root
        assert root_of((index + 1) % size, size, leaf, hashes) != root or size == 1
        assert root_of(index, size, leaf, [*hashes, root]) is None
        assert not hashes or root_of(index, size, leaf, hashes[:-1]) != root


def test_a_leaf_beyond_the_tree_has_no_root() -> None:
    assert root_of(3, 3, b"", []) is None
    assert root_of(-1, 3, b"", []) is None


@given(st.integers(0, 10**14), st.binary(), st.lists(st.binary(min_size=32, max_size=32), max_size=40))
def test_a_text_is_read_as_it_was_written(index: int, leaf: bytes, hashes: list[bytes]) -> None:
    proof = Proof(index, leaf, tuple(hashes), NOTE)
    raw = inclusion.encode(proof)
    assert raw.startswith(b"c2sp.org/tlog-proof@v1\n")
    assert inclusion.parse(raw) == proof


def _flipped(at: int) -> bytes:
    raw = bytearray(inclusion.encode(Proof(5, b"leaf", (bytes(32), bytes(32)), NOTE)))
    raw[at % len(raw)] ^= 1
    return bytes(raw)


@given(st.binary(max_size=300) | st.integers(0, 200).map(_flipped))
def test_another_text_is_malformed_or_another_proof(raw: bytes) -> None:
    try:
        proof = inclusion.parse(raw)
    except Malformed:
        return
    assert inclusion.encode(proof) == raw


HASH = base64.b64encode(bytes(32)) + b"\n"
WRITTEN = inclusion.encode(Proof(5, b"leaf", (bytes(32), bytes(32)), NOTE))


def test_the_text_is_that_of_c2sp_with_the_leaf_as_extra_data() -> None:
    head = b"c2sp.org/tlog-proof@v1\nextra bGVhZg==\nindex 5\n"
    assert head + HASH + HASH + b"\n" + NOTE == WRITTEN


@pytest.mark.parametrize(
    "old, new",
    [
        (b"@v1", b"@v2"),
        (b"extra bGVhZg==\n", b""),
        (b"extra bGVhZg==", b"extra bGVhZh=="),
        (b"extra bGVhZg==", b"extra bGVhZg"),
        (b"extra ", b"Extra "),
        (b"extra ", b"extra  "),
        (b"extra bGVhZg==\n", b"extra bGVhZg==\nextra bGVhZg==\n"),
        (b"index 5", b"index 05"),
        (b"index 5", b"index -5"),
        (b"index 5", b"index +5"),
        (b"index 5", b"index \xd9\xa5"),
        (b"index 5", b"index 10000000000000000000"),
        (b"index 5\n", b""),
        (b"=\n", b"\n"),
        (b"\n\n", b"\n"),
        (b"\n", b"\r\n"),
        (b"index 5\n", b"index 5\nAAAA\n"),
        (b"index 5\n", b"index 5\n" + 64 * HASH),
        (b"index 5\n", b"index 5\n\xff\n"),
    ],
)
def test_another_spelling_is_refused(old: bytes, new: bytes) -> None:
    with pytest.raises(Malformed):
        inclusion.parse(WRITTEN.replace(old, new))

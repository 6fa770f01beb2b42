"""Salts and masks: a function of key, event and place, told apart by what they are for, and undone by themselves."""

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from hypothesis import given
from hypothesis import strategies as st

from store.core.veil import Veil

KEYS = st.binary(min_size=32, max_size=32)
SEQS = st.integers(0, 2**63 - 1)


@given(key=KEYS, seq=SEQS, pointer=st.text(max_size=30), salt=KEYS, sha256=KEYS)
def test_what_is_kept_is_shown_again(key: bytes, seq: int, pointer: str, salt: bytes, sha256: bytes) -> None:
    pointer = pointer.encode("utf-8", "replace").decode()
    veil = Veil(key)
    kept = veil.kept(seq, pointer, salt, sha256)
    assert veil.shown(seq, pointer, *kept) == (salt, sha256)
    assert veil.kept(seq, pointer, veil.salt(seq, pointer), sha256)[0] == b""
    assert veil.shown(seq, pointer, b"", sha256)[0] == veil.salt(seq, pointer)


def test_a_salt_is_hkdf_expand() -> None:
    info = b"edgetape/salt/v1\n" + (7).to_bytes(8, "big") + b"/body"
    assert Veil(bytes(range(32))).salt(7, "/body") == HKDFExpand(SHA256(), 32, info).derive(bytes(range(32)))


def test_no_two_values_are_the_same() -> None:
    veils = [Veil(bytes(32)), Veil(bytes(31) + b"\1")]
    places = [(0, ""), (0, "/body"), (1, "/body"), (1, "/query")]
    salts = [veil.salt(*place) for veil in veils for place in places]
    masks = [mask for veil in veils for place in places for mask in veil.kept(*place, bytes(32), bytes(32))]
    assert len({*salts, *masks}) == len(salts) + len(masks) == 24


@pytest.mark.parametrize("value", [b"x", b"y" * 31, b"z" * 33])
def test_what_has_another_length_stays_as_it_is(value: bytes) -> None:
    assert Veil(bytes(32)).shown(1, "/body", value, value) == (value, value)

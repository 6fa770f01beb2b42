"""The hashes of the log: labels as published, every byte of their input counts, no two inputs share a preimage."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.digest import body_digest, commitment, event_hash, genesis_prev

salts = st.binary(min_size=32, max_size=32)
origins = st.text("abcdefghijklmnopqrstuvwxyz234567", min_size=26, max_size=26).map("edgetape.local/{}".format)
runs = st.uuids().map(str)


def test_every_hash_is_sha_256_over_its_label_and_its_fields() -> None:
    salt, sha256 = bytes(range(32)), bytes(32)
    assert event_hash(b"{}") == hashlib.sha256(b"edgetape/event/v1\n{}").digest()
    assert genesis_prev("o", "r") == hashlib.sha256(b"edgetape/genesis/v1\no\nr").digest()
    assert body_digest(b"x") == hashlib.sha256(b"x").digest()
    length = b"\x00\x00\x00\x00\x00\x01\x00\x00"
    assert commitment(salt, sha256, 65536) == hashlib.sha256(b"edgetape/body/v1\n" + salt + sha256 + length).digest()


@given(raw=st.binary(min_size=1, max_size=300), mask=st.integers(1, 255))
def test_any_changed_byte_of_an_event_changes_its_hash(raw: bytes, mask: int) -> None:
    hashes = {event_hash(raw)}
    for at in range(len(raw)):
        hashes.add(event_hash(raw[:at] + bytes([raw[at] ^ mask]) + raw[at + 1 :]))
    assert len(hashes) == len(raw) + 1


@given(salt=salts, body=st.binary(max_size=50), length=st.integers(0, 2**63), mask=st.integers(1, 255))
def test_salt_digest_and_length_each_count(salt: bytes, body: bytes, length: int, mask: int) -> None:
    digest = body_digest(body)
    flipped = bytes([salt[0] ^ mask]) + salt[1:]
    made = {commitment(salt, digest, length), commitment(flipped, digest, length), commitment(salt, digest, length + 1)}
    made.add(commitment(salt, body_digest(body + b"\0"), length))
    assert len(made) == 4


@given(one=st.tuples(origins, runs), other=st.tuples(origins, runs))
def test_t31_a_genesis_belongs_to_one_store_and_one_run(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (genesis_prev(*one) == genesis_prev(*other)) == (one == other)


def test_t31_the_same_bytes_under_another_label_have_another_hash() -> None:
    raw = bytes(72)
    assert len({event_hash(raw), commitment(raw[:32], raw[:32], 0), body_digest(raw)}) == 3


@pytest.mark.parametrize("salt, digest", [(b"", bytes(32)), (bytes(31), bytes(33)), (bytes(32), bytes(20))])
def test_a_commitment_takes_fields_of_fixed_length_only(salt: bytes, digest: bytes) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        commitment(salt, digest, 0)

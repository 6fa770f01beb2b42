"""Cosignatures: read, verified, and told from everything that is none."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from store.core import cosignature
from store.core.checkpoint import Checkpoint, Signature
from store.core.cosignature import WitnessKey
from store.core.errors import Malformed
from tests.support.witness import Witness

STATED = Checkpoint("edgetape.local/x", 7, bytes(range(32)))


def test_what_a_witness_signs_is_verified_with_its_key() -> None:
    witness = Witness({})
    key = WitnessKey.parse(witness.vkey)
    assert str(key) == witness.vkey
    (line,) = cosignature.parse(witness.cosign(STATED.text))
    assert key.own([line]) == [line]
    assert key.time_of(line, STATED) == witness.clock
    assert key.time_of(line, Checkpoint(STATED.origin, 8, STATED.root)) is None
    assert WitnessKey.parse(Witness({}).vkey).own([line]) == []


def test_the_statement_is_that_of_the_specification() -> None:
    assert cosignature.statement(STATED, 1_679_315_147) == (
        b"cosignature/v1\ntime 1679315147\nedgetape.local/x\n7\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"
    )


def test_a_key_is_of_a_witness_or_of_a_log_and_never_both() -> None:
    private = Ed25519PrivateKey.generate()
    key = WitnessKey("w", private.public_key().public_bytes_raw())
    line = Signature("w", key.key_id, private.sign(STATED.text))
    assert key.time_of(line, STATED) is None  # a signature over the bare checkpoint is no cosignature
    with pytest.raises(Malformed, match="kind 04"):
        WitnessKey.parse("w+00000000+AQ==")


@given(st.integers(0, 71), st.integers(1, 255))
def test_no_byte_of_one_can_be_changed(at: int, by: int) -> None:
    witness = Witness({})
    (line,) = cosignature.parse(witness.cosign(STATED.text))
    raw = bytearray(line.signature)
    raw[at] ^= by
    assert WitnessKey.parse(witness.vkey).time_of(Signature(line.name, line.key_id, bytes(raw)), STATED) is None


def test_lines_are_spelled_as_they_were_read() -> None:
    raw = Witness({}).cosign(STATED.text) + Witness({}, "other.example/w").cosign(STATED.text)
    assert cosignature.spell(cosignature.parse(raw)) == raw


@pytest.mark.parametrize("raw", [b"", b"\n", b"\xff\n", b"x", "\u2014 w AAAA\n".encode(), b"x" * 20_000])
def test_what_is_no_cosignature_is_refused(raw: bytes) -> None:
    with pytest.raises(Malformed):
        cosignature.parse(raw)

"""Stored bodies: what was packed comes back, and a stored form that is anything else is refused, and bounded."""

import hashlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from store import payloads
from store.core.errors import Malformed
from store.payloads import Oversize, TrailingFrames, pack, unpack

CODEC = "sha256/zstd"


def stored(frame: bytes) -> bytes:
    """A frame with the check that fits it."""
    return hashlib.sha256(frame).digest()[:16] + frame


@given(body=st.binary(max_size=5000), repeats=st.integers(1, 50))
def test_what_was_packed_comes_back(body: bytes, repeats: int) -> None:
    assert unpack(CODEC, pack(body * repeats), len(body * repeats)) == body * repeats


@given(body=st.binary(min_size=1, max_size=300), mask=st.integers(1, 255))
def test_any_changed_byte_is_refused(body: bytes, mask: int) -> None:
    packed = pack(body)
    for at in range(len(packed)):
        with pytest.raises(Malformed):
            unpack(CODEC, packed[:at] + bytes([packed[at] ^ mask]) + packed[at + 1 :], len(body))


@given(raw=st.binary(max_size=80), length=st.integers(0, 100))
def test_whatever_is_stored_only_malformed_is_raised(raw: bytes, length: int) -> None:
    for each in (raw, stored(raw)):
        try:
            body = unpack(CODEC, each, length)
        except Malformed:
            continue
        assert len(body) == length


def test_a_frame_that_claims_more_is_never_unpacked() -> None:
    bomb = zstandard.ZstdCompressor(write_content_size=True).compress(bytes(1 << 28))
    with pytest.raises(Oversize):
        unpack(CODEC, stored(bomb), 10)
    with pytest.raises(Oversize):
        unpack(CODEC, stored(bomb), payloads.BODY_BYTES_MAX + 1)


@pytest.mark.parametrize("more", [b"x", pack(b"y")[16:], b"\x50\x2a\x4d\x18\x01\0\0\0x"])
def test_anything_behind_the_frame_is_refused(more: bytes) -> None:
    with pytest.raises(TrailingFrames):
        unpack(CODEC, stored(pack(b"x")[16:] + more), 1)


@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_body_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(Malformed):
        unpack(CODEC, pack(b"xy"), length)


def test_a_frame_that_does_not_declare_its_length_is_refused() -> None:
    frame = zstandard.ZstdCompressor(write_content_size=False).compress(b"xy")
    with pytest.raises(Malformed):
        unpack(CODEC, stored(frame), 2)


def test_an_unknown_codec_is_refused() -> None:
    with pytest.raises(Malformed, match="codec"):
        unpack("zstd", pack(b"x"), 1)

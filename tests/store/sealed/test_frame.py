"""A frame behind its check: what it gives of what it was made of, and of what is no frame."""

import hashlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from store.sealed import frame


def checked(packed: bytes, place: bytes = b"here") -> bytes:
    """A frame of somebody who knows how the check is made."""
    return hashlib.sha256(place + packed).digest()[:4] + packed


@given(content=st.binary(max_size=3000), place=st.binary(max_size=40))
def test_a_content_comes_back(content: bytes, place: bytes) -> None:
    assert frame.unpack(frame.pack(content, place), place) == (content, "")


@given(content=st.binary(min_size=1, max_size=300), at=st.integers(min_value=0), change=st.integers(1, 255))
def test_a_changed_byte_is_damage(content: bytes, at: int, change: int) -> None:
    raw = bytearray(frame.pack(content * 3, b"here"))
    raw[at % len(raw)] ^= change
    assert frame.unpack(bytes(raw), b"here")[1]


def test_what_stands_elsewhere_is_damaged_and_can_be_read() -> None:
    content, damage = frame.unpack(frame.pack(b"content", b"here"), b"there")
    assert content == b"content"
    assert "not as it was written" in damage


PACKED = zstandard.compress(b"content" * 40)
NO_FRAMES = {
    "nothing": b"",
    "junk": b"junk",
    "cut off": PACKED[:-3],
    "bytes behind it": PACKED + b"more",
    "a second frame": PACKED + PACKED,
    "a frame that can be skipped": b"\x50\x2a\x4d\x18\x04\0\0\0more" + PACKED,
    "no length": zstandard.ZstdCompressor(write_content_size=False).compress(b"content"),
    "too long": zstandard.compress(bytes(frame.CONTENT_BYTES_MAX + 1)),
    "a gigabyte": zstandard.ZstdCompressor(level=1).compress(bytes(1 << 28)),
    "a wrong checksum": zstandard.ZstdCompressor(write_checksum=True).compress(b"content")[:-1] + b"~",
}


@pytest.mark.parametrize("packed", NO_FRAMES.values(), ids=NO_FRAMES)
def test_what_is_no_frame_gives_nothing_though_its_check_fits(packed: bytes) -> None:
    content, damage = frame.unpack(checked(packed), b"here")
    assert content == b""
    assert "block" in damage


def test_the_longest_content_is_read() -> None:
    content = bytes(frame.CONTENT_BYTES_MAX)
    assert frame.unpack(checked(zstandard.compress(content)), b"here") == (content, "")

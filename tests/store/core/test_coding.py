"""Content codings: what was packed comes back, in one part or many, and nothing unpacks past its limit."""

import gzip
import zlib
from collections.abc import Callable
from contextlib import suppress

import brotli  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from store.core.coding import content_encoding, decode
from store.core.errors import Malformed

LIMIT = 1 << 20


def raw_deflate(content: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
every_coding = pytest.mark.parametrize("coding", PACKERS)


@every_coding
@given(content=st.binary(max_size=3000), repeats=st.integers(1, 60))
def test_what_was_packed_comes_back(coding: str, content: bytes, repeats: int) -> None:
    packed = PACKERS[coding](content * repeats)
    assert decode(packed, coding, LIMIT) == content * repeats
    assert decode(packed, coding.upper(), LIMIT, partial=True) == content * repeats


@given(content=st.binary(max_size=3000), repeats=st.integers(1, 60))
def test_raw_deflate_is_read_as_clients_do(content: bytes, repeats: int) -> None:
    assert decode(raw_deflate(content * repeats), "deflate", LIMIT) == content * repeats


def test_a_raw_deflate_match_that_ends_on_a_piece_is_complete() -> None:
    for length in range(64 * 1024 - 3, 64 * 1024 + 300):
        assert len(decode(raw_deflate(b"a" * length), "deflate", LIMIT)) == length


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@given(parts=st.lists(st.binary(max_size=200), max_size=8))
def test_members_that_follow_one_another_are_one_body(coding: str, parts: list[bytes]) -> None:
    packed = b"".join(PACKERS[coding](part) for part in parts)
    assert decode(packed, coding, LIMIT) == b"".join(parts)


def test_codings_are_undone_last_first() -> None:
    packed = brotli.compress(gzip.compress(b"twice"))
    assert decode(packed, "gzip, br", LIMIT) == b"twice"
    assert decode(b"plain", "", LIMIT) == decode(b"plain", "identity", LIMIT) == b"plain"


@every_coding
def test_nothing_unpacks_past_its_limit(coding: str) -> None:
    bomb = PACKERS[coding](bytes(64 * LIMIT))
    with pytest.raises(Malformed, match="more than 1000 bytes"):
        decode(bomb, coding, 1000)
    assert decode(bomb, coding, 1000, partial=True) == bytes(1000)


@every_coding
def test_a_body_of_exactly_the_limit_is_read(coding: str) -> None:
    packed = PACKERS[coding](bytes(5000))
    assert decode(packed, coding, 5000) == bytes(5000)
    with pytest.raises(Malformed, match="oversize"):
        decode(packed, coding, 4999)


@every_coding
def test_a_cut_body_is_refused_or_read_in_part(coding: str) -> None:
    content = bytes(range(256)) * 40
    packed = PACKERS[coding](content)
    for end in range(1, len(packed)):
        with pytest.raises(Malformed):
            decode(packed[:end], coding, LIMIT)
        assert content.startswith(decode(packed[:end], coding, LIMIT, partial=True))


@every_coding
def test_bytes_behind_the_end_are_refused_and_the_body_is_readable_in_part(coding: str) -> None:
    packed = PACKERS[coding](b"content") + b"\x01\x02\x03"
    with pytest.raises(Malformed):
        decode(packed, coding, LIMIT)
    if coding != "br":  # its decoder gives nothing once it has seen such bytes
        assert decode(packed, coding, LIMIT, partial=True) == b"content"


@every_coding
@given(noise=st.binary(min_size=1, max_size=400))
def test_noise_is_malformed_at_worst(coding: str, noise: bytes) -> None:
    with suppress(Malformed):
        assert len(decode(noise, coding, LIMIT)) <= LIMIT
    assert len(decode(noise, coding, LIMIT, partial=True)) <= LIMIT


@every_coding
def test_an_empty_body_has_nothing_to_undo(coding: str) -> None:
    assert decode(b"", coding, LIMIT) == b""


@pytest.mark.parametrize("coding", ["compress", "aws-chunked", "gzip, unknown", "gzip;q=1", "gzip," * 9 + "gzip"])
def test_an_unknown_or_endless_list_of_codings_is_refused(coding: str) -> None:
    with pytest.raises(Malformed, match="content coding"):
        decode(b"body", coding, LIMIT, partial=True)


def test_too_many_members_are_refused() -> None:
    with pytest.raises(Malformed, match="members"):
        decode(gzip.compress(b"") * 10_001, "gzip", LIMIT)


def test_a_repeated_content_encoding_is_joined_in_order() -> None:
    headers = [(b"Content-Encoding", b"gzip"), (b"accept", b"*/*"), (b"content-encoding", b"br")]
    assert content_encoding(headers) == "gzip, br"
    assert content_encoding([]) == ""

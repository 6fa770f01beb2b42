"""Chunk tables: lengths come back exactly, times within five per cent, and broken tables are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.chunks import Chunk, decode, encode
from store.core.errors import Malformed

HOUR_US = 3600 * 10**6
chunk = st.builds(Chunk, st.integers(0, 2**63 - 1), st.integers(0, HOUR_US))


@given(pieces=st.lists(chunk, max_size=40))
def test_lengths_come_back_exactly_and_times_within_five_per_cent(pieces: list[Chunk]) -> None:
    read = decode(encode(pieces))
    assert [piece.length for piece in read] == [piece.length for piece in pieces]
    for before, after in zip(pieces, read, strict=True):
        # A time is a whole number of microseconds, so the shortest ones may be off by one.
        assert abs(after.wait_us - before.wait_us) <= max(1, 0.05 * before.wait_us)


@given(pieces=st.lists(chunk, max_size=10))
def test_what_was_read_is_written_as_it_was(pieces: list[Chunk]) -> None:
    table = encode(pieces)
    assert encode(decode(table)) == table


def test_a_small_piece_takes_two_bytes() -> None:
    assert len(encode([Chunk(100, 250)] * 1000)) == 2000


def test_times_are_never_negative_and_end_at_the_largest_byte() -> None:
    assert decode(encode([Chunk(1, -5), Chunk(1, 10**15)]))[0] == Chunk(1, 0)
    assert encode([Chunk(1, 10**15)]) == b"\x01\xff"


@pytest.mark.parametrize("table", [b"\x80", b"\x01", b"\xff\xff", b"\x05\x07\x05", b"\x80" * 9 + b"\x01\x00"])
def test_a_table_that_ends_within_an_entry_or_is_oversize_is_refused(table: bytes) -> None:
    with pytest.raises(Malformed):
        decode(table)


@given(table=st.binary(max_size=40))
def test_whatever_the_bytes_only_malformed_is_raised(table: bytes) -> None:
    try:
        pieces = decode(table)
    except Malformed:
        return
    assert all(0 <= piece.length < 2**63 and piece.wait_us >= 0 for piece in pieces)

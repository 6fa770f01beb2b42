"""Numbers in a recipe have one spelling each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.errors import Malformed
from store.splices import varint


@given(st.integers(0, (1 << 63) - 1), st.binary(max_size=3))
def test_a_number_comes_back_and_says_where_it_ends(number: int, behind: bytes) -> None:
    out = bytearray()
    varint.put(out, number)
    assert varint.take(bytes(out) + behind, 0) == (number, len(out))


@given(st.integers(-(1 << 62), (1 << 62) - 1))
def test_a_signed_number_comes_back(number: int) -> None:
    assert varint.folded(number) >= 0
    assert varint.unfolded(varint.folded(number)) == number


@given(st.binary(max_size=12))
def test_what_can_be_read_is_spelled_the_one_way(raw: bytes) -> None:
    try:
        number, end = varint.take(raw, 0)
    except Malformed:
        return
    out = bytearray()
    varint.put(out, number)
    assert raw[:end] == out


@pytest.mark.parametrize("raw", [b"\x80\x00", b"\xff" * 9 + b"\x01", b"\xff" * 20])
def test_a_longer_spelling_or_a_larger_number_is_refused(raw: bytes) -> None:
    with pytest.raises(Malformed):
        varint.take(raw, 0)


@pytest.mark.parametrize("raw", [b"", b"\x80", b"\xff\xff"])
def test_bytes_that_end_within_a_number_are_told_apart(raw: bytes) -> None:
    with pytest.raises(varint.Short):
        varint.take(raw, 0)

"""Hex digits taken out of a text, and put back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.errors import Malformed
from store.sealed import digits

TEXTS = st.lists(
    st.one_of(
        st.text("0123456789abcdef", max_size=140),
        st.text(st.characters(min_codepoint=32, codec="utf-8"), max_size=20),
        st.binary(min_size=8, max_size=40).map(bytes.hex),
    )
).map(lambda parts: "".join(parts).encode())


@given(TEXTS)
def test_a_text_comes_back(text: bytes) -> None:
    left, column = digits.taken(text)
    assert digits.put_back(left, column) == text
    assert digits.column_bytes(left) == len(column)


def test_digits_take_half_the_room() -> None:
    left, column = digits.taken(b"<" + b"0f" * 32 + b"|" + b"1e" * 16 + b"|" + b"2d" * 8 + b"|" + b"3c" * 7 + b">")
    assert left == b"<\x01|\x02|\x03|3c3c3c3c3c3c3c>"
    assert column == b"\x0f" * 32 + b"\x1e" * 16 + b"\x2d" * 8


def test_marks_that_have_no_digits_stay() -> None:
    assert digits.put_back(b"\x03 \x01 \x03", bytes(16)) == b"0000000000000000 \x01 \x03"


@pytest.mark.parametrize("mark", [b"\x01", b"\x02", b"\x03"])
def test_a_text_with_marks_is_refused(mark: bytes) -> None:
    with pytest.raises(Malformed):
        digits.taken(b"text " + mark)

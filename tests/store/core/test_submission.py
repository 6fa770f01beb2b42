"""What a witness is sent is written in one way, and read in that way alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.errors import Malformed
from store.core.submission import Submission

HASHES = st.lists(st.binary(min_size=32, max_size=32), max_size=63).map(tuple)


@given(st.integers(0, 10**18), HASHES, st.binary())
def test_it_is_read_as_it_was_written(old: int, path: tuple[bytes, ...], note: bytes) -> None:
    made = Submission(old, path, note)
    assert Submission.parse(made.text) == made


@given(st.binary(max_size=200))
def test_whatever_is_read_has_one_spelling(raw: bytes) -> None:
    try:
        assert Submission.parse(b"old " + raw).text == b"old " + raw
    except Malformed:
        return


@pytest.mark.parametrize("raw", [b"", b"old 5\n", b"old 05\n\nx", b"old 5\n!\n\nx", b"old 5\nAAAA\n\nx", b"new 5\n\nx"])
def test_what_is_none_is_refused(raw: bytes) -> None:
    with pytest.raises(Malformed):
        Submission.parse(raw)


def test_no_proof_is_longer_than_a_tree_is_high() -> None:
    with pytest.raises(Malformed):
        Submission.parse(Submission(5, (bytes(32),) * 64, b"x").text)

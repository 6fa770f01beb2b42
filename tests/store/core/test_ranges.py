"""Ranges: numbers that come in any order are in it once, and take no room when they come in order."""

from hypothesis import given
from hypothesis import strategies as st

from store.core.ranges import Ranges

pieces = st.lists(st.tuples(st.integers(-3, 40), st.integers(1, 6)), max_size=30)


@given(pieces=pieces)
def test_it_holds_what_a_set_would(pieces: list[tuple[int, int]]) -> None:
    ranges, known = Ranges(), set[int]()
    for start, length in pieces:
        more = set(range(start, start + length))
        assert ranges.add(start, start + length) == (not known & more)
        known |= more if not known & more else set()
        assert all((number in ranges) == (number in known) for number in range(-5, 50))
    for end in range(48):
        assert ranges.is_all(end) == (known == set(range(end)))


def test_nothing_is_all_of_nothing() -> None:
    assert Ranges().is_all(0)
    assert not Ranges().is_all(1)

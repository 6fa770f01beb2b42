"""A recipe has one spelling, and nothing else is one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.errors import Malformed
from store.splices import recipe, varint
from store.splices.recipe import Copy, Recipe

_small = st.integers(0, 1 << 20)
_copies = st.lists(st.builds(Copy, _small, _small, st.integers(1, 1 << 20)), min_size=1, max_size=6).map(tuple)
_codings = st.binary(max_size=20)
recipes = st.one_of(
    st.builds(Recipe, st.just(0), st.just(()), _small, _codings),
    st.builds(Recipe, st.integers(1, 1 << 40), _copies, _small, _codings),
)


@given(recipes, st.binary(max_size=5), st.binary(max_size=5))
def test_a_recipe_comes_back_from_where_it_stands(written: Recipe, before: bytes, behind: bytes) -> None:
    raw = recipe.encode(written)
    assert recipe.decode(before + raw + behind, len(before)) == (written, len(before) + len(raw))


@given(recipes)
def test_each_beginning_of_a_recipe_asks_for_more(written: Recipe) -> None:
    raw = recipe.encode(written)
    for end in range(len(raw)):
        with pytest.raises(varint.Short):
            recipe.decode(raw[:end])


@given(st.binary(max_size=60))
def test_what_can_be_read_is_spelled_the_one_way(raw: bytes) -> None:
    try:
        read, at = recipe.decode(raw)
    except Malformed:
        return
    assert recipe.encode(read) == raw[:at]


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"\x02\x00\x00", id="a base without a copy"),
        pytest.param(b"\x02\x01\x00\x00\x00\x00", id="a copy of nothing"),
        pytest.param(b"\x02\x01\x00\x01\x05\x00", id="a copy from before the base"),
        pytest.param(b"\x01\x00\x00", id="a coding of no bytes"),
        pytest.param(b"\x00" + b"\xff" * 5 + b"\x7f", id="a body that is too long"),
    ],
)
def test_a_recipe_that_breaks_a_rule_is_refused(raw: bytes) -> None:
    with pytest.raises(Malformed) as caught:
        recipe.decode(raw + b"\0" * 40)
    assert not isinstance(caught.value, varint.Short)


def test_lengths_are_those_of_the_body_and_of_its_literals() -> None:
    written = Recipe(9, (Copy(3, 0, 600), Copy(0, 700, 900)), 5)
    assert (written.length, written.literal) == (1508, 8)


def test_the_documented_bytes_of_a_recipe_are_the_bytes() -> None:
    assert recipe.encode(Recipe(300, (Copy(3, 0, 600), Copy(0, 590, 1)), 5)).hex(" ") == (
        "d8 04 02 03 00 d8 04 00 13 01 05"
    )

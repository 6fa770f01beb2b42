"""Differences are named where they are, by pointers that lead there."""

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.compare import ABSENT, Difference, Side, differences, distance, folded, leaves
from store.core.jsontext import Node, Number, opened, parse


def differ(recorded: bytes, live: bytes) -> list[tuple[str, Side, Side]]:
    found = differences(opened(parse(recorded)), opened(parse(live)))
    return [(one.pointer + (f"#{one.inside}" if one.inside else ""), one.recorded, one.live) for one in found]


def test_equal_values_have_no_difference() -> None:
    assert differ(b'{"a":[1,{"b":2}]}', b'{"a":[1,{"b":2}]}') == []


def test_the_smallest_place_is_named() -> None:
    assert differ(b'{"a":[1,{"b":"x"}]}', b'{"a":[1,{"b":"y"}]}') == [("/a/1/b", "x", "y")]


def test_a_pointer_escapes_as_rfc_6901_says() -> None:
    assert differ(b'{"a/b":{"c~d":1}}', b'{"a/b":{"c~d":2}}') == [("/a~1b/c~0d", Number("1"), Number("2"))]


def test_an_insertion_is_one_difference_and_not_a_shift() -> None:
    assert differ(b"[1,2,3,4]", b"[1,9,2,3,4]") == [("/1", ABSENT, Number("9"))]
    assert differ(b"[1,2,3,4]", b"[1,3,4]") == [("/1", Number("2"), ABSENT)]


def test_a_member_that_one_side_lacks_is_absent_there() -> None:
    assert differ(b'{"a":1}', b'{"b":1}') == [("/a", Number("1"), ABSENT), ("/b", ABSENT, Number("1"))]


def test_json_in_a_string_is_entered() -> None:
    found = differ(b'{"f":"{\\"city\\":\\"Oslo\\"}"}', b'{"f":"{ \\"city\\":\\"Bergen\\"}"}')
    assert found == [("/f#/city", "Oslo", "Bergen")]


@pytest.mark.parametrize(
    "recorded, live, far",
    [
        (b'{"q":"a"}', b'{"q":"b"}', 0.5),
        (b'{"q":"a","n":1}', b'{"q":"b","n":1}', 0.25),
        (b'{"q":"a"}', b'{"r":"a"}', 1.0),
        (b'{"q":"a"}', b'{"q":"a"}', 0.0),
    ],
)
def test_distance_counts_structure_whole_and_content_half(recorded: bytes, live: bytes, far: float) -> None:
    assert distance(parse(recorded), parse(live)) == far


def test_long_texts_are_folded_around_the_place_where_they_part() -> None:
    left, right = folded("a" * 5000 + "terse" + "z" * 5000, "a" * 5000 + "chatty" + "z" * 5000)
    assert "terse" in left
    assert "chatty" in right
    assert left.startswith("…")
    assert "characters" in left
    assert max(len(left), len(right)) < 220


def test_short_texts_are_not_folded() -> None:
    assert folded("a", ABSENT) == ('"a"', "(absent)")


values = st.recursive(
    st.none() | st.booleans() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=4),
    max_leaves=12,
)


@given(values, values)
def test_there_is_a_difference_exactly_where_values_differ(recorded: Node, live: Node) -> None:
    found = list(differences(recorded, live))
    assert bool(found) == (recorded != live)
    assert all(one.recorded != one.live for one in found)
    assert 0 <= distance(recorded, live) <= 1
    assert leaves(recorded) >= 1
    for one in found:
        if not one.inside:
            assert_leads_to(one, recorded, live)


def assert_leads_to(one: Difference, recorded: Node, live: Node) -> None:
    for root, side in ((recorded, one.recorded), (live, one.live)):
        if side is not ABSENT:
            assert at(root, one.pointer) == side


def at(node: Node, pointer: str) -> Node:
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        node = node[int(name)] if isinstance(node, list) else cast("dict[str, Node]", node)[name]
    return node

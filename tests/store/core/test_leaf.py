"""Leaves: every type goes to bytes and back, and nothing else is a leaf."""

import msgspec
import pytest

from store.core import canonical, leaf, shape
from store.core.errors import Malformed
from store.core.leaf import LEAF_TYPES, Leaf
from store.core.shape import UnknownShape, UnknownVersion
from tests.vectors import samples

LEAVES = list(samples.leaves())


def test_there_is_a_sample_of_every_leaf_type() -> None:
    assert [shape.type_name(each) for each in LEAVES] != []
    assert {shape.type_name(each) for each in LEAVES} == set(LEAF_TYPES)


@pytest.mark.parametrize("facts", LEAVES, ids=shape.type_name)
def test_a_leaf_comes_back_from_its_bytes(facts: Leaf) -> None:
    raw = leaf.encode(samples.TIME, facts)
    assert leaf.decode(raw) == (samples.TIME, facts)


@pytest.mark.parametrize("facts", LEAVES, ids=shape.type_name)
def test_a_leaf_with_one_member_too_many_or_too_few_is_refused(facts: Leaf) -> None:
    record = canonical.parse(leaf.encode(samples.TIME, facts))
    with pytest.raises(UnknownShape):
        leaf.decode(canonical.encode({**record, "more": 1}))
    optional = {field.encode_name for field in msgspec.structs.fields(type(facts)) if not field.required}
    for missing in record.keys() - optional:
        with pytest.raises(UnknownShape):
            leaf.decode(canonical.encode({name: value for name, value in record.items() if name != missing}))


def test_an_event_is_no_leaf() -> None:
    with pytest.raises(UnknownShape):
        leaf.decode(canonical.encode({"v": 1, "ts": samples.TIME, "type": "http.request"}))


def test_t54_a_leaf_of_a_later_version_is_not_judged() -> None:
    record = canonical.parse(leaf.encode(samples.TIME, LEAVES[0]))
    with pytest.raises(UnknownVersion):
        leaf.decode(canonical.encode({**record, "v": 2}))


def test_bytes_that_are_no_record_are_no_leaf() -> None:
    with pytest.raises(Malformed):
        leaf.decode(b"leaf")

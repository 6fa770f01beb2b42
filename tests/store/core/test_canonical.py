"""The one byte form: what is encoded comes back, as RFC 8785 spells it, and no other bytes are a record."""

import json
from typing import cast

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from store.core.canonical import DEPTH_MAX, INTEGER_MAX, RECORD_BYTES_MAX, Json, Record, TooLarge, encode, parse
from store.core.errors import Malformed
from tests.vectors import refused

text = st.text(st.characters(codec="utf-8"), max_size=20)
names = st.text("abcxyz0189_", min_size=1, max_size=6)
scalars = st.none() | st.booleans() | st.integers(-INTEGER_MAX, INTEGER_MAX) | text
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4), max_leaves=20
)
records = st.dictionaries(names, values, max_size=6)


@given(record=records)
def test_a_record_comes_back_from_its_bytes(record: Record) -> None:
    assert parse(encode(record)) == record


@given(record=records)
def test_the_bytes_are_those_of_rfc_8785(record: Record) -> None:
    assert encode(record) == rfc8785.dumps(cast("dict[str, object]", record))  # type: ignore[arg-type]


@given(record=records, spelling=st.sampled_from(("indent", "spaces", "ascii", "reversed")))
def test_another_spelling_of_a_record_is_refused(record: Record, spelling: str) -> None:
    canonical = encode(record)
    ordered = dict(sorted(record.items(), reverse=spelling == "reversed"))
    other = json.dumps(
        ordered,
        indent=1 if spelling == "indent" else None,
        separators=(", ", ": ") if spelling == "spaces" else (",", ":"),
        ensure_ascii=spelling == "ascii",
        sort_keys=spelling != "reversed",
    ).encode()
    if other != canonical:
        with pytest.raises(Malformed):
            parse(other)


@given(record=records, at=st.integers(0, 10**6), mask=st.integers(1, 255))
def test_changed_bytes_are_refused_or_are_another_record(record: Record, at: int, mask: int) -> None:
    raw = bytearray(encode(record))
    raw[at % len(raw)] ^= mask
    try:
        changed = parse(bytes(raw))
    except Malformed:
        return
    assert changed != record
    assert encode(changed) == raw


@given(raw=st.binary(max_size=60))
def test_whatever_the_bytes_only_malformed_is_raised(raw: bytes) -> None:
    try:
        record = parse(raw)
    except Malformed:
        return
    assert encode(record) == raw


# T32 a duplicate key, T33 other JSON, T34 tricks with numbers, T35 bad Unicode, T38 oversize
@pytest.mark.parametrize("why", refused.SPELLINGS)
def test_t32_t33_t34_t35_t38_no_other_spelling_is_a_record(why: str) -> None:
    with pytest.raises(Malformed):
        parse(refused.SPELLINGS[why])


def test_the_largest_record_is_read_and_written() -> None:
    raw = refused.long(RECORD_BYTES_MAX)
    assert len(raw) == RECORD_BYTES_MAX
    assert encode(parse(raw)) == raw


def test_one_byte_more_is_too_large_both_ways() -> None:
    with pytest.raises(TooLarge):
        parse(refused.long(RECORD_BYTES_MAX + 1))
    with pytest.raises(TooLarge):
        encode({"a": "x" * (RECORD_BYTES_MAX - 7)})


def test_the_deepest_record_is_read_and_written() -> None:
    raw = refused.nested(DEPTH_MAX)
    assert encode(parse(raw)) == raw


def deep(levels: int) -> Json:
    value: Json = 1
    for _ in range(levels - 1):
        value = [value]
    return value


SURROGATE = chr(0xD800)


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        float("nan"),
        b"bytes",
        {1, 2},
        SURROGATE,
        f"a{SURROGATE}",
        2**53,
        -(2**53),
        {"A": 1},
        {"": 1},
        {"a b": 1},
        {SURROGATE: 1},
        deep(DEPTH_MAX),
    ],
    ids=ascii,
)
def test_what_the_profile_cannot_spell_is_refused_before_it_is_written(value: object) -> None:
    with pytest.raises(Malformed):
        encode({"a": cast("Json", value)})


def test_an_integer_of_thousands_of_digits_is_refused_like_any_other() -> None:
    with pytest.raises(Malformed):
        encode({"a": 10**5000})

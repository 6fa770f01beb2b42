"""JSON values lose nothing that matters for a comparison, and nothing else counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core import jsontext
from store.core.errors import Malformed
from store.core.jsontext import Inner, Number, Repeated, canonical, opened, parse


@pytest.mark.parametrize(
    "one, other",
    [
        (b'{"t":1.0}', b'{"t":1}'),
        (b'{"n":12345678901234567890}', b'{"n":12345678901234567891}'),
        (b'{"e":1e400}', b'{"e":1e401}'),
        (b'{"a":1,"a":2}', b'{"a":2}'),
        (b'{"a":1,"a":2}', b'{"a":2,"a":1}'),
        (b'{"a":"1"}', b'{"a":1}'),
        (b'{"a":true}', b'{"a":1}'),
        (b'{"a":null}', b"{}"),
        (b'{"a":[1,2]}', b'{"a":[2,1]}'),
        (b'["NaN"]', b"[NaN]"),
    ],
)
def test_what_matters_stays_apart(one: bytes, other: bytes) -> None:
    assert jsontext.digest(parse(one)) != jsontext.digest(parse(other))


@pytest.mark.parametrize(
    "one, other",
    [
        (b'{"a":1,"b":2}', b'{"b":2,"a":1}'),
        (b'{"a": [1 , 2]}', b'{"a":[1,2]}'),
        ('{"a":"é"}'.encode(), b'{"a":"\\u00e9"}'),
        (b'{"a":"\\/"}', b'{"a":"/"}'),
    ],
)
def test_what_does_not_matter_is_the_same(one: bytes, other: bytes) -> None:
    assert jsontext.digest(parse(one)) == jsontext.digest(parse(other))


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b'{"a":1}x', b"\xef\xbb\xbf{}", b"[" * 100_000])
def test_what_is_no_json_is_malformed(raw: bytes) -> None:
    with pytest.raises(Malformed):
        parse(raw)


def test_json_in_a_string_is_read_too() -> None:
    one = opened(parse(b'{"arguments":"{\\"city\\": \\"Oslo\\", \\"n\\": 1}"}'))
    other = opened(parse(b'{"arguments":"{\\"n\\":1,\\"city\\":\\"Oslo\\"}"}'))
    assert one == other == {"arguments": Inner({"city": "Oslo", "n": Number("1")})}


def test_a_string_that_only_looks_like_json_stays_a_string() -> None:
    assert opened("[not json]") == "[not json]"
    assert opened("{x}") == "{x}"


def test_a_repeated_member_is_kept() -> None:
    assert parse(b'{"a":1,"a":2}') == Repeated((("a", Number("1")), ("a", Number("2"))))


plain = st.recursive(
    st.none() | st.booleans() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(plain, plain)
def test_digests_are_equal_exactly_for_equal_values(one: jsontext.Node, other: jsontext.Node) -> None:
    assert (jsontext.digest(one) == jsontext.digest(other)) == (one == other)
    assert parse(canonical(one)) == one

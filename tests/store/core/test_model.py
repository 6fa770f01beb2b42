"""Texts of the wire: any bytes have one spelling in an envelope, and come back from it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.errors import Malformed
from store.core.text import Apart, Body, text, text_bytes


@given(raw=st.binary(max_size=60) | st.text(max_size=30).map(lambda each: each.encode("utf-8", "surrogatepass")))
def test_any_bytes_come_back_from_their_text(raw: bytes) -> None:
    spelled = text(raw)
    assert text_bytes(spelled) == raw
    try:
        assert spelled == raw.decode("utf-8")
    except UnicodeDecodeError:
        assert isinstance(spelled, Apart)


@given(raw=st.binary(max_size=60))
def test_a_system_string_is_the_bytes_that_it_stands_for(raw: bytes) -> None:
    assert text_bytes(text(raw.decode("utf-8", "surrogateescape"))) == raw


def test_a_text_that_is_a_body_is_not_in_its_envelope() -> None:
    with pytest.raises(Malformed):
        text_bytes(Body(body="#0"))


def test_a_text_is_either_bytes_or_a_body() -> None:
    for wrong in ({}, {"b64": "AA", "body": "#0"}, {"b64": "AA=="}, {"b64": "AB"}):
        with pytest.raises(ValueError, match="b64"):
            Apart(**wrong)
    with pytest.raises(ValueError, match="commitment"):
        Body(b64="AA")

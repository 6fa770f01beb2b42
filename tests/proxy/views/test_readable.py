"""A body reads well and truly: nothing is moved, rounded or lost by indenting it."""

import gzip
import json

from hypothesis import given
from hypothesis import strategies as st

from proxy.views.readable import HEX_BYTES_MAX, indented, readable

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def test_json_is_indented_as_it_stands() -> None:
    body = b'{"b":1.0,"a":[],"b":{"x":1e5,"s":"a,b:{}"},"e":{}}'
    assert readable(body, "application/json").text == (
        '{\n  "b": 1.0,\n  "a": [],\n  "b": {\n    "x": 1e5,\n    "s": "a,b:{}"\n  },\n  "e": {}\n}'
    )


def test_escapes_that_hide_letters_are_undone() -> None:
    assert indented('"caf\\u00e9"') == '"café"'


@given(VALUES)
def test_indenting_changes_no_value(value: object) -> None:
    text = json.dumps(value)
    assert json.loads(indented(text)) == value


def test_a_content_coding_is_undone_and_told() -> None:
    read = readable(gzip.compress(b'{"a":1}'), "application/json", "gzip")
    assert (read.kind, read.text) == ("json", '{\n  "a": 1\n}')
    assert read.note.startswith("gzip undone: ")


def test_a_damaged_coding_is_told_and_what_can_be_read_is_shown() -> None:
    whole = gzip.compress(bytes(range(32, 127)) * 50, mtime=0)
    read = readable(whole[:-20], "text/plain", "gzip")
    assert "could not be undone in full" in read.note
    assert " !" in read.text


def test_an_unknown_coding_is_told() -> None:
    read = readable(b"abc", "text/plain", "rot13")
    assert (read.kind, read.text) == ("text", "abc")
    assert "could not be undone" in read.note


def test_events_are_listed_one_by_one() -> None:
    read = readable(b"event: a\r\ndata: 1\r\n\r\ndata: 2\r\ndata: 3\r\n\r\n", "text/event-stream; charset=utf-8")
    assert read.kind == "events"
    assert read.text == "[1] event: a\n    data: 1\n[2] data: 2\n    data: 3"


def test_binary_is_shown_as_hex_of_its_head() -> None:
    read = readable(b"\x89PNG\x00" + bytes(1000), "image/png")
    assert read.kind == "binary"
    assert read.text.startswith("00000000  89 50 4e 47 00")
    assert len(read.text.splitlines()) == HEX_BYTES_MAX // 16 + 1


def test_a_form_is_listed_by_its_fields() -> None:
    read = readable(b"grant_type=refresh&scope=a+b", "application/x-www-form-urlencoded")
    assert (read.kind, read.text) == ("form", "grant_type = refresh\nscope = a b")


def test_text_in_another_charset_is_read_as_told() -> None:
    assert readable("café".encode("latin-1"), "text/plain; charset=iso-8859-1").text == "café"
    assert readable(b"", "text/plain").kind == "empty"


def test_text_that_only_looks_like_json_stays_as_it_is() -> None:
    assert readable(b"{not json", "application/json").kind == "text"

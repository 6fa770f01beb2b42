"""Annotations as records: one spelling, one shape, and texts that are texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core import annotation
from store.core.annotation import BY_BYTES_MAX, TEXT_BYTES_MAX, Annotation, Place, UnfitAnnotation, Words
from store.core.errors import Malformed
from store.core.shape import UnknownShape, UnknownVersion
from store.core.text import Body

RUN = "01a22a2e-b6be-7656-8816-ef10f9415b00"
PLACE = Place(RUN, 1, "0" * 64, "2026-11-30T02:00:34.378889Z")
SAID = Annotation(seq=3, event_hash="1" * 64, by="a reviewer", kind="approval", text=Body(body="2" * 64), supersedes=0)
RAW = annotation.encode(PLACE, SAID)


def test_an_annotation_is_read_as_it_was_written() -> None:
    assert annotation.decode(RAW) == (PLACE, SAID)


@pytest.mark.parametrize(
    "old, new, error",
    [
        (b'"v":1', b'"v":2', UnknownVersion),
        (b'"v":1', b'"v":1,"w":1', UnknownShape),
        (b'"type":"annotation"', b'"type":"note"', UnknownShape),
        (b'"number":1', b'"number":-1', UnknownShape),
        (b'"supersedes":0,', b'"supersedes":null,', UnknownShape),
        (b'"seq":3', b'"seq": 3', Malformed),
    ],
)
def test_what_is_no_annotation_of_version_1_is_refused(old: bytes, new: bytes, error: type[Exception]) -> None:
    assert old in RAW
    with pytest.raises(error):
        annotation.decode(RAW.replace(old, new))


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=40), st.binary(max_size=40))
def test_words_commit_to_salt_and_text(salt: bytes, one: bytes, other: bytes) -> None:
    words = Words(salt, one)
    assert Words.of(words.stored) == words
    assert (words.body == Words(salt, other).body) == (one == other)


@pytest.mark.parametrize("text", ["", " \n", "a\x00b", "a\x1b[31mb", "\ud800", "ü" * (TEXT_BYTES_MAX // 2 + 1)])
def test_what_is_no_text_is_refused(text: str) -> None:
    with pytest.raises(UnfitAnnotation):
        annotation.fit(text)


def test_a_text_has_line_feeds_and_the_longest_one_fits_into_a_line() -> None:
    assert annotation.fit(" one\r\n\ttwo\n") == "one\n\ttwo"
    assert len(annotation.fit('"' * TEXT_BYTES_MAX)) == TEXT_BYTES_MAX


@pytest.mark.parametrize(
    "by, kind", [("", "comment"), (" ", "comment"), ("x" * (BY_BYTES_MAX + 1), "comment"), ("x\n\x07", "comment")]
    + [("x", kind) for kind in ("", "Two Words", "-x", "x" * 33, "ü")],
)  # fmt: skip
def test_an_author_and_a_kind_are_short_and_plain(by: str, kind: str) -> None:
    with pytest.raises(UnfitAnnotation):
        annotation.demand(by, kind)

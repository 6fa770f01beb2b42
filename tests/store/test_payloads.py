"""Stored bodies: what was added comes back, and what is stored as anything else is refused, and bounded."""

from collections.abc import Sequence

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from store.core.errors import Malformed
from store.payloads import Bodies, Oversize
from store.splices.splicer import Splicer
from store.splices.stream import Block, Span, tight
from tests.store.splices.rows import GUARD


def packed(log: bytes) -> list[tuple[Span, bytes]]:
    """A log in its blocks."""
    return [(block.span, GUARD.close(block)) for block in tight().blocks(log)]


def bodies(rows: Sequence[tuple[Span, bytes]]) -> Bodies:
    def fetch(first: int, last: int) -> list[bytes]:
        return [stored for span, stored in rows if first <= span.number <= last]

    return Bodies([span for span, _ in rows], fetch, GUARD)


def spliced(contents: Sequence[bytes]) -> tuple[bytes, list[int]]:
    """A log of these bodies, and their places."""
    splicer = Splicer()
    places = [splicer.add(content) for content in contents]
    return splicer.take(), places


@given(contents=st.lists(st.binary(max_size=3000), max_size=6), repeats=st.integers(1, 20))
def test_what_was_added_comes_back(contents: list[bytes], repeats: int) -> None:
    wanted = [content * repeats for content in contents]
    log, places = spliced(wanted)
    stored = bodies(packed(log))
    assert [stored.body(place, len(body)) for place, body in zip(places, wanted, strict=True)] == wanted
    assert stored.exact


def test_a_body_that_nobody_names_shows() -> None:
    log, places = spliced([b"one", b"two", b"three"])
    for left_out in range(3):
        stored = bodies(packed(log))
        for place, length in [each for at, each in enumerate(zip(places, (3, 3, 5), strict=True)) if at != left_out]:
            stored.body(place, length)
        assert not stored.exact


@given(at=st.integers(0), mask=st.integers(1, 255))
def test_any_changed_byte_is_refused(at: int, mask: int) -> None:
    log, (place,) = spliced([b"a body of some bytes"])
    ((span, stored),) = packed(log)
    at %= len(stored)
    changed = stored[:at] + bytes([stored[at] ^ mask]) + stored[at + 1 :]
    with pytest.raises(Malformed):
        bodies([(span, changed)]).body(place, 20)


@given(raw=st.binary(min_size=1, max_size=80), place=st.integers(-2, 90), length=st.integers(0, 100))
def test_whatever_is_stored_only_malformed_is_raised(raw: bytes, place: int, length: int) -> None:
    stored = bodies(packed(raw))
    try:
        body = stored.body(place, length)
    except Malformed:
        return
    assert len(body) == length


@pytest.mark.parametrize("place", [-1, 1, 4, 1 << 62])
def test_a_place_without_a_piece_is_refused(place: int) -> None:
    log, _ = spliced([b"\xff\xff"])
    with pytest.raises(Malformed):
        bodies(packed(log)).body(place, 2)


@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_body_of_another_length_is_refused(length: int) -> None:
    log, (place,) = spliced([b"xy"])
    with pytest.raises(Oversize if length < 2 else Malformed):
        bodies(packed(log)).body(place, length)


def test_a_frame_that_unpacks_to_more_is_never_unpacked() -> None:
    bomb = zstandard.ZstdCompressor(level=1).compress(bytes(1 << 28))
    span = Span(0, 0, 10, 0)
    with pytest.raises(Malformed):
        bodies([(span, GUARD.close(Block(span, bomb)))]).body(0, 8)


def test_blocks_that_do_not_follow_one_another_hold_no_body() -> None:
    log, (place,) = spliced([b"xy"])
    ((span, stored),) = packed(log)
    both = [(span, stored), (Span(1, span.end + 1, 1, 1), stored)]
    found = bodies(both)
    with pytest.raises(Malformed, match="follow"):
        found.body(place, 2)
    assert not found.exact


def test_bytes_behind_a_damaged_block_do_not_hide_what_stands_before_it() -> None:
    """A piece is sought in more bytes than it has: that these are damaged is no fault of it."""
    log, (one, other) = spliced([b"sound", b"damaged"])
    first, second = Span(0, 0, other, 0), Span(1, other, len(log) - other, 1)
    content = [zstandard.ZstdCompressor().compress(part) for part in (log[:other], log[other:])]
    rows = [(first, GUARD.close(Block(first, content[0]))), (second, bytes(len(content[1])))]
    found = bodies(rows)
    assert found.body(one, 5) == b"sound"
    with pytest.raises(Malformed):
        found.body(other, 7)

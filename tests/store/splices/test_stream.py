"""The log as blocks: live or sealed, the same bytes come back, from anywhere in it."""

import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.errors import Malformed
from store.splices import stream
from store.splices.blocklog import BlockLog
from store.splices.stream import FRAME_BYTES_MAX, SLICE_BYTES, Span
from tests.store.splices.rows import GUARD, Rows, sentence

TEXT = sentence(7, 500_000).encode()  # some frames long


def rows_of(pieces: list[bytes]) -> Rows:
    """The rows that a live stream makes of these pieces of a log."""
    rows, live = Rows(), stream.live()
    for piece in pieces:
        rows.add(live.blocks(piece))
    return rows


@given(st.lists(st.binary(max_size=300), max_size=30), st.data())
def test_any_range_of_a_live_log_comes_back(pieces: list[bytes], data: st.DataObject) -> None:
    log = b"".join(pieces)
    read = rows_of(pieces).log()
    assert read.end == len(log)
    begin = data.draw(st.integers(0, len(log)))
    end = data.draw(st.integers(begin, len(log)))
    assert read.read(begin, end - begin) == log[begin:end]


def test_a_log_of_several_frames_comes_back_sealed_and_live() -> None:
    live = rows_of([TEXT[at : at + 300_000] for at in range(0, len(TEXT), 300_000)])
    log = live.log()
    sealed = Rows()
    sealed.add(stream.sealed(log.read, log.end, level=3))
    for rows in (live, sealed):
        read = rows.log()
        assert read.read(0, read.end) == TEXT
        for begin in (0, SLICE_BYTES - 5, FRAME_BYTES_MAX - 5, len(TEXT) - 10):
            assert rows.log().read(begin, 10) == TEXT[begin : begin + 10]
    assert sealed.stored_bytes < live.stored_bytes * 1.2


def test_to_read_a_byte_no_more_than_its_frame_up_to_it_is_fetched() -> None:
    sealed = Rows()
    sealed.add(stream.sealed(lambda offset, length: TEXT[offset : offset + length], len(TEXT), level=3))
    assert sealed.log().read(FRAME_BYTES_MAX + SLICE_BYTES + 5, 1)
    assert sealed.fetched == [16, 17]


def test_no_frame_holds_more_than_it_may() -> None:
    pieces = [bytes(3 * FRAME_BYTES_MAX + 5), b"x", bytes(FRAME_BYTES_MAX), b"y" * 10]
    rows = rows_of(pieces)
    frames: dict[int, int] = {}
    for span, _ in rows.stored.values():
        frames[span.frame] = frames.get(span.frame, 0) + span.length
    assert max(frames.values()) <= FRAME_BYTES_MAX
    assert rows.log().read(0, rows.log().end) == b"".join(pieces)


def test_what_hardly_compresses_stands_in_frames_of_its_own() -> None:
    image = random.Random(5).randbytes(200_000)
    rows = rows_of([b"text " * 100, image, b"more text " * 100])
    assert [span.frame for span, _ in rows.stored.values()] == [0, 1, 2]
    assert rows.log().read(500, len(image)) == image


def test_joined_blocks_are_read_as_the_ones_they_were() -> None:
    live = stream.live()
    blocks = [block for at in range(5) for block in live.blocks(TEXT[at * 1000 : at * 1000 + 1000])]
    rows = Rows()
    rows.add([blocks[0], stream.joined(blocks[1:4]), blocks[4]])
    assert rows.log().read(0, 5000) == TEXT[:5000]


@pytest.mark.parametrize(
    "spans",
    [
        pytest.param([Span(0, 1, 5, 0)], id="not from the first byte on"),
        pytest.param([Span(0, 0, 5, 0), Span(1, 6, 5, 0)], id="a gap"),
        pytest.param([Span(0, 0, 5, 0), Span(1, 4, 5, 0)], id="an overlap"),
        pytest.param([Span(1, 0, 5, 1), Span(0, 5, 5, 0)], id="numbers that fall"),
        pytest.param([Span(0, 0, 0, 0)], id="an empty block"),
        pytest.param([Span(0, 0, -5, 0)], id="a negative length"),
        pytest.param([Span(1, 0, 5, 0)], id="no frame"),
        pytest.param([Span(0, 0, 5, 0), Span(1, 5, 5, 1), Span(2, 10, 5, 0)], id="a frame in two parts"),
        pytest.param([Span(0, 0, FRAME_BYTES_MAX + 1, 0)], id="a frame that is too long"),
    ],
)
def test_spans_that_are_no_log_are_refused(spans: list[Span]) -> None:
    with pytest.raises(Malformed):
        BlockLog(spans, lambda first, last: [], GUARD)


def test_a_block_that_unpacks_to_more_or_less_than_it_says_is_refused() -> None:
    (block,) = stream.live().blocks(TEXT[:5000])
    for length in (1, 4999, 5001):
        rows = Rows()
        rows.add([stream.Block(Span(0, 0, length, 0), block.content)])
        with pytest.raises(Malformed, match="than it says"):
            rows.log().read(0, length)


def test_a_small_block_that_blows_up_is_stopped_early() -> None:
    (bomb,) = stream.tight().blocks(bytes(FRAME_BYTES_MAX))
    rows = Rows()
    rows.add([stream.Block(Span(0, 0, 10, 0), bomb.content * 4096)])
    with pytest.raises(Malformed):
        rows.log().read(0, 10)


def test_of_a_block_that_blows_up_no_more_is_unpacked_at_once_than_one_zstd_block() -> None:
    (block,) = stream.tight().blocks(b"x")
    repeated = b"\x02\x00\x10x"  # 128 KiB of one byte (RFC 8878, section 3.1.1.2)
    rows = Rows()
    rows.add([stream.Block(Span(0, 0, 10, 0), block.content + repeated * 4096)])
    tracemalloc.start()
    try:
        with pytest.raises(Malformed, match="more than it says"):
            rows.log().read(0, 10)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 1 << 20


@pytest.mark.parametrize("kept", range(1, 6))
def test_blocks_that_end_within_a_zstd_block_are_read_too(kept: int) -> None:
    live = stream.live()
    first, second, third = (block for at in range(3) for block in live.blocks(TEXT[at * 5000 : at * 5000 + 5000]))
    rows = Rows()
    rows.add([stream.Block(first.span, first.content + second.content[:kept])])
    rows.add([stream.Block(second.span, second.content[kept:]), third])
    assert rows.log().read(0, 15_000) == TEXT[:15_000]


def test_a_missing_block_and_foreign_bytes_are_malformed() -> None:
    log = BlockLog([Span(0, 0, 5, 0)], lambda first, last: [], GUARD)
    with pytest.raises(Malformed, match="missing"):
        log.read(0, 5)
    rows = Rows()
    rows.add([stream.Block(Span(0, 0, 5, 0), b"not a frame")])
    with pytest.raises(Malformed, match="zstd"):
        rows.log().read(0, 5)


@pytest.mark.parametrize("offset, length", [(-1, 2), (0, 6), (5, 1), (2, -1)])
def test_a_range_outside_the_log_is_malformed(offset: int, length: int) -> None:
    with pytest.raises(Malformed):
        rows_of([b"12345"]).log().read(offset, length)


def test_what_comes_in_a_hurry_is_compressed_less_hard_and_sealed_as_hard_as_all() -> None:
    pieces = [TEXT[at : at + 60_000] for at in range(0, 1_200_000, 60_000)]
    log, usual, hurried = b"".join(pieces), Rows(), Rows()
    for rows, hurry in ((usual, False), (hurried, True)):
        live = stream.live()
        for piece in pieces:
            rows.add(live.blocks(piece, hurried=hurry))
        read = rows.log()
        assert read.read(0, read.end) == log
    assert hurried.stored_bytes < usual.stored_bytes * 1.3
    assert [stored for _, stored in hurried.stored.values()] != [stored for _, stored in usual.stored.values()]
    tight = Rows()
    tight.add(stream.sealed(hurried.log().read, len(log), level=3))
    assert tight.stored_bytes < usual.stored_bytes * 1.2


def test_a_writer_that_has_caught_up_compresses_as_usual_before_long() -> None:
    live, frames = stream.live(), list[int]()
    for number in range(20):
        (block,) = live.blocks(TEXT[number * 60_000 : (number + 1) * 60_000], hurried=number in (2, 4))
        frames.append(block.span.frame)
    assert sorted(set(frames)) == [0, 2, 7]  # no frame of its own for each block that came in a hurry
    (short,) = live.blocks(b"short", hurried=True)
    assert short.span.frame == 7

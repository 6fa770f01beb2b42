"""Openings in blocks: they come back, and what is damaged is never taken for nothing."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from store.core.errors import Malformed
from store.sealed import frame, openings
from store.sealed.openings import OpeningBlock, Row

POINTERS = st.sampled_from(["/body", "/query", "/headers/3/1", "/é", ""])
ROWS = st.lists(
    st.builds(
        Row,
        seq=st.integers(0, 1 << 40),
        pointer=POINTERS,
        salt=st.sampled_from([b"", bytes(32), b"s" * 32]),
        sha256=st.binary(min_size=32, max_size=32),
        length=st.integers(0, 1 << 40),
        place=st.none() | st.integers(0, 1 << 40),
    ),
    min_size=1,
    max_size=8,
).map(lambda rows: sorted(rows, key=lambda row: row.seq))
ONE = Row(3, "/body", b"", b"d" * 32, 5, 9)


@given(ROWS)
def test_openings_come_back(rows: list[Row]) -> None:
    assert openings.restored(openings.pack("run", rows)) == rows
    assert [row for block in openings.packed("run", rows) for row in openings.restored(block)] == rows


def test_what_is_derived_takes_few_bytes() -> None:
    rows = [Row(seq, "/body", b"", bytes([seq % 256]) * 32, 1000 + seq, seq * 300) for seq in range(400)]
    block = openings.pack("run", rows)
    assert len(block.digests) == 32 * 400
    assert len(block.rows) < 3 * 400


def test_the_openings_of_one_event_stand_in_one_block() -> None:
    rows = [structs.replace(ONE, seq=seq, pointer=f"/{at}") for seq in range(60) for at in range(20)]
    blocks = list(openings.packed("run", rows))
    assert [block.first for block in blocks] == list(range(0, 60, 7))
    assert [row for block in blocks for row in openings.restored(block)] == rows


@pytest.mark.parametrize(
    "row",
    [structs.replace(ONE, sha256=b"short"), structs.replace(ONE, length=-1), structs.replace(ONE, length=1 << 70)],
)
def test_what_would_not_come_back_is_refused(row: Row) -> None:
    with pytest.raises(Malformed):
        openings.pack("run", [row])


def test_what_is_damaged_says_so() -> None:
    block = openings.pack("run", [ONE, structs.replace(ONE, seq=4)])
    content, _ = frame.unpack(block.rows, block._place)
    for other in (
        replace(block, rows=frame.pack(content + b"\0", block._place)),
        replace(block, rows=b"~" + block.rows[1:]),
        replace(block, run="another"),
    ):
        found = openings.restored(other)
        assert [bool(row.damage) for row in found] == [True, False]
        assert [structs.replace(row, damage="") for row in found] == [ONE, structs.replace(ONE, seq=4)]
    for other in (
        replace(block, rows=frame.pack(content[:-1], block._place)),
        replace(block, rows=frame.pack(b"\xff" * 9, block._place)),
        replace(block, digests=block.digests[:-1]),
        replace(block, rows=b""),
        OpeningBlock("run", 3, b"", frame.pack(b"\0", OpeningBlock("run", 3, b"", b"")._place)),
    ):
        (row,) = openings.restored(other)
        assert (row.seq, row.pointer, row.place) == (3, "", None)
        assert row.damage

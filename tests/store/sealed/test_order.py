"""Records of many blocks come in the order of their seqs."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from store.sealed.order import ordered


@dataclass(frozen=True, slots=True)
class Record:
    seq: int
    name: int


BLOCKS = st.lists(st.tuples(st.integers(0, 20), st.lists(st.integers(0, 10), max_size=5)), max_size=5)


@given(BLOCKS)
def test_they_come_in_order_though_blocks_overlap(blocks: list[tuple[int, list[int]]]) -> None:
    named = [
        (first, [Record(first + step, 100 * at + index) for index, step in enumerate(sorted(steps))])
        for at, (first, steps) in enumerate(sorted(blocks))
    ]
    everything = [record for _, records in named for record in records]
    assert list(ordered(named)) == sorted(everything, key=lambda record: record.seq)

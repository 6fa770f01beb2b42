"""What the log says was done to runs: the last word counts, and a run that came in again begins anew."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from store import log, standing
from store.core.leaf import HoldReleased, HoldSet, Leaf, PayloadErased, RetentionPruned, RunImported
from store.database import FILE_NAME
from store.standing import NOTHING, Standing
from tests.support.tape import Tape, tape

RUN = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
OTHER = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5c"
HELD = HoldSet(run=RUN, by="operator", reason="a dispute")
PRUNED = RetentionPruned(run=RUN, by="operator", reason="its time is over")
IMPORTED = RunImported(run=RUN, origin="edgetape.local/x", n=1, head="0" * 64, size=1, root="0" * 64)
TIME = "2026-11-30T02:00:34.378889Z"


def erasure(seq: int | None = None, run: str = RUN) -> PayloadErased:
    return PayloadErased(run=run, by="operator", reason="asked for", seq=seq)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Tape]:
    with tape(tmp_path) as opened:
        yield opened


def told(made: Tape, *leaves: Leaf) -> tuple[Standing, Standing]:
    """What is said of the run when these leaves were written, asked for alone and among all."""
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        for each in leaves:
            log.append(connection, TIME, each)
        connection.commit()
        return standing.of_run(connection, RUN), standing.of_all(connection).get(RUN, NOTHING)


@pytest.mark.parametrize(
    "leaves, expected",
    [
        pytest.param([], NOTHING, id="nothing"),
        pytest.param([HELD], Standing(hold=HELD), id="held"),
        pytest.param([HELD, HoldReleased(run=RUN, by="operator", reason="settled")], NOTHING, id="released"),
        pytest.param(
            [erasure(3), erasure(5), erasure(run=OTHER)],
            Standing(erased=frozenset((3, 5)), erasure=(TIME, erasure(5))),
            id="two events erased",
        ),
        pytest.param([erasure()], Standing(erased=frozenset((None,)), erasure=(TIME, erasure())), id="erased"),
        pytest.param([erasure(), PRUNED], Standing(pruned=(TIME, PRUNED)), id="pruned"),
        pytest.param([erasure(), PRUNED, IMPORTED], NOTHING, id="pruned and imported again"),
    ],
)
def test_the_last_word_counts(leaves: list[Leaf], expected: Standing, made: Tape) -> None:
    assert told(made, *leaves) == (expected, expected)


def test_an_event_is_erased_by_its_own_leaf_or_by_that_of_its_run(made: Tape) -> None:
    told(made, erasure(3))
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        assert standing.erased(connection, RUN, 3) == (TIME, erasure(3))
        assert standing.erased(connection, RUN, 4) is None
    told(made, erasure(), PRUNED)
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        assert standing.erased(connection, RUN, 3) is None

"""The log in SQLite: it is the tree of its leaves at every size, whoever appends."""

import sqlite3
from pathlib import Path

import pytest

from store import log
from store.core import checkpoint, merkle
from store.core.draft import Draft
from store.core.errors import StoreUnusable
from store.core.leaf import RecorderStop
from store.database import FILE_NAME
from tests.store.verify.attacker import Attacker
from tests.support.tape import Call, Tape, opening, tape
from tests.vectors.samples import TIME


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with a few leaves."""
    with tape(tmp_path) as made:
        for _ in range(5):
            made.run([Call()])
    return made.folder


def test_the_root_at_every_size_is_that_of_the_leaves(folder: Path) -> None:
    connection = sqlite3.connect(folder / FILE_NAME)
    leaves = [raw for (raw,) in connection.execute("SELECT leaf FROM leaves ORDER BY position")]
    assert log.size(connection) == len(leaves) == 13
    for size in range(len(leaves) + 1):
        assert log.root_at(connection, size) == merkle.Tree(leaves[:size]).root
    assert log.root_at(connection, len(leaves) + 1) is None
    assert log.append(connection, TIME, RecorderStop(recorder="x")) == len(leaves)
    connection.close()


def test_the_newest_checkpoint_covers_the_whole_log(folder: Path) -> None:
    connection = sqlite3.connect(folder / FILE_NAME)
    note = log.newest_checkpoint(connection)
    assert note is not None
    stated = checkpoint.parse(note).checkpoint
    assert (stated.size, stated.root) == (log.size(connection), log.root_at(connection, log.size(connection)))
    log.add_checkpoint(connection, stated.size, b"another")
    assert log.newest_checkpoint(connection) == note
    connection.close()


def test_a_log_without_a_node_that_it_needs_is_not_appended_to(folder: Path) -> None:
    attacker = Attacker(folder)
    attacker.db.execute("DELETE FROM nodes")
    attacker.close()
    with tape(folder.parent) as made:
        _, opened = made.writer.open_run(Draft(opening()))
        with pytest.raises(StoreUnusable, match="missing"):
            opened.result()


def test_a_tape_without_a_run_has_the_leaf_of_its_store_alone(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        assert isinstance(made, Tape)
    connection = sqlite3.connect(made.folder / FILE_NAME)
    assert log.size(connection) == 1
    connection.close()

"""An export: a function of runs and checkpoint, which holds what it says and nothing more."""

import json
from pathlib import Path

import pytest

from store.bundle.export import excerpt
from store.bundle.packing import members, write
from store.core.errors import StoreUnusable, UnknownRun
from store.reader import Reader
from tests.store.bundle.conftest import CALLS, SECRET
from tests.store.bundle.parcel import REPORT, Parcel, both, export
from tests.store.verify.attacker import Attacker
from tests.support.tape import tape


def test_an_export_verifies_and_twice_gives_the_same_bytes(recorded: Path, raw: bytes, tmp_path: Path) -> None:
    assert export(recorded, "closed") == raw
    path = tmp_path / "closed.zip"
    path.write_bytes(raw)
    assert both(path) == (0, [])


def test_it_stays_the_same_when_the_store_grows(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        made.run(CALLS, "closed")
        made.writer.checkpoint().result(30)
        before = export(made.folder, "closed")
        made.run(CALLS, "later")
        made.writer.checkpoint().result(30)
        assert export(made.folder, "closed") == before


def test_several_runs_go_into_one_bundle(recorded: Path, tmp_path: Path) -> None:
    parcel = Parcel(export(recorded, "other", "closed", "closed"))
    assert len(json.loads(parcel.members["manifest.json"])["runs"]) == 2
    assert both(parcel.write(tmp_path / "two.zip")) == (0, [])


def test_of_an_open_run_it_holds_what_a_checkpoint_covers(recorded: Path, tmp_path: Path) -> None:
    parcel = Parcel(export(recorded, "open"))
    assert len(parcel.lines("events.ndjson")) == 3
    assert both(parcel.write(tmp_path / "open.zip")) == (0, [])


def test_without_bodies_nothing_that_was_said_is_in_it(recorded: Path, raw: bytes, tmp_path: Path) -> None:
    bare = export(recorded, "closed", bodies=False)
    assert SECRET in raw
    assert SECRET not in bare
    parcel = Parcel(bare)
    assert not any(name.startswith(("blobs/", "openings")) for name in parcel.members)
    assert both(parcel.write(tmp_path / "bare.zip")) == (0, [])


def test_with_proofs_no_other_run_is_named(recorded: Path, raw: bytes, tmp_path: Path) -> None:
    with Reader.open(recorded, recorded.parent / "keys") as reader:
        other = reader.find("closed").id
    proven = export(recorded, "other", proofs=True)
    assert other.encode() in export(recorded, "other")
    assert other.encode() not in proven
    assert both(Parcel(proven).write(tmp_path / "proven.zip")) == (0, [])


def test_every_proof_of_every_tree_size_holds(tmp_path: Path) -> None:
    with tape(tmp_path / "store") as made:
        for number in range(9):
            made.run([], f"run {number}")
            made.writer.checkpoint().result(30)
            path = tmp_path / f"{number}.zip"
            words = [f"run {each}" for each in range(number + 1)]
            assert both(Parcel(export(made.folder, *words, proofs=True)).write(path)) == (0, [])


def test_a_run_that_nobody_knows_is_an_error(recorded: Path) -> None:
    with pytest.raises(UnknownRun):
        export(recorded, "nobody")


def test_what_does_not_verify_is_not_written(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        run = made.run(CALLS, "closed")
    attacker = Attacker(tmp_path / "store")
    attacker.edit(run, 2, lambda record: record.update(status=201), rechain=False)
    attacker.close()
    out = tmp_path / "out"
    with (
        excerpt(tmp_path / "store", tmp_path / "keys", ["closed"]) as taken,
        pytest.raises(StoreUnusable, match="V203"),
    ):
        write(out / "bundle.zip", members(taken, REPORT, proofs=False, bodies=True))
    assert list(out.iterdir()) == []

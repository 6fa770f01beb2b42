"""What becomes of annotations in a store: said, corrected, erased, pruned, closed anew, taken along."""

import sqlite3
from pathlib import Path

import pytest

from store import custody, retention
from store.annotations import Said
from store.bundle.intake import take_in
from store.core.annotation import UnfitAnnotation
from store.core.errors import UnknownRun
from store.core.leaf import HoldSet
from store.erasure import Erasure
from store.reader import Reader
from store.retention import Pruning
from store.verify import Verdict, verify
from tests.store.bundle.parcel import export
from tests.support.tape import Call, Tape, tape

CANARY = "what only the reviewer knows"
CALLS = [Call(body=b'{"q":1}', answer=b'{"a":1}'), Call(body=b'{"q":2}', answer=b'{"a":2}')]


def said(made: Tape, run: str) -> list[Said]:
    with Reader.open(made.folder, made.keys) as reader:
        return reader.annotations(run)


def texts(made: Tape, run: str) -> list[str | None]:
    return [each.text for each in said(made, run)]


def sound(folder: Path) -> Verdict:
    verdict = verify(folder, folder.parent / "keys")
    assert (verdict.exit_code, verdict.remarks.word) == (0, "VERIFIED"), verdict.remarks.findings
    return verdict


def lies_in(folder: Path, text: str) -> bool:
    return any(text.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_what_is_said_is_kept_beside_the_run_and_corrected_by_what_is_said_later(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        run = made.run(CALLS)
        going_on = made.run(CALLS[:1], close=False)
        made.writer.hold(HoldSet(run=run, by="x", reason="x")).result(30)
        assert [made.annotate(run, 1, CANARY), made.annotate(run, 2, "b"), made.annotate(run, 1, "c", 0)] == [0, 1, 2]
        assert made.annotate(going_on, 0, "about the whole of it") == 0
        first, second, third = said(made, run)
        assert (first.text, first.superseded, third.facts.supersedes) == (CANARY, 2, 0)
        assert (second.superseded, second.place.prev == first.place.prev) == (None, False)
        with Reader.open(made.folder, made.keys) as reader:
            assert second.facts.event_hash == reader.event_hash(run, 2).hex()
        for seq, supersedes, error in ((99, None, UnknownRun), (2, 0, UnfitAnnotation), (1, 9, UnfitAnnotation)):
            with pytest.raises(error):
                made.annotate(run, seq, "x", supersedes)
        assert len(said(made, run)) == 3
    assert not lies_in(tmp_path, CANARY)
    assert sound(made.folder).remarks.count == 4


def test_texts_go_with_the_bodies_of_their_events_and_more_can_be_said(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        run = made.run(CALLS)
        for seq in (1, 2, 1, 3):
            made.annotate(run, seq, f"about {seq}")
        made.writer.erase(Erasure(run, (1,), "x", "asked for")).result(30)
        assert texts(made, run) == [None, "about 2", None, "about 3"]
        made.annotate(run, 1, "erased because it was asked for")
        assert sound(made.folder).remarks.counts["ANNOTATIONS_ERASED"] == 2
        made.writer.checkpoint().result(30)
        raw = export(made.folder, run)
        made.writer.erase(Erasure(run, None, "x", "asked for")).result(30)
        made.annotate(run, 3, "all of it")
        assert texts(made, run) == [None] * 5 + ["all of it"]
    assert sound(made.folder).remarks.counts["ANNOTATIONS_ERASED"] == 5
    (tmp_path / "run.zip").write_bytes(raw)
    with tape(tmp_path / "other") as other:
        verdict, runs = take_in(tmp_path / "run.zip", other.writer)
        assert (runs, verdict.remarks.word) == ([run], "VERIFIED")
        assert texts(other, run)[3:] == ["about 3", "erased because it was asked for"]
        other.annotate(run, 2, "said elsewhere")
    assert sound(other.folder).remarks.line == "VERIFIED (ANNOTATIONS_ERASED 2) annotations: 6"


def test_an_open_run_can_lose_what_was_said_so_far(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        run = made.run(CALLS[:1], close=False)
        made.annotate(run, 0, CANARY)
        made.writer.erase(Erasure(run, None, "x", "asked for")).result(30)
        made.note(run, b"it goes on").result(30)
        made.annotate(run, 3, "and this stays")
        assert texts(made, run) == [None, "and this stays"]
    sound(made.folder)


def test_a_run_that_is_pruned_takes_its_annotations_along_and_brings_them_back(tmp_path: Path) -> None:
    with tape(tmp_path / "first") as made:
        run = made.run(CALLS)
        made.annotate(run, 1, "kept")
        made.writer.checkpoint().result(30)
        raw = export(made.folder, run)
    (tmp_path / "run.zip").write_bytes(raw)
    with tape(tmp_path / "second") as other:
        take_in(tmp_path / "run.zip", other.writer)
        retention.prune(other.writer, Pruning(run, "x", "its time is over")).result(30)
        assert said(other, run) == []
        other.run(CALLS)
        other.writer.checkpoint().result(30)
        sound(other.folder)
        take_in(tmp_path / "run.zip", other.writer)
        assert texts(other, run) == ["kept"]
    sound(other.folder)


def test_another_store_key_opens_the_texts_and_the_old_one_does_not(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        run = made.run(CALLS)
        made.annotate(run, 1, "kept")
    old, _ = custody.rotate_store_key(made.folder, made.keys)
    old.unlink()
    assert texts(made, run) == ["kept"]
    sound(made.folder)


def test_a_store_of_before_has_no_annotations(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        run = made.run(CALLS)
    with sqlite3.connect(made.folder / "edgetape.db") as connection:
        for table in ("annotations", "annotation_texts"):
            connection.execute(f"DROP TABLE {table}")
    connection.close()
    assert said(made, run) == []
    assert sound(made.folder).remarks.line == ""


def test_two_writers_number_what_they_say_one_after_the_other(tmp_path: Path) -> None:
    with tape(tmp_path) as one, tape(tmp_path) as other:
        run = one.run(CALLS)
        numbers = [each.annotate(run, 1, "x") for each in (one, other, other, one, other)]
        assert numbers == [0, 1, 2, 3, 4]
    sound(one.folder)


def test_a_bundle_is_the_same_bytes_until_more_is_said(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        run = made.run(CALLS)
        made.annotate(run, 1, "one")
        made.writer.checkpoint().result(30)
        first = export(made.folder, run)
        made.run(CALLS)
        assert export(made.folder, run) == first
        made.annotate(run, 1, "two")
        made.writer.checkpoint().result(30)
        assert b"annotations.ndjson" in first
        assert export(made.folder, run) != first
        assert b'"text":"one"' not in export(made.folder, run, bodies=False)

"""Verification: what must pass passes, what cannot be judged says so, and nothing is written."""

import json
import shutil
import time
from pathlib import Path

import pytest

from store.core import digest
from store.core.errors import UnknownRun
from store.database import FILE_NAME
from store.verify import LIMITS, Terms, Verdict, verify
from store.writer import Writer
from tests.store.verify.attacker import Attacker, encoded
from tests.store.verify.conftest import CALLS
from tests.support.sample import Sample
from tests.support.tape import Call, seeded, tape


def flags(verdict: Verdict) -> dict[str, int | None]:
    return dict(verdict.flags)


def test_a_sealed_store_is_verified_and_says_what_it_is(sealed: Path) -> None:
    verdict = verify(sealed / "store", sealed / "keys")
    assert (verdict.exit_code, verdict.word, verdict.findings) == (0, "VERIFIED", ())
    assert (verdict.runs, verdict.events) == (3, 21)
    assert verdict.checkpoint is not None
    assert flags(verdict) == {
        "UNATTRIBUTED": None, "UNWITNESSED": None, "UNTIMED": None, "OPEN_RUN": 1, "UNSEALED_TAIL": 1,
    }  # fmt: skip
    assert verdict.line.startswith("VERIFIED (UNATTRIBUTED, UNWITNESSED, UNTIMED, OPEN_RUN 1, UNSEALED_TAIL 1) store ")
    assert json.loads(json.dumps(verdict.record))["exit_code"] == 0
    assert verdict.record["limits"] == LIMITS


def test_a_pinned_key_attributes_it(attacker: Attacker) -> None:
    attacker.close()
    verdict = verify(attacker.folder, attacker.keys, terms=Terms(pin=attacker.key))
    assert verdict.exit_code == 0
    assert "UNATTRIBUTED" not in flags(verdict)


def test_one_run_is_verified_by_its_name_its_id_or_its_beginning(sealed: Path, attacker: Attacker) -> None:
    run = attacker.run("closed")
    for word in ("closed", run):
        verdict = verify(sealed / "store", sealed / "keys", word)
        assert (verdict.exit_code, verdict.runs, verdict.events) == (0, 1, 8)
        assert verdict.subject == f"run {run}"
    assert verify(sealed / "store", sealed / "keys", "last").exit_code == 0


def test_t53_a_word_that_means_no_run_is_an_error_and_an_unknown_id_is_nothing_to_verify(sealed: Path) -> None:
    with pytest.raises(UnknownRun):
        verify(sealed / "store", sealed / "keys", "nobody")
    verdict = verify(sealed / "store", sealed / "keys", "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b")
    assert (verdict.exit_code, [each.code for each in verdict.findings]) == (30, ["V001"])


def test_a_damaged_run_is_verified_by_its_name_all_the_same(attacker: Attacker) -> None:
    attacker.put(attacker.run("closed"), 0, b"{")
    attacker.close()
    assert verify(attacker.folder, attacker.keys, "closed").exit_code == 20


def test_a_damaged_log_does_not_keep_a_run_from_being_named(attacker: Attacker) -> None:
    attacker.leaf(0, b"{")
    attacker.close()
    assert {each.code for each in verify(attacker.folder, attacker.keys, "closed").findings} >= {"V301", "V403"}


def test_t20_a_wall_clock_that_was_stepped_back_is_no_error(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        made.run(CALLS, "closed")
        run = made.run(CALLS[:1], "open", close=False)
        made.note(run, b"x").result(30)
        shutil.copytree(tmp_path, tmp_path / "copy")
    attacker = Attacker(tmp_path / "copy" / "store")
    attacker.edit(run, 3, lambda record: record.update(ts="2001-01-01T00:00:00.000000Z"))
    attacker.close()
    assert verify(attacker.folder, attacker.keys).exit_code == 0


def test_t06_the_unsealed_tail_of_an_open_run_can_be_dropped_unseen(attacker: Attacker) -> None:
    """The documented limit: nobody ever signed it."""
    attacker.drop(attacker.run("open"), 4)
    attacker.repack(attacker.run("open"), {})
    attacker.recount(attacker.run("open"))
    attacker.close()
    verdict = verify(attacker.folder, attacker.keys)
    assert verdict.exit_code == 0
    assert "UNSEALED_TAIL" not in flags(verdict)


def test_t54_an_event_of_a_later_version_is_incomplete_not_invalid(attacker: Attacker) -> None:
    run = attacker.run("open")
    attacker.edit(run, 4, lambda record: record.update(v=2, type="http.telepathy"))
    attacker.close()
    for word in (None, run):
        verdict = verify(attacker.folder, attacker.keys, word)
        assert (verdict.exit_code, verdict.word, verdict.findings) == (30, "INCOMPLETE", ())
        assert len(verdict.newer) == 1


def test_t54_a_leaf_of_a_later_version_is_incomplete_not_invalid(attacker: Attacker) -> None:
    ((count,),) = attacker.db.execute("SELECT COUNT(*) FROM leaves").fetchall()
    ((raw,),) = attacker.db.execute("SELECT leaf FROM leaves WHERE position = 1").fetchall()
    later = encoded({**json.loads(raw), "v": 2, "type": "run.blessed"})
    attacker.db.execute("INSERT INTO leaves (position, leaf) VALUES (?, ?)", (count, later))
    attacker.regrow()
    attacker.close()
    verdict = verify(attacker.folder, attacker.keys)
    assert (verdict.exit_code, verdict.findings) == (30, ())


def test_t54_claiming_a_later_version_hides_no_change_of_what_was_sealed(attacker: Attacker) -> None:
    attacker.edit(attacker.run("closed"), 3, lambda record: record.update(v=2))
    attacker.close()
    assert verify(attacker.folder, attacker.keys).exit_code == 20


def test_t56_a_crash_between_the_append_and_the_checkpoint_passes(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        made.run(CALLS)
        made.run(CALLS, close=False)
        made.writer.checkpoint().result(30)
        shutil.copytree(tmp_path, tmp_path / "copy")
    attacker = Attacker(tmp_path / "copy" / "store")
    size, _ = attacker.newest_checkpoint()
    attacker.db.execute("DELETE FROM checkpoints WHERE size = ?", (size,))
    attacker.close()
    verdict = verify(tmp_path / "copy" / "store", tmp_path / "copy" / "keys")
    assert verdict.exit_code == 0
    assert flags(verdict)["UNSEALED_TAIL"] == 7
    Writer.open(tmp_path / "copy" / "store", tmp_path / "copy" / "keys").close()
    verdict = verify(tmp_path / "copy" / "store", tmp_path / "copy" / "keys")
    assert verdict.exit_code == 0
    assert "UNSEALED_TAIL" not in flags(verdict)


def test_values_of_other_types_are_findings_and_no_failure(attacker: Attacker) -> None:
    """Whoever has the file can unmake the tables' types."""
    for table in ("events", "openings", "payloads", "blocks", "keys", "leaves", "nodes", "checkpoints"):
        attacker.db.execute(f"CREATE TABLE copied AS SELECT * FROM {table}")
        attacker.db.execute(f"DROP TABLE {table}")
        attacker.db.execute(f"ALTER TABLE copied RENAME TO {table}")
    attacker.db.execute("UPDATE events SET event = 'text', hash = 7 WHERE seq = 3")
    attacker.db.execute("UPDATE events SET run = CAST(x'ff' AS TEXT) WHERE seq = 4")
    attacker.db.execute("UPDATE events SET seq = 'five' WHERE seq = 5")
    attacker.db.execute("UPDATE openings SET salt = NULL, length = 1.5 WHERE seq = 1")
    attacker.db.execute("UPDATE payloads SET place = 'x' WHERE seq = 2")
    attacker.db.execute("UPDATE blocks SET stored = 'x', start = NULL, frame = 'y'")
    attacker.db.execute("UPDATE leaves SET leaf = NULL WHERE position = 2")
    attacker.db.execute("UPDATE checkpoints SET note = 1.5")
    attacker.close()
    verdict = verify(attacker.folder, attacker.keys)
    assert verdict.exit_code == 20
    assert all(str(finding).encode() for finding in verdict.findings)


def test_t60_nothing_is_written(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        run = made.run(CALLS, close=False)
        made.note(run, b"in the WAL").result(30)
        before = {path: path.read_bytes() for path in made.folder.iterdir() if path.is_file()}
        verify(made.folder, made.keys)
        verify(made.folder, made.keys, run, Terms(deep=True))
        verify(made.folder, made.keys, jobs=2)
        after = {path: path.read_bytes() for path in made.folder.iterdir() if path.is_file()}
        shared = made.folder / f"{FILE_NAME}-shm"
        assert before.pop(shared) is not None
        after.pop(shared)
        assert after == before
    before = {path: path.read_bytes() for path in made.folder.iterdir() if path.is_file()}
    verify(made.folder, made.keys)
    for path, content in before.items():
        assert path.read_bytes() == content


def test_a_store_in_use_is_verified_as_it_is_at_one_moment(tmp_path: Path, sample: Sample) -> None:
    with tape(tmp_path) as made:
        run = made.open()
        made.note(run, b"first").result(60)
        tickets = []
        verdicts = []
        for call in seeded(sample.source(), 400):
            asked = made.request(run, call)
            tickets.append(made.answer(run, call, asked))
            if len(tickets) % 40 == 0:
                verdicts.append(verify(made.folder, made.keys))
                assert not tickets[-1].is_done or tickets[-1].result(0)
        tickets[-1].result(60)
    assert [verdict.exit_code for verdict in verdicts] == [0] * 10, verdicts
    assert verify(made.folder, made.keys).events == 802


def test_progress_is_told_by_events(sealed: Path) -> None:
    told: list[tuple[int, int]] = []
    verify(sealed / "store", sealed / "keys", progress=lambda done, total: told.append((done, total)))
    assert told == [(8, 21), (16, 21), (21, 21)]


@pytest.mark.bench
def test_a_large_store_is_verified_quickly(tmp_path: Path, sample: Sample) -> None:

    with tape(tmp_path) as made:
        for _ in range(20):
            made.run(seeded(sample.source(), 500))
    started = time.perf_counter()
    verdict = verify(made.folder, made.keys)
    took = time.perf_counter() - started
    assert verdict.exit_code == 0
    sample.measured(f"{verdict.events} events and {verdict.bodies} bodies verified in {took:.2f} s")


def test_the_same_run_under_two_ids_is_two_runs(attacker: Attacker) -> None:
    """A genesis ties a run to its id: a copy under another one does not begin in this store."""
    run, copy = attacker.run("closed"), "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
    columns = "seq, hash, event"
    query = f"INSERT INTO events (run, {columns}) SELECT ?, {columns} FROM events WHERE run = ?"
    attacker.db.execute(query, (copy, run))
    attacker.close()
    found = {(each.code, each.run) for each in verify(attacker.folder, attacker.keys).findings}
    assert ("V211", copy) in found
    assert ("V212", copy) in found
    assert {owner for _, owner in found} == {copy}
    assert digest.genesis_prev(attacker.origin, run) != digest.genesis_prev(attacker.origin, copy)


def test_a_run_without_calls_is_verified(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        made.run([])
        made.run([Call(answer=None)])
    assert verify(made.folder, made.keys).exit_code == 0


def test_verification_by_two_at_once_is_the_same(sealed: Path) -> None:
    assert verify(sealed / "store", sealed / "keys") == verify(sealed / "store", sealed / "keys")

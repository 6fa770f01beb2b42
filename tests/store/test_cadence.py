"""Checkpoints come at their time: soon after something grew, seldom otherwise, never in a busy loop."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from store import sealing
from store.cadence import ACTIVE_S, IDLE_S, LEAVES_MAX, Cadence
from store.core import checkpoint
from store.core.errors import KeyUnavailable, StoreUnusable
from store.database import FILE_NAME
from store.verify import verify
from store.writer import Writer
from tests.support.tape import Call, Tape


@dataclass
class Clock:
    """A clock that a test turns."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def sizes(folder: Path) -> list[int]:
    connection = sqlite3.connect(folder / FILE_NAME)
    found = [size for (size,) in connection.execute("SELECT size FROM checkpoints ORDER BY size")]
    connection.close()
    return found


@contextmanager
def filled(base: Path, cadence: Cadence) -> Iterator[Tape]:
    writer = Writer.open(base / "store", base / "keys", cadence=cadence)
    try:
        yield Tape(base / "store", base / "keys", writer)
    finally:
        writer.close()


def test_what_grew_is_due_after_the_active_time_and_not_later_for_more() -> None:
    clock = Clock()
    cadence = Cadence(clock)
    assert cadence.wait_s() == IDLE_S
    clock.now += 100
    cadence.committed()
    assert cadence.wait_s() == ACTIVE_S
    clock.now += 50
    cadence.committed()
    assert cadence.wait_s() == ACTIVE_S - 50
    clock.now += 10
    assert cadence.wait_s() == 0
    cadence.sealed()
    assert cadence.wait_s() == IDLE_S


def test_so_many_leaves_are_due_at_once() -> None:
    cadence = Cadence(Clock())
    for _ in range(LEAVES_MAX):
        assert cadence.wait_s() > 0
        cadence.leaf()
        cadence.committed()
    assert cadence.wait_s() == 0
    cadence.sealed()
    assert cadence.wait_s() == IDLE_S


def test_an_attempt_that_fails_is_not_made_again_at_once() -> None:
    clock = Clock()
    cadence = Cadence(clock, leaves_max=1)
    cadence.leaf()
    cadence.committed()
    assert cadence.wait_s() == 0
    cadence.begun()
    assert cadence.wait_s() == ACTIVE_S
    clock.now += ACTIVE_S
    assert cadence.wait_s() == 0


def test_a_long_run_is_sealed_every_minute_while_it_grows(tmp_path: Path) -> None:
    clock = Clock()
    with filled(tmp_path, Cadence(clock)) as made:
        run = made.open()
        made.note(run, b"first").result(30)
        before = sizes(made.folder)
        made.note(run, b"second").result(30)
        assert sizes(made.folder) == before
        clock.now += ACTIVE_S
        # Its commit is followed by the checkpoint that is due, and that by whatever comes next.
        for _ in range(2):
            made.note(run, b"more").result(30)
        made.writer.checkpoint().result(30)
        assert len(sizes(made.folder)) - len(before) in (1, 2)
        verdict = verify(made.folder, made.keys)
        assert "UNSEALED_TAIL" not in dict(verdict.flags)
        due = sizes(made.folder)[len(before)]
        connection = sqlite3.connect(made.folder / FILE_NAME)
        heads = connection.execute(
            "SELECT COUNT(*) FROM leaves WHERE position < ? AND instr(leaf, ?)", (due, b'"type":"run.head"')
        ).fetchone()
        connection.close()
        assert heads == (1,)


def wait_for(folder: Path, count: int) -> None:
    for _ in range(600):
        if len(sizes(folder)) >= count:
            return
        threading.Event().wait(0.05)
    raise AssertionError(f"{sizes(folder)} never became {count} checkpoints")


def test_what_was_written_last_is_sealed_without_a_further_call(tmp_path: Path) -> None:
    with filled(tmp_path, Cadence(active_s=0.05, idle_s=3600)) as made:
        run = made.open()
        made.note(run, b"alone").result(30)
        wait_for(made.folder, 2)
        made.writer.checkpoint().result(30)
        assert "UNSEALED_TAIL" not in dict(verify(made.folder, made.keys).flags)


def test_an_idle_recorder_seals_what_another_left_and_then_nothing(tmp_path: Path) -> None:
    with filled(tmp_path, Cadence(idle_s=0.05)) as idle, filled(tmp_path, Cadence()) as other:
        run = other.open()
        other.note(run, b"left").result(30)
        for _ in range(600):
            if "UNSEALED_TAIL" not in dict(verify(idle.folder, idle.keys).flags):
                break
            threading.Event().wait(0.05)
        settled = sizes(idle.folder)
        threading.Event().wait(0.4)
        assert sizes(idle.folder) == settled
        assert "UNSEALED_TAIL" not in dict(verify(idle.folder, idle.keys).flags)


def test_many_runs_that_are_only_opened_are_sealed_too(tmp_path: Path) -> None:
    with filled(tmp_path, Cadence(Clock(), leaves_max=5)) as made:
        for _ in range(12):
            made.note(made.open(), b"x").result(30)
        wait_for(made.folder, 3)


def test_a_key_that_is_away_is_told_of_and_recording_goes_on(tmp_path: Path) -> None:
    clock = Clock()
    with filled(tmp_path, Cadence(clock)) as made:
        run = made.open()
        (memory,) = made.keys.glob("*.signed")
        memory.write_bytes(b"garbage")
        made.note(run, b"x").result(30)
        clock.now += ACTIVE_S
        for _ in range(3):
            made.note(run, b"y").result(30)
        failures = [made.writer.signing_failure]
        memory.unlink()
        made.writer.checkpoint().result(30)
        failures.append(made.writer.signing_failure)
    assert isinstance(failures[0], KeyUnavailable)
    assert failures[1] is None
    assert verify(made.folder, made.keys).exit_code == 0


def test_on_demand_a_store_is_sealed_once(tmp_path: Path) -> None:
    with filled(tmp_path, Cadence()) as made:
        made.note(made.run([Call()], close=False), b"last").result(30)
        stated, note, made_now = sealing.seal(made.folder, made.keys)
        assert made_now
        assert checkpoint.parse(note).checkpoint == stated
        assert "UNSEALED_TAIL" not in dict(verify(made.folder, made.keys).flags)
        assert sealing.seal(made.folder, made.keys) == (stated, note, False)


def test_there_is_no_checkpoint_of_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="no store"):
        sealing.seal(tmp_path, tmp_path / "keys")
    assert list(tmp_path.iterdir()) == []

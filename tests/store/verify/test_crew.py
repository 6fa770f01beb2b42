"""Several processes at one store: they read one moment, find the same as one, and no writer waits for them."""

import contextlib
import os
import signal
from itertools import count
from pathlib import Path

import pytest

from store import database
from store.core.errors import StoreUnusable
from store.database import FILE_NAME
from store.verify import crew, ledger, verify
from store.verify.backlog import Backlog
from store.verify.crew import Crew
from store.verify.records import SqliteRecords
from store.verify.verdict import Tally
from tests.store.verify.attacker import Attacker
from tests.store.verify.attacks import bodies, events
from tests.support.tape import Call, tape


def test_two_processes_find_what_one_finds_in_the_same_order(attacker: Attacker) -> None:
    events.edit_field(attacker)
    bodies.flip_payload(attacker)
    attacker.close()
    alone = verify(attacker.folder, attacker.keys, jobs=1)
    assert len(alone.findings) > 1
    assert verify(attacker.folder, attacker.keys, jobs=2) == alone


def test_a_store_that_never_holds_still_is_read_by_one(sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = count()
    monkeypatch.setattr(crew, "_version", lambda _: next(changes))
    monkeypatch.setattr(crew, "ATTEMPTS", 3)
    assert verify(sealed / "store", sealed / "keys", jobs=2).exit_code == 0
    assert next(changes) == 6


def test_all_of_them_read_the_moment_at_which_they_began(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        run = made.run([Call()], close=False)
        with Crew(made.folder, made.keys, connection := crew.opened(made.folder), 2, None) as team:
            database.begin_to_read(connection)
            made.note(run, b"before they all begin").result(30)
            assert team.begin()
            made.note(run, b"after that").result(30)
            log = ledger.check(SqliteRecords(connection, made.keys), Tally(), ())
            (found,) = team.check([run], log, lambda _: None)
            assert found.events == len(list(SqliteRecords(connection, made.keys).events(run))) == 4
        connection.close()


def test_ctrl_c_is_left_to_the_caller(sealed: Path) -> None:
    with (
        contextlib.closing(crew.opened(sealed / "store")) as connection,
        Crew(sealed / "store", sealed / "keys", connection, 1, None) as team,
    ):
        ((process, _),) = team._members
        assert process.pid is not None
        os.kill(process.pid, signal.SIGINT)
        assert team.begin()
        os.kill(process.pid, signal.SIGINT)
        assert team.begin()


def test_a_process_that_is_killed_is_said_in_a_sentence(sealed: Path) -> None:
    with (
        contextlib.closing(crew.opened(sealed / "store")) as connection,
        Crew(sealed / "store", sealed / "keys", connection, 1, None) as team,
    ):
        assert team.begin()
        ((process, _),) = team._members
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(StoreUnusable, match="has ended"):
            list(team.check(["any"], ledger.Ledger(), lambda _: None))


def test_a_writer_goes_on_committing_while_its_store_is_verified(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        run = made.run([Call()] * 3, close=False)
        made.writer.checkpoint().result(30)
        committed: list[int] = []

        def write(*_: object) -> None:
            made.note(run, b"meanwhile").result(30)
            committed.append(made.writer.checkpoint().result(30) is not None)

        verdict = verify(made.folder, made.keys, progress=write)
        assert (verdict.exit_code, verdict.events) == (0, 7)
        assert committed
        assert verify(made.folder, made.keys).events == 7 + len(committed)


def test_a_write_ahead_log_that_grows_meanwhile_is_told_and_told_again_when_it_has_doubled(tmp_path: Path) -> None:
    said: list[str] = []
    told = Backlog(tmp_path, said.append, notice_bytes=100).watched(None)
    path = tmp_path / f"{FILE_NAME}-wal"
    for size, times in ((0, 0), (99, 0), (100, 1), (150, 1), (200, 2), (300, 2), (400, 3)):
        path.write_bytes(bytes(size))
        told(1, 1)
        assert len(said) == times
    assert all("write-ahead log" in sentence for sentence in said)

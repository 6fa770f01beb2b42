"""Events and openings of closed runs move into blocks: all of them, once, whatever happens in between."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from store import condensation, envelopes, openings
from store.compaction import Compacted, compact
from store.compactor import Compactor
from store.core.errors import Malformed
from store.database import FILE_NAME, transaction
from store.erasure import Erasure
from store.reader import Reader
from store.sealed import envelopes as event_blocks
from store.sealed import openings as opening_blocks
from store.sealed.envelopes import EVENTS_MAX
from store.verify import verify
from tests.store.verify.attacker import Attacker
from tests.support.tape import Call, Tape, tape

TABLES = ("events", "openings", "payloads", "event_blocks", "opening_blocks")


def rows(folder: Path, run: str) -> dict[str, int]:
    """How many rows of a run each table has."""
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        query = "SELECT COUNT(*) FROM {} WHERE run = ?"
        return {table: connection.execute(query.format(table), (run,)).fetchone()[0] for table in TABLES}


def everything(folder: Path, run: str) -> list[object]:
    """All that a reader tells of a run."""
    with Reader.open(folder, folder.parent / "keys") as reader:
        events = list(reader.events(run))
        assert [reader.event(run, event.seq) for event in events] == events
        hashes = [reader.event_hash(run, event.seq) for event in events]
        bodies = [reader.body(event, getattr(event.facts, "body", None)) for event in events]
        return [reader.run(run), events, hashes, bodies]


@pytest.fixture
def idle(made: Tape, monkeypatch: pytest.MonkeyPatch) -> Tape:
    """A writer that leaves closed runs in rows, as a crash right behind their ends does; and blocks are small."""
    monkeypatch.setattr(Compactor, "seal", lambda *_: None)
    monkeypatch.setattr(event_blocks, "EVENTS_MAX", 8)
    monkeypatch.setattr(opening_blocks, "OPENINGS_MAX", 8)
    return made


def unsealed(made: Tape, calls: int) -> str:
    """A closed run that is still in rows."""
    run = made.run([Call(body=b'{"n":%d}' % at) for at in range(calls)])
    assert rows(made.folder, run)["event_blocks"] == 0
    return run


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Tape]:
    with tape(tmp_path) as opened:
        yield opened


@pytest.fixture
def store(made: Tape) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(made.folder / FILE_NAME, isolation_level=None)) as connection:
        yield connection


def test_a_run_stands_in_blocks_when_it_is_closed(made: Tape) -> None:
    run, other = made.run([Call()] * 3), made.run([Call()] * 3, close=False)
    made.note(other, b"x").result(30)
    assert rows(made.folder, run) == {
        "events": 0, "openings": 0, "payloads": 0, "event_blocks": 1, "opening_blocks": 1,
    }  # fmt: skip
    assert rows(made.folder, other)["event_blocks"] == 0
    assert len(everything(made.folder, run)) == len(everything(made.folder, other))


def test_a_long_run_stands_in_several_blocks(made: Tape) -> None:
    run = made.run([Call(body=b'{"n":%d}' % at) for at in range(EVENTS_MAX)])
    made.writer.close()
    found = rows(made.folder, run)
    assert found["events"] == found["openings"] == found["payloads"] == 0
    assert found["event_blocks"] == 3
    assert found["opening_blocks"] == 2 * EVENTS_MAX // opening_blocks.OPENINGS_MAX + 1
    with Reader.open(made.folder, made.keys) as reader:
        assert [event.seq for event in reader.events(run)] == list(range(2 * EVENTS_MAX + 2))
    assert verify(made.folder, made.keys).exit_code == 0


def test_whatever_ends_the_program_between_two_steps_everything_is_there_once(idle: Tape, tmp_path: Path) -> None:
    run = unsealed(idle, 7)
    before = everything(idle.folder, run)
    images = 0

    def check() -> None:
        """What is on disk now, as who comes after a crash finds it."""
        nonlocal images
        images += 1
        copy = tmp_path / f"image {images}"
        shutil.copytree(idle.folder, copy)
        assert everything(copy, run) == before
        assert verify(copy, copy.parent / "keys").exit_code == 0
        shutil.rmtree(copy)

    with closing(sqlite3.connect(idle.folder / FILE_NAME, isolation_level=None)) as connection:
        for step in condensation.steps(connection, run):
            with transaction(connection):
                step(connection)
                check()
            check()
    assert images == 2 * 4
    assert rows(idle.folder, run)["events"] == 0


def test_a_step_holds_the_store_no_longer_than_for_one_block(idle: Tape, store: sqlite3.Connection) -> None:
    run = unsealed(idle, 20)
    left = rows(idle.folder, run)["events"]
    for step in condensation.steps(store, run):
        with transaction(store):
            step(store)
        now = rows(idle.folder, run)["events"]
        assert left - now <= 8
        left = now


def test_what_was_erased_meanwhile_is_not_put_back(idle: Tape, store: sqlite3.Connection) -> None:
    run = unsealed(idle, 3)
    steps = condensation.steps(store, run)
    with transaction(store):
        next(steps)(store)
    move_openings = next(steps)
    idle.writer.erase(Erasure(run, (1,), "operator", "a reason")).result(30)
    with transaction(store):
        assert move_openings(store) is False
    assert rows(idle.folder, run)["opening_blocks"] == 0
    with transaction(store):
        assert next(steps)(store) is True
    assert {seq for seq, _ in openings.of_run(store, run)} == set(range(2, 7))
    assert verify(idle.folder, idle.keys).exit_code == 0


def test_a_step_that_was_not_done_is_not_asked_for_again(idle: Tape, store: sqlite3.Connection) -> None:
    steps = condensation.steps(store, unsealed(idle, 1))
    next(steps)
    with pytest.raises(Malformed, match="still there"):
        next(steps)


@pytest.mark.parametrize(
    "damage",
    ["UPDATE events SET event = x'7b7d' WHERE seq = 2", "DELETE FROM events WHERE seq = 2"],
)
def test_what_is_damaged_stays_as_it_is(damage: str, idle: Tape) -> None:
    run = unsealed(idle, 2)
    idle.writer.close()
    attacker = Attacker(idle.folder)
    attacker.db.execute(damage)
    attacker.close()
    before, told = rows(idle.folder, run), list[Compacted]()
    compact(idle.folder, idle.keys, [run], told.append)
    assert "damaged" in told[0].failure
    assert rows(idle.folder, run) == before


def test_an_event_is_found_alone_wherever_it_stands(idle: Tape, store: sqlite3.Connection) -> None:
    run = unsealed(idle, 12)
    with transaction(store):
        next(condensation.steps(store, run))(store)
    stands = [envelopes.one(store, run, each.seq) for each in envelopes.in_order(store, run)]
    assert stands == list(envelopes.in_order(store, run))
    assert 0 < rows(idle.folder, run)["events"] < len(stands)
    assert envelopes.first(store, run) == stands[0]
    assert envelopes.last(store, run) == stands[-1]
    assert envelopes.one(store, run, len(stands)) is None
    assert envelopes.one(store, "another", 0) is None

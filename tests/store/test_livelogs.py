"""Bodies in step with transactions: whoever else was there meanwhile, what is stored is what was committed."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from store import livelogs, schema, vault
from store.database import transaction
from store.livelogs import LiveLogs
from store.payloads import bodies
from store.vault import Vault

BODIES = [b"%d: the same words in each, and in a second one too; " % number * 30 for number in range(12)]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as connection:
        schema.migrate(connection)
        vault.found(connection, tmp_path / "keys", "store")
        for run in ("one", "two", "run", "new", "other", *(f"run {number}" for number in range(4))):
            Vault(tmp_path / "keys", "store").make(connection, run)
        yield connection


@pytest.fixture
def other(db: sqlite3.Connection, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as connection:
        yield connection


@pytest.fixture
def keys(tmp_path: Path) -> Vault:
    return Vault(tmp_path / "keys", "store")


def put(db: sqlite3.Connection, logs: LiveLogs, run: str, body: bytes) -> int:
    with transaction(db):
        logs.begin(db)
        place = logs.add(db, run, "shelf", body)
        logs.flush(db)
    logs.commit(appended=True)
    return place


def check(db: sqlite3.Connection, keys: Vault, run: str, wanted: list[tuple[int, bytes]]) -> None:
    stored = bodies(db, run, keys.of(db, run).guard)
    assert [stored.body(place, len(body)) for place, body in wanted] == [body for _, body in wanted]
    assert stored.exact


def test_bodies_of_many_transactions_come_back(db: sqlite3.Connection, keys: Vault) -> None:
    logs = LiveLogs(keys)
    for run in ("one", "two"):
        check(db, keys, run, [(put(db, logs, run, body), body) for body in BODIES])
    ((rows,),) = db.execute("SELECT COUNT(*) FROM blocks WHERE run = 'one'")
    assert rows < len(BODIES)  # what stands around a block is not paid for each commit


def test_a_transaction_that_failed_leaves_nothing(db: sqlite3.Connection, keys: Vault) -> None:
    logs = LiveLogs(keys)
    wanted = [(put(db, logs, "run", BODIES[0]), BODIES[0])]
    with suppress(sqlite3.OperationalError), transaction(db):
        logs.add(db, "run", "shelf", BODIES[1])
        logs.add(db, "new", "shelf", BODIES[1])
        logs.flush(db)
        db.execute("SELECT * FROM nothing")
    logs.rollback()
    wanted.append((put(db, logs, "run", BODIES[2]), BODIES[2]))
    check(db, keys, "run", wanted)
    check(db, keys, "new", [(put(db, logs, "new", BODIES[3]), BODIES[3])])


def test_work_that_was_refused_is_undone_alone(db: sqlite3.Connection, keys: Vault) -> None:
    logs = LiveLogs(keys)
    with transaction(db):
        wanted = [(logs.add(db, "run", "shelf", BODIES[0]), BODIES[0])]
        marks = logs.mark()
        logs.add(db, "run", "shelf", BODIES[1])
        logs.add(db, "other", "shelf", BODIES[1])
        logs.undo(marks)
        wanted.append((logs.add(db, "run", "shelf", BODIES[2]), BODIES[2]))
        logs.flush(db)
    logs.commit()
    check(db, keys, "run", wanted)
    check(db, keys, "other", [])


def test_t57_two_writers_on_one_run_store_what_both_wrote(
    db: sqlite3.Connection, other: sqlite3.Connection, keys: Vault
) -> None:
    writers = (db, LiveLogs(keys)), (other, LiveLogs(keys))
    check(db, keys, "run", [(put(*writers[at % 3 % 2], "run", body), body) for at, body in enumerate(BODIES)])


def test_what_nobody_else_has_changed_is_not_read_again(db: sqlite3.Connection, keys: Vault) -> None:
    logs, statements = LiveLogs(keys), list[str]()
    put(db, logs, "run", BODIES[0])
    db.set_trace_callback(statements.append)
    place = put(db, logs, "run", BODIES[1])
    db.set_trace_callback(None)
    assert not [statement for statement in statements if statement.startswith("SELECT")]
    assert place > 0


def test_what_a_transaction_did_that_not_only_appended_is_read_anew(db: sqlite3.Connection, keys: Vault) -> None:
    logs = LiveLogs(keys)
    put(db, logs, "run", BODIES[0])
    with transaction(db):
        logs.begin(db)
        vault.destroy(db, "run")
        Vault(keys.folder, "store").make(db, "run")
    logs.commit()
    with transaction(db):
        logs.begin(db)
        assert logs.keys(db, "run").wrapped == vault.wrapped(db, "run")


def test_keys_that_somebody_else_has_renewed_count_at_once(
    db: sqlite3.Connection, other: sqlite3.Connection, keys: Vault
) -> None:
    logs = LiveLogs(keys)
    put(db, logs, "run", BODIES[0])
    with transaction(other):
        renewed = Vault(keys.folder, "store").renew(other, "run")
    with transaction(db):
        logs.begin(db)
        assert logs.keys(db, "run").wrapped == renewed.wrapped


def test_a_log_that_rests_gives_its_memory_back_and_goes_on(
    db: sqlite3.Connection, keys: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(livelogs, "LOGS_MAX", 2)
    logs = LiveLogs(keys)
    wanted: dict[str, list[tuple[int, bytes]]] = {}
    for number, body in enumerate(BODIES):
        run = f"run {number % 4}"
        wanted.setdefault(run, []).append((put(db, logs, run, body), body))
        assert len(logs) <= 2
    for run, places in wanted.items():
        check(db, keys, run, places)
    logs.drop("run 3")
    assert len(logs) == 1

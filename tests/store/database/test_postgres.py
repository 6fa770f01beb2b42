"""A store in PostgreSQL: it says what a SQLite store says, refuses what that refuses, and outlives what it must."""

import contextlib
from pathlib import Path

import psycopg
import pytest

from store import database, retention, transfer
from store.annotations import Remark, annotating
from store.core.errors import InvalidEvent, StoreUnusable
from store.core.model import HttpRequest
from store.core.redact import stored
from store.erasure import Erasure
from store.reader import Reader
from store.retention import Pruning
from store.vault import Vault
from store.verify import verify
from store.writer import Writer
from tests.layout.tree import ROOT
from tests.support.postgres import Postgres
from tests.support.tape import Call, Tape, tape

CALLS = [Call(body=b'{"q":1}', answer=b'{"a":1}'), Call(body=b'{"q":2}', answer=b'{"a":2}', query=b"key=secret&n=1")]
ERASABLE = ("openings", "opening_blocks", "blocks", "keys", "annotation_texts")
GUARDED = ("events", "event_blocks", "leaves", "checkpoints", "nodes", "annotations", *ERASABLE)


def made(home: Path, keys: Path) -> contextlib.closing[Writer]:
    return contextlib.closing(Writer.open(home, keys))


@pytest.fixture(scope="module")
def kept(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """The home, the keys and the schema of a store: two closed runs and an open one."""
    base = tmp_path_factory.mktemp("served")
    schema = postgres.schema()
    home = postgres.store(base, schema)
    with made(home, base / "keys") as writer:
        filled = Tape(home, base / "keys", writer)
        filled.run(CALLS, "closed")
        remark = Remark(filled.run(CALLS, "other"), 1, "reviewer", "comment", stored(b"seen"))
        writer.change(annotating(remark, Vault(base / "keys", writer.origin), lambda number: None)).result(30)
        filled.note(filled.run(CALLS, "open", close=False), b"a note").result(30)
        writer.checkpoint().result(30)
    return home, base / "keys", schema


def test_a_run_is_read_as_it_was_written(kept: tuple[Path, Path, str]) -> None:
    home, keys, _ = kept
    with Reader.open(home, keys) as reader:
        assert [run.name for run in reader.runs()] == ["open", "other", "closed"]
        run = reader.find("closed")
        assert len(list(reader.linked_events(run.id))) == run.events
        asked = reader.event(run.id, 1)
        assert isinstance(asked.facts, HttpRequest)
        assert reader.body(asked, asked.facts.body) == b'{"q":1}'
        assert (run.events, run.exit_code, run.reason) == (6, 0, "agent_exit")


def test_it_verifies(kept: tuple[Path, Path, str]) -> None:
    home, keys, _ = kept
    for deep_and_jobs in (None, 4):
        verdict = verify(home, keys, jobs=deep_and_jobs)
        assert (verdict.exit_code, verdict.runs, verdict.events) == (0, 3, 18)
    assert verify(home, keys, "closed").exit_code == 0


@pytest.mark.parametrize("table", GUARDED)
def test_what_is_recorded_stays(table: str, kept: tuple[Path, Path, str], postgres: Postgres) -> None:
    with postgres.connect(kept[2]) as connection:
        column = _column(connection, kept[2], table)
        statements = [f"UPDATE {table} SET {column} = {column}", f"TRUNCATE {table}"]
        for statement in statements + ([] if table in ERASABLE else [f"DELETE FROM {table}"]):
            with pytest.raises(psycopg.errors.RaiseException, match="never changed"):
                connection.execute(statement)


def test_no_event_is_written_where_a_block_has_one(kept: tuple[Path, Path, str], postgres: Postgres) -> None:
    with postgres.connect(kept[2]) as connection, pytest.raises(psycopg.errors.RaiseException, match="never changed"):
        connection.execute("INSERT INTO events (run, seq, hash, event) SELECT run, 2, '', '' FROM event_blocks")


def test_any_name_can_be_recorded(postgres: Postgres, tmp_path: Path) -> None:
    home, keys = postgres.store(tmp_path), tmp_path / "keys"
    names = ["a\0b", "%s ? ?1 'x' \\", "\N{GRINNING FACE}"]
    with made(home, keys) as writer:
        runs = [Tape(home, keys, writer).run(CALLS[:1], name) for name in names]
    verdict = verify(home, keys)
    assert (verdict.exit_code, "STALE_CATALOGUE" in dict(verdict.flags)) == (0, False)
    with Reader.open(home, keys) as reader:
        assert [reader.run(run).name for run in runs] == names
        assert [reader.identify(name) for name in names[1:]] == runs[1:]


def test_two_writers_share_one_log(postgres: Postgres, tmp_path: Path) -> None:
    home, keys = postgres.store(tmp_path), tmp_path / "keys"
    with made(home, keys) as one, made(home, keys) as other:
        first, second = Tape(home, keys, one), Tape(home, keys, other)
        runs = first.open("one"), second.open("two")
        for number in range(5):
            tickets = [each.note(run, b"%d" % number) for each, run in zip((first, second), runs, strict=True)]
            for ticket in tickets:
                ticket.result(30)
        for writer, run in zip((one, other), runs, strict=True):
            writer.close_run(run, "agent_exit").result(30)
    verdict = verify(home, keys)
    assert (verdict.exit_code, verdict.runs, verdict.events) == (0, 2, 14)


def test_a_run_is_taken_over_only_from_a_writer_whose_session_is_gone(postgres: Postgres, tmp_path: Path) -> None:
    schema = postgres.schema()
    home, keys = postgres.store(tmp_path, schema), tmp_path / "keys"
    with made(home, keys) as first:
        filled = Tape(home, keys, first)
        run = filled.open("living")
        filled.note(run, b"before").result(30)
        with made(home, keys), Reader.open(home, keys) as reader:
            assert reader.run(run).closed == ""
        _cut_off(postgres)
        with made(home, keys), Reader.open(home, keys) as reader:
            assert reader.run(run).reason == "crash_recovered"
        with pytest.raises(InvalidEvent, match="closed"):
            filled.note(run, b"after").result(30)
        # What it opens now is its own again.
        other = filled.open("anew")
        filled.note(other, b"x").result(30)
        with made(home, keys), Reader.open(home, keys) as reader:
            assert reader.run(other).closed == ""
    assert verify(home, keys).exit_code == 0


def test_a_lost_server_fails_the_commit_and_no_more(postgres: Postgres, tmp_path: Path) -> None:
    schema = postgres.schema()
    home, keys = postgres.store(tmp_path, schema), tmp_path / "keys"
    with made(home, keys) as writer:
        filled = Tape(home, keys, writer)
        run = filled.open("run")
        filled.note(run, b"before").result(30)
        with postgres.connect(schema) as connection:
            connection.execute("ALTER TABLE events RENAME TO gone")
            with pytest.raises(StoreUnusable, match="events"):
                filled.note(run, b"lost").result(30)
            connection.execute("ALTER TABLE gone RENAME TO events")
        _cut_off(postgres)
        filled.note(run, b"after").result(30)
        writer.close_run(run, "agent_exit").result(30)
    verdict = verify(home, keys)
    assert (verdict.exit_code, verdict.events) == (0, 4)


def test_bodies_are_erased_on_record(postgres: Postgres, tmp_path: Path) -> None:
    schema = postgres.schema()
    home, keys = postgres.store(tmp_path, schema), tmp_path / "keys"
    with made(home, keys) as writer:
        run = Tape(home, keys, writer).run(CALLS, "run")
        writer.erase(Erasure(run, (1,), "keeper", "asked for")).result(30)
        other = Tape(home, keys, writer).run(CALLS, "other")
        writer.erase(Erasure(other, None, "keeper", "asked for")).result(30)
    verdict = verify(home, keys)
    assert verdict.exit_code == 0
    assert "PAYLOADS_ERASED" in dict(verdict.flags)
    with postgres.connect(schema) as connection:
        assert connection.execute("SELECT count(*) FROM keys WHERE run = %s", (other,)).fetchone() == (0,)
        assert connection.execute("SELECT untidy FROM edgetape_state").fetchone() == (0,)


def test_a_run_leaves_on_record_and_not_otherwise(postgres: Postgres, tmp_path: Path) -> None:
    schema = postgres.schema()
    home, keys = postgres.store(tmp_path, schema), tmp_path / "keys"
    with made(home, keys) as writer:
        filled = Tape(home, keys, writer)
        leaving, staying = filled.run(CALLS, "leaving"), filled.run(CALLS, "staying")
        retention.prune(writer, Pruning(leaving, "keeper", "its time is over")).result(30)
        retention.tidy(writer).result(30)
        with postgres.connect(schema) as connection:
            for statement in (f"DELETE FROM event_blocks WHERE run = '{staying}'", "DELETE FROM leaves"):
                with pytest.raises(psycopg.errors.RaiseException, match="never changed"):
                    connection.execute(statement)
    verdict = verify(home, keys)
    assert (verdict.exit_code, verdict.runs, verdict.events) == (0, 1, 6)
    assert "RUNS_PRUNED" in dict(verdict.flags)


def test_a_store_goes_from_one_kind_to_the_other_and_back(postgres: Postgres, tmp_path: Path) -> None:
    with tape(tmp_path) as filled:
        filled.run(CALLS, "closed")
        run = filled.run(CALLS, "open", close=False)
        filled.writer.checkpoint().result(30)
    home, keys, back = postgres.store(tmp_path), tmp_path / "keys", tmp_path / "back"
    rows = transfer.copy(filled.folder, home, lambda done, total: None)
    assert transfer.copy(home, back, lambda done, total: None) == rows
    verdicts = [verify(folder, keys) for folder in (filled.folder, home, back)]
    assert [verdict.exit_code for verdict in verdicts] == [0, 0, 0]
    assert verdicts[0] == verdicts[1] == verdicts[2]
    with Reader.open(home, keys) as reader:
        assert reader.run(run).closed == ""
    with made(home, keys), Reader.open(home, keys) as reader:  # it goes on there
        assert reader.run(run).reason == "crash_recovered"
    assert verify(home, keys).exit_code == 0
    with pytest.raises(transfer.CopyRefused, match="already"):
        transfer.copy(back, home, lambda done, total: None)


def test_what_another_program_keeps_there_is_left_alone(postgres: Postgres, tmp_path: Path) -> None:
    schema = postgres.schema()
    home = postgres.store(tmp_path, schema)
    with pytest.raises(StoreUnusable, match="no store at"):
        database.demand(home)
    with postgres.connect(schema) as connection:
        connection.execute("CREATE TABLE events (id int)")
    with pytest.raises(StoreUnusable, match="no store of edgetape"):
        Writer.open(home, tmp_path / "keys")


def test_the_recorders_role_adds_and_changes_nothing(postgres: Postgres, tmp_path: Path) -> None:
    schema = postgres.schema()
    keys = tmp_path / "keys"
    with made(postgres.store(tmp_path, schema), keys):
        pass  # the owner makes the tables
    with postgres.connect(schema) as connection:
        connection.execute((ROOT / "deploy" / "postgresql-roles.sql").read_text())
        connection.execute("CREATE ROLE someone LOGIN IN ROLE edgetape_recorder")
        connection.execute("CREATE ROLE auditor LOGIN IN ROLE edgetape_reader")
    home = postgres.store(tmp_path, schema, "someone")
    with made(home, keys) as writer:
        run = Tape(home, keys, writer).run([*CALLS, Call(body=bytes(range(256)) * 400)], "run")
        with pytest.raises(StoreUnusable, match="permission denied"):
            writer.erase(Erasure(run, None, "someone", "no reason")).result(30)
    with postgres.connect(schema, "someone") as connection:
        for table in (*GUARDED, "payloads", "anchors"):
            statements = [f"UPDATE {table} SET {_column(connection, schema, table)} = DEFAULT", f"TRUNCATE {table}"]
            for statement in statements + ([] if table == "blocks" else [f"DELETE FROM {table}"]):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement)
    with postgres.connect(schema, "auditor") as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("INSERT INTO leaves (position, leaf) VALUES (99, '')")
    verdict = verify(postgres.store(tmp_path, schema, "auditor"), keys)
    assert (verdict.exit_code, verdict.events) == (0, 8)


def test_nothing_is_said_of_a_password(postgres: Postgres, tmp_path: Path) -> None:
    from store.core.address import parse
    from store.database.server import home
    from tests.support.postgres import PASSWORD

    right = home(parse(postgres.far_url(schema := postgres.schema())), tmp_path)
    with made(right, tmp_path / "keys"):
        pass
    assert PASSWORD not in "".join(path.read_text() for path in tmp_path.rglob("*.json"))
    wrong = home(parse(postgres.far_url(schema, "wrong-" + PASSWORD)), tmp_path)
    with pytest.raises(StoreUnusable) as refused:
        Writer.open(wrong, tmp_path / "keys")
    assert "wrong-" not in f"{refused.value} {refused.value.hint}"
    assert "password authentication failed" in str(refused.value)
    assert "pgpass" in refused.value.hint


def _column(connection: psycopg.Connection[tuple[object, ...]], schema: str, table: str) -> str:
    query = "SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s LIMIT 1"
    (name,) = connection.execute(query, (schema, table)).fetchone() or ("",)
    return str(name)


def _cut_off(postgres: Postgres) -> None:
    """Ends every session that writes into a store, as a server that goes down does."""
    with postgres.connect() as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks l JOIN pg_stat_activity USING (pid)"
            " WHERE l.locktype = 'advisory' AND pid <> pg_backend_pid()"
        )

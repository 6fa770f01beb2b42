"""The store key: made with its store and never again; without it nothing is written, and only bodies stay unread."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from store import custody, database
from store.core.errors import KeyUnavailable
from store.core.redact import stored
from store.database import FILE_NAME
from store.erasure import Erasure
from store.reader import BodyUnavailable, Reader
from store.verify import verify
from store.writer import Writer
from tests.store.remains import files
from tests.store.verify.attacker import Attacker
from tests.store.writing import HEAD
from tests.support.tape import Call, Tape, tape
from tests.support.verifier import verify as second

CANARY = b"CANARY-IN-CLEAR-5518"


@pytest.fixture
def recorded(tmp_path: Path) -> Tape:
    """A store with one run, closed."""
    with tape(tmp_path) as made:
        made.run([Call(body=b"a question", answer=b"an answer", query=b"q=1")], "one")
    return made


def key_files(made: Tape) -> list[Path]:
    return sorted(made.keys.glob("*.storekey"))


def questions(made: Tape, word: str = "one") -> list[bytes]:
    with Reader.open(made.folder, made.keys) as reader:
        events = reader.events(reader.find(word).id)
        return [reader.body(each, each.facts.body) for each in events if each.type == "http.request"]  # type: ignore[union-attr]


def test_it_is_32_bytes_beside_the_signing_key_and_nowhere_in_the_store(recorded: Tape) -> None:
    (path,) = key_files(recorded)
    key = path.read_bytes()
    assert (len(key), path.stat().st_mode & 0o777) == (32, 0o600)
    assert path.stem == recorded.writer.origin.replace("/", "_")
    assert not any(key in raw for raw in files(recorded.folder))


@pytest.mark.parametrize(
    "spoil, said",
    [
        (Path.unlink, "missing"),
        (lambda path: path.write_bytes(bytes(32)), "not the one of this store"),
        (lambda path: path.write_bytes(path.read_bytes()[:31]), "damaged"),
        (lambda path: path.write_bytes(b""), "damaged"),
        (lambda path: (path.unlink(), path.mkdir()), "cannot be read"),
    ],
    ids=["missing", "foreign", "cut off", "empty", "folder"],
)
def test_without_it_nothing_is_written_and_verification_says_what_it_could_not_open(
    recorded: Tape, spoil: Callable[[Path], object], said: str
) -> None:
    (path,) = key_files(recorded)
    spoil(path)
    with pytest.raises(KeyUnavailable, match=said) as caught:
        Writer.open(recorded.folder, recorded.keys)
    assert "restore it" in caught.value.hint
    with pytest.raises(BodyUnavailable, match=said):
        questions(recorded)
    with Reader.open(recorded.folder, recorded.keys) as reader:
        assert reader.find("one").events == 4
        with pytest.raises(KeyUnavailable, match=said):
            reader.demand_key()
    verdict = verify(recorded.folder, recorded.keys)
    assert (verdict.word, verdict.findings, dict(verdict.flags)["PAYLOADS_LOCKED"]) == ("INCOMPLETE", (), 3)
    assert said in str(verdict.locked)
    assert verdict.record["locked"] == str(verdict.locked)
    assert len(key_files(recorded)) == (said != "missing")
    if said != "cannot be read":
        theirs = second(recorded.folder, recorded.keys)
        assert (theirs.exit_status, theirs.counts["PAYLOADS_LOCKED"]) == (30, 3)


def test_without_it_tampering_is_still_found(recorded: Tape) -> None:
    (path,) = key_files(recorded)
    path.unlink()
    attacker = Attacker(recorded.folder)
    attacker.db.execute("DELETE FROM openings WHERE pointer = '/body'")
    attacker.db.execute("DELETE FROM payloads WHERE pointer = '/query'")
    attacker.close()
    found = {(each.code, each.seq) for each in verify(recorded.folder, recorded.keys).findings}
    assert found == {("V601", 1), ("V603", 1), ("V601", 2)}
    assert {(each.code, each.seq) for each in second(recorded.folder, recorded.keys).findings} == found


def test_nothing_that_is_written_into_the_folder_shows_content(tmp_path: Path) -> None:
    """At every moment: while streams are open, after the close, while an old byte may still lie in the log."""

    def check() -> None:
        assert not any(CANARY in raw for raw in files(tmp_path / "store"))

    with tape(tmp_path) as made:
        call = Call(body=CANARY * 3, answer=CANARY * 400, query=CANARY, headers=[(b"x", CANARY + b"h" * 1100)])
        run = made.open("name", argv=[CANARY])
        asked = made.request(run, call)
        made.writer.piece(run, asked, "head", stored(HEAD.replace(b'"x"', b'"' + CANARY + b'"'))).result(30)
        made.writer.piece(run, asked, "answer", stored(CANARY)).result(30)
        check()
        made.note(run, CANARY).result(30)
        made.answer(run, call, asked).result(30)
        check()
        made.writer.close_run(run, "agent_exit").result(30)
        check()
        made.writer.erase(Erasure(run, (1,), "operator", "a reason")).result(30)
        check()
    check()


def test_keys_that_are_rotated_open_what_was_recorded_before_and_after(recorded: Tape) -> None:
    running = Writer.open(recorded.folder, recorded.keys)
    old, fresh = custody.rotate_store_key(recorded.folder, recorded.keys)
    assert key_files(recorded) == sorted((old, fresh.file))
    assert custody.store_key(recorded.folder, recorded.keys) == fresh
    Tape(recorded.folder, recorded.keys, running).run([Call(body=b"meanwhile")], "two")
    running.close()
    old.unlink()
    assert (questions(recorded), questions(recorded, "two")) == ([b"a question"], [b"meanwhile"])
    assert verify(recorded.folder, recorded.keys).exit_code == 0
    assert second(recorded.folder, recorded.keys).exit_status == 0


def test_once_the_old_key_is_destroyed_older_copies_of_the_store_are_closed(recorded: Tape, tmp_path: Path) -> None:
    shutil.copytree(recorded.folder, tmp_path / "backup")
    old, fresh = custody.rotate_store_key(recorded.folder, recorded.keys)
    backup = Tape(tmp_path / "backup", recorded.keys, recorded.writer)
    assert questions(backup) == [b"a question"]
    old.unlink()
    with pytest.raises(BodyUnavailable, match="not the one of this store"):
        questions(backup)
    assert questions(recorded) == [b"a question"]
    with closing(database.open_for_reading(recorded.folder)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (0,)
    assert not any(fresh.key in raw for raw in files(recorded.folder))


def test_it_is_not_rotated_where_a_key_would_be_lost(recorded: Tape) -> None:
    with closing(sqlite3.connect(recorded.folder / FILE_NAME)) as connection, connection:
        connection.execute("DROP TRIGGER keys_no_update")
        connection.execute("UPDATE keys SET wrapped = zeroblob(60) WHERE kind = 'salt'")
    with pytest.raises(custody.Refused, match="would be lost"):
        custody.rotate_store_key(recorded.folder, recorded.keys)
    assert len(key_files(recorded)) == 1
    found = verify(recorded.folder, recorded.keys).findings
    assert [(each.code, each.seq) for each in found] == [("V604", None)]

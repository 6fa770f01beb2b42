"""Tighter blocks: the same bodies in fewer bytes, swapped only where nothing happened meanwhile."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from store import compaction
from store.compaction import Compacted, compact
from store.database import FILE_NAME, transaction
from store.reader import Reader
from store.vault import Vault
from store.verify import verify
from store.writer import Writer
from tests.support.tape import Call, Tape, tape


def calls(count: int, words: int = 40) -> list[Call]:
    """A conversation that grows."""
    said = [
        " ".join(f"{(number + 1) * (word + 7) * 2654435761 % 4093:x}" for word in range(words))
        for number in range(count)
    ]
    return [
        Call(body=json.dumps([{"said": each} for each in said[: at + 1]]).encode(), answer=said[at].encode())
        for at in range(count)
    ]


def blocks(folder: Path, run: str) -> tuple[int, int]:
    """How many blocks a run has, and what they hold."""
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        query = "SELECT COUNT(*), TOTAL(LENGTH(stored)) FROM blocks WHERE run = ?"
        ((count, total),) = connection.execute(query, (run,)).fetchall()
    return count, int(total)


def check(made: Tape, run: str, sent: list[Call]) -> None:
    """Every body is there, and the store verifies."""
    with Reader.open(made.folder, made.keys) as reader:
        events = [event for event in reader.events(run) if event.type in ("http.request", "http.response")]
        stored = [reader.body(event, getattr(event.facts, "body", None)) for event in events]
    assert stored == [body for call in sent for body in (call.body, call.answer)]
    assert verify(made.folder, made.keys).exit_code == 0


def slowly(made: Tape, sent: list[Call], *, close: bool) -> str:
    """Each exchange in transactions of its own, as they come."""
    run = made.open()
    for call in sent:
        made.answer(run, call, made.request(run, call)).result(30)
    if close:
        made.writer.close_run(run, "agent_exit").result(30)
    return run


def test_a_run_is_sealed_when_it_is_closed(tmp_path: Path) -> None:
    sent = calls(40)
    with tape(tmp_path) as made:
        live, closed = slowly(made, sent, close=False), slowly(made, sent, close=True)
        assert blocks(made.folder, closed)[0] == 1 < blocks(made.folder, live)[0]
        assert blocks(made.folder, closed)[1] < blocks(made.folder, live)[1]
        check(made, closed, sent)
        check(made, live, sent)


def test_a_long_run_is_sealed_before_the_writer_has_ended(tmp_path: Path) -> None:
    sent = calls(60, 1500)
    with tape(tmp_path) as made:
        run = slowly(made, sent, close=True)
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        assert compaction.log_bytes(connection, run) > compaction.AT_ONCE_BYTES_MAX
        assert compaction.sealed(connection, run, Vault(made.keys, made.writer.origin), made.folder) is None
    check(made, run, sent)


def test_a_run_that_a_crash_ended_is_sealed_when_it_is_asked_for(tmp_path: Path) -> None:
    sent = calls(40)
    with tape(tmp_path) as made:
        run = slowly(made, sent, close=False)
        made.note(run, b"x").result(30)
        made.writer.checkpoint().result(30)
        shutil.copytree(tmp_path, tmp_path / "copy")
    folder = tmp_path / "copy" / "store"
    Writer.open(folder, tmp_path / "copy" / "keys").close()
    before = blocks(folder, run)
    told: list[Compacted] = []
    assert compact(folder, folder.parent / "keys", [run], told.append)
    assert [(one.run, one.failure) for one in told] == [(run, "")]
    assert told[0].after_bytes * 3 < told[0].before_bytes
    assert blocks(folder, run)[0] == 1
    assert blocks(folder, run)[1] < before[1]
    assert verify(folder, folder.parent / "keys").exit_code == 0
    told.clear()
    assert compact(folder, folder.parent / "keys", [run], told.append)
    assert told == []


def test_what_is_open_or_damaged_stays_as_it_is(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        run, other = slowly(made, calls(5), close=False), slowly(made, calls(5), close=True)
        before = blocks(made.folder, run)
        told: list[Compacted] = []
        compact(made.folder, made.keys, [run], told.append)
        assert (told, blocks(made.folder, run)) == ([], before)
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        connection.execute("DROP TRIGGER blocks_no_update")
        connection.execute("UPDATE blocks SET stored = x'00' WHERE run = ?", (other,))
        connection.commit()
    compact(made.folder, made.keys, [other], told.append)
    assert [one.run for one in told] == [other]
    assert told[0].failure
    assert blocks(made.folder, other) == (1, 1)


def test_blocks_that_were_replaced_meanwhile_are_not_swapped(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        run = slowly(made, calls(9), close=False)
        with closing(sqlite3.connect(made.folder / FILE_NAME, isolation_level=None)) as connection:
            found = compaction.sealed(connection, run, Vault(made.keys, made.writer.origin), made.folder)
            assert found is not None
            made.note(run, b"later").result(30)
            with transaction(connection):
                assert not compaction.swap(connection, found)

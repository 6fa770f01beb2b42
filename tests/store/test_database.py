"""Opening a store: what can be wrong is said in one sentence with a hint, and nobody else can read its files."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from store.core.errors import StoreUnusable
from store.database import FILE_NAME, open_for_writing
from store.reader import Reader
from store.verify import verify
from store.writer import Writer
from tests.support.tape import Call, tape

NOBODY = 65534


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """The folder of a store with one run; its keys are beside it."""
    with tape(tmp_path) as made:
        made.run([Call(body=b"x" * 100)], "one")
    return made.folder


def refused(folder: Path) -> list[StoreUnusable]:
    """What a writer, a reader and a verification say."""
    uses: list[Callable[[], object]] = [
        lambda: Writer.open(folder, folder.parent / "keys"),
        lambda: Reader.open(folder, folder.parent / "keys"),
        lambda: verify(folder, folder.parent / "keys"),
    ]
    errors = []
    for use in uses:
        with pytest.raises(StoreUnusable) as caught:
            use()
        errors.append(caught.value)
    return errors


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_nobody_else_can_read_what_is_recorded(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with tape(tmp_path / "new") as made:
            made.run([Call()])
            files = {path.name: mode(path) for path in made.folder.iterdir() if path.is_file()}
            assert files.pop(f"{FILE_NAME}-wal") == 0o600
            assert set(files.values()) == {0o600}
            assert {mode(path) for path in made.keys.iterdir()} == {0o600}
            assert (mode(made.folder), mode(made.keys), mode(made.folder / "leases")) == (0o700, 0o700, 0o700)
    finally:
        os.umask(before)


def test_a_folder_that_was_there_before_keeps_its_mode_and_its_files_are_closed(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir(mode=0o755)
    with tape(tmp_path) as made:
        made.run([Call()])
        assert {mode(path) for path in made.folder.iterdir() if path.is_file()} == {0o600}


def test_where_there_is_no_store_nothing_is_made(tmp_path: Path) -> None:
    for use in (Reader.open, verify):
        with pytest.raises(StoreUnusable, match="no store") as caught:
            use(tmp_path / "none", tmp_path / "keys")
        assert "record a run" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"not a database" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_named_and_left_alone(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    (folder / FILE_NAME).write_bytes(content)
    for error in refused(folder):
        assert "cannot be used" in str(error)
        assert error.hint
    assert (folder / FILE_NAME).read_bytes() == content


def test_an_empty_file_may_become_a_store_and_a_foreign_database_never(tmp_path: Path) -> None:
    for name in ("empty", "foreign"):
        (tmp_path / name).mkdir()
        connection = sqlite3.connect(tmp_path / name / FILE_NAME)
        if name == "foreign":
            connection.execute("CREATE TABLE other (x)")
        connection.close()
        (tmp_path / name / FILE_NAME).touch()
        for use in (Reader.open, verify):
            with pytest.raises(StoreUnusable, match="no store of edgetape"):
                use(tmp_path / name, tmp_path / "keys")
    with pytest.raises(StoreUnusable, match="no store of edgetape"):
        Writer.open(tmp_path / "foreign", tmp_path / "keys")
    Writer.open(tmp_path / "empty", tmp_path / "keys").close()
    assert {finding.code for finding in verify(tmp_path / "empty", tmp_path / "keys").findings} == {"V001"}


def test_a_store_of_a_newer_version_is_refused_and_left_alone(recorded: Path) -> None:
    connection = sqlite3.connect(recorded / FILE_NAME)
    connection.execute(
        "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('edgetape.store', 'm999_better', '')"
    )
    connection.commit()
    connection.close()
    before = (recorded / FILE_NAME).read_bytes()
    for error in refused(recorded):
        assert "newer version" in str(error)
        assert "upgrade" in error.hint
    assert (recorded / FILE_NAME).read_bytes() == before


@pytest.mark.parametrize("kept", [0, 100, 4096, 6000])
def test_t58_a_file_that_was_cut_off_is_never_verified(recorded: Path, kept: int) -> None:
    path = recorded / FILE_NAME
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(StoreUnusable):
        verify(recorded, recorded.parent / "keys")


def test_t58_without_its_wal_a_store_is_what_it_was_before(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        made.run([Call()])
        shutil.copytree(made.folder, tmp_path / "copy")
    (tmp_path / "copy" / f"{FILE_NAME}-wal").unlink()
    (tmp_path / "copy" / f"{FILE_NAME}-shm").unlink()
    with pytest.raises(StoreUnusable):
        verify(tmp_path / "copy", tmp_path / "keys")  # nothing had been moved out of the WAL yet, not even the tables


def test_a_place_where_no_folder_can_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnusable, match="Not a directory"):
        Writer.open(tmp_path / "file" / "store", tmp_path / "keys")


def test_a_store_survives_vacuum_and_reindex(recorded: Path) -> None:
    connection = sqlite3.connect(recorded / FILE_NAME)
    connection.execute("VACUUM")
    connection.execute("REINDEX")
    connection.close()
    assert verify(recorded, recorded.parent / "keys").exit_code == 0
    with tape(recorded.parent) as made:
        made.run([Call()], "two")
    assert verify(recorded, recorded.parent / "keys").exit_code == 0


@contextmanager
def as_nobody() -> Iterator[None]:
    """As a user who owns nothing; somebody who is no superuser stays who they are."""
    superuser = os.geteuid() == 0
    if superuser:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if superuser:
            os.seteuid(0)


def open_up(folder: Path) -> None:
    """Let everybody into a folder, through those above it that pytest has made."""
    for path in (folder, *folder.parents):
        if "pytest-of-" in str(path):
            path.chmod(0o755)


@pytest.fixture
def shown(recorded: Path) -> Path:
    """A store that everybody may read and that cannot be written to."""
    open_up(recorded)
    for path in recorded.iterdir():
        path.chmod(0o555 if path.is_dir() else 0o444)
    recorded.chmod(0o555)
    return recorded


def test_a_store_on_a_read_only_medium_is_verified_as_far_as_its_key_is_at_hand(shown: Path) -> None:
    before = sorted(shown.iterdir())
    with as_nobody():
        verdict = verify(shown, shown.parent / "keys")
        with Reader.open(shown, shown.parent / "keys") as reader:
            assert reader.find("one").events == 4
    assert (verdict.exit_code, verdict.findings, dict(verdict.flags)["PAYLOADS_LOCKED"]) == (30, (), 2)
    assert "Permission denied" in str(verdict.locked)
    shown.with_name("keys").chmod(0o755)
    for path in shown.with_name("keys").iterdir():
        path.chmod(0o444)
    with as_nobody():
        assert verify(shown, shown.parent / "keys").exit_code == 0
    assert sorted(shown.iterdir()) == before


def test_a_writer_without_permission_says_so(shown: Path) -> None:
    with as_nobody(), pytest.raises(StoreUnusable, match="Permission denied"):
        Writer.open(shown, shown.parent / "keys")


def test_a_store_in_use_that_cannot_be_written_to_is_not_taken_for_a_finished_one(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        made.run([Call()])
        shutil.copytree(made.folder, tmp_path / "copy")
    (tmp_path / "copy" / f"{FILE_NAME}-shm").unlink()
    open_up(tmp_path / "copy")
    for path in (tmp_path / "copy").iterdir():
        path.chmod(0o444)
    (tmp_path / "copy").chmod(0o555)
    with as_nobody(), pytest.raises(StoreUnusable):
        verify(tmp_path / "copy", tmp_path / "keys")  # its WAL holds what the file alone does not


def test_a_second_connection_of_a_process_leaves_the_first_its_locks(recorded: Path) -> None:
    writer = open_for_writing(recorded)
    writer.execute("CREATE TABLE more (one)")
    open_for_writing(recorded).close()
    # Another process that uses the store and ends is the last only if nobody else's locks are there.
    reading = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT * FROM more').fetchall()"
    subprocess.run([sys.executable, "-c", reading, str(recorded / FILE_NAME)], check=True)
    assert recorded.joinpath(f"{FILE_NAME}-wal").exists()
    writer.execute("INSERT INTO more VALUES (1)")
    writer.close()

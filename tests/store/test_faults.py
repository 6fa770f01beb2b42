"""A failing disk: tickets say so, nothing is half written, later appends succeed, and what is there verifies."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from store import database
from store.core.errors import EdgetapeError, StoreUnusable
from store.reader import Reader
from store.ticket import Ticket
from store.verify import verify
from store.writer import Writer
from tests.support.sample import Sample
from tests.support.tape import Call, Tape, seeded

EXCHANGES = 50
FAULTS = {
    "SQLITE_FULL": (sqlite3.OperationalError, sqlite3.SQLITE_FULL, "database or disk is full"),
    "SQLITE_BUSY": (sqlite3.OperationalError, sqlite3.SQLITE_BUSY, "database is locked"),
    "SQLITE_IOERR": (sqlite3.OperationalError, sqlite3.SQLITE_IOERR, "disk I/O error"),
    "SQLITE_CORRUPT": (sqlite3.DatabaseError, sqlite3.SQLITE_CORRUPT, "database disk image is malformed"),
}


class Disk:
    """Counts statements, and fails those whose numbers are in `failing`."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.count = 0
        self.failing = range(0)
        self.failed = 0

    def statement(self) -> None:
        self.count += 1
        if self.count in self.failing:
            self.failed += 1
            kind, code, message = FAULTS[self.fault]
            error = kind(message)
            error.sqlite_errorcode, error.sqlite_errorname = code, self.fault
            raise error

    def connect(self, path: Path) -> sqlite3.Connection:
        """What a Writer takes as `connect`."""
        disk = self

        class Failing(sqlite3.Connection):
            def execute(self, *arguments: Any) -> sqlite3.Cursor:  # noqa: ANN401  # as sqlite3 has it
                disk.statement()
                return super().execute(*arguments)

            def executemany(self, *arguments: Any) -> sqlite3.Cursor:  # noqa: ANN401
                disk.statement()
                return super().executemany(*arguments)

        connection = sqlite3.connect(path, timeout=1, isolation_level=None, check_same_thread=False, factory=Failing)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
        except sqlite3.Error:
            connection.close()
            raise
        return connection


@dataclass(slots=True)
class Story:
    """A run of 50 exchanges on a disk that may fail; each is waited for, like an agent does."""

    base: Path
    disk: Disk
    kept: int = 0
    refused: int = 0
    statements: int = 0
    hints: set[str] = field(default_factory=set)

    def tell(self, calls: list[Call], failing: range = range(0)) -> str:
        """The run's id; the writer is closed at the end, and `failing` counts from its opening on."""
        writer = Writer.open(self.base / "store", self.base / "keys", self.disk.connect)
        made = Tape(self.base / "store", self.base / "keys", writer)
        try:
            run = made.open()
            writer.checkpoint().result(30)
            start = self.disk.count
            self.disk.failing = range(start + failing.start, start + failing.stop)
            for call in calls:
                asked = made.request(run, call)
                if self._on_disk(asked):
                    self._on_disk(made.answer(run, call, asked))
            self.disk.failing = range(0)
            self.statements = self.disk.count - start
            assert self._on_disk(made.note(run, b"later"))
        finally:
            self.disk.failing = range(0)
            writer.close()
        return run

    def _on_disk(self, ticket: Ticket) -> bool:
        try:
            ticket.result(30)
        except StoreUnusable as error:
            self.hints.add(error.hint)
            self.refused += 1
            return False
        self.kept += 1
        return True


def check(story: Story, run: str) -> None:
    """What tickets said is what is there, and it verifies."""
    with Reader.open(story.base / "store", story.base / "keys") as reader:
        found = list(reader.events(run))
    assert [event.seq for event in found] == list(range(story.kept + 1))
    verdict = verify(story.base / "store", story.base / "keys")
    assert verdict.exit_code == 0, verdict.findings


@pytest.fixture
def calls(sample: Sample) -> list[Call]:
    return seeded(sample.source(), EXCHANGES)


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_statement_that_fails_fails_its_commit_only(
    fault: str, calls: list[Call], tmp_path: Path, sample: Sample
) -> None:
    counted = Story(tmp_path / "counted", Disk(fault))
    check(counted, counted.tell(calls))
    total = counted.statements
    every = range(1, total + 1)
    places = every if sample.full else sorted(sample.source("places").sample(every, 10))
    for place in places:
        story = Story(tmp_path / str(place), Disk(fault))
        check(story, story.tell(calls, range(place, place + 1)))
        assert story.refused == story.disk.failed == 1
        assert all(story.hints)
    sample.measured(f"{fault} at {len(places)} of {total} statements: nothing half written")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("length", [2, 5, 20])
def test_a_disk_that_fails_for_a_while_is_written_to_again_afterwards(
    fault: str, length: int, calls: list[Call], tmp_path: Path, sample: Sample
) -> None:
    start = sample.source(str(length)).randrange(1, 300)
    story = Story(tmp_path, Disk(fault))
    run = story.tell(calls, range(start, start + length))
    assert story.refused > 0
    assert story.kept > 1
    check(story, run)


@pytest.mark.parametrize("fault", ["SQLITE_FULL", "SQLITE_IOERR"])
def test_a_store_that_cannot_be_opened_can_be_opened_later(fault: str, tmp_path: Path) -> None:
    place = 0
    while True:
        place += 1
        disk = Disk(fault)
        disk.failing = range(place, place + 1)
        with suppress(EdgetapeError):
            Writer.open(tmp_path / "store", tmp_path / "keys", disk.connect).close()
        if disk.count < place:
            break
        Writer.open(tmp_path / "store", tmp_path / "keys").close()
        assert {finding.code for finding in verify(tmp_path / "store", tmp_path / "keys").findings} == {"V001"}
    assert place > 20


def known(opened: list[sqlite3.Connection]) -> database.Connect:
    """A connection that the test can get at, to say how many pages the database may have."""

    def connect(path: Path) -> sqlite3.Connection:
        opened.append(database.connect(path))
        return opened[-1]

    return connect


def test_a_full_database_says_so_and_goes_on_when_there_is_room(tmp_path: Path, sample: Sample) -> None:
    opened: list[sqlite3.Connection] = []
    story = Story(tmp_path, Disk("SQLITE_FULL"))
    writer = Writer.open(tmp_path / "store", tmp_path / "keys", known(opened))
    made = Tape(tmp_path / "store", tmp_path / "keys", writer)
    run = made.open()
    writer.checkpoint().result(30)
    ((pages,),) = opened[0].execute("PRAGMA page_count").fetchall()
    opened[0].execute(f"PRAGMA max_page_count={pages + 60}")
    source = sample.source()
    for _ in range(200):
        story._on_disk(made.note(run, source.randbytes(3000)))
    assert 0 < story.kept < 200
    opened[0].execute("PRAGMA max_page_count=100000")
    assert story._on_disk(made.note(run, b"there is room again"))
    writer.close_run(run, "normal").result(30)
    writer.close()
    with Reader.open(tmp_path / "store", tmp_path / "keys") as reader:
        assert len(list(reader.events(run))) == story.kept + 2
    assert verify(tmp_path / "store", tmp_path / "keys").exit_code == 0
    assert writer.signing_failure is None


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[Callable[[], sqlite3.Connection]]:
    """Takes the store for itself, like a program that hangs in a transaction."""
    held: list[sqlite3.Connection] = []

    def hold() -> sqlite3.Connection:
        held.append(sqlite3.connect(tmp_path / "store" / database.FILE_NAME, isolation_level=None))
        held[-1].execute("BEGIN IMMEDIATE")
        return held[-1]

    yield hold
    for connection in held:
        connection.close()


def impatient(path: Path) -> sqlite3.Connection:
    connection = database.connect(path)
    connection.execute("PRAGMA busy_timeout=50")
    return connection


def test_a_locked_store_says_so_is_read_all_the_same_and_goes_on_afterwards(
    tmp_path: Path, lock: Callable[[], sqlite3.Connection]
) -> None:
    writer = Writer.open(tmp_path / "store", tmp_path / "keys", impatient)
    made = Tape(tmp_path / "store", tmp_path / "keys", writer)
    run = made.run([Call()], close=False)
    made.note(run, b"before").result(30)
    holder = lock()
    with pytest.raises(StoreUnusable, match="locked") as caught:
        made.note(run, b"meanwhile").result(30)
    assert "locked" in caught.value.hint
    with pytest.raises(StoreUnusable, match="locked"):
        Writer.open(tmp_path / "store", tmp_path / "keys", impatient)
    with Reader.open(tmp_path / "store", tmp_path / "keys") as reader:
        assert len(list(reader.events(run))) == 4
    assert verify(tmp_path / "store", tmp_path / "keys").exit_code == 0
    holder.execute("ROLLBACK")
    made.note(run, b"after").result(30)
    writer.close()
    assert verify(tmp_path / "store", tmp_path / "keys").exit_code == 0

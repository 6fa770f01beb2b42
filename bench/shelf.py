"""A run's splice log in a SQLite file, written as a recorder would and read one body at a time, cold."""

import os
import secrets
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from bench.traffic import Run
from store.splices import stream
from store.splices.blocklog import BlockLog
from store.splices.guard import Cipher
from store.splices.livelog import LiveLog, Stored
from store.splices.recoding import Recoder
from store.splices.resolver import Resolver
from store.splices.stream import Span

_TABLE = (
    "CREATE TABLE blocks (run INTEGER, number INTEGER, start INTEGER, length INTEGER, frame INTEGER, stored BLOB,"
    " PRIMARY KEY (run, number)) STRICT"
)
_INSERT = "INSERT INTO blocks (run, number, start, length, frame, stored) VALUES (1, ?, ?, ?, ?, ?)"
_NONCE_BYTES = 12


@dataclass(slots=True)
class Shelf:
    """One run in one file. `places` has the place and the length of each body, in order."""

    path: Path
    guard: Cipher = field(default_factory=lambda: Cipher(bytes(32), "bench", "run", lambda: os.urandom(_NONCE_BYTES)))
    places: list[tuple[int, bytes]] = field(default_factory=list)
    grown: list[int] = field(default_factory=list)
    cpu_s: float = 0.0
    undone: int = 0

    def record(self, run: Run, *, undo: bool = True) -> None:
        """Writes the run, a flush for each request and each answer; `cpu_s` is what splicing to encryption took.

        `grown` is how many bytes are stored after each exchange.
        """
        with closing(self._connect()) as connection:
            connection.execute(_TABLE)
            log, recoder, stored = LiveLog(self.guard), Recoder(), 0
            for request, answer, coding in run.wire:
                for shelf, body, encoding in (("request", request, ""), ("answer", answer, coding)):
                    if body:
                        stored += self._add(connection, log, shelf, body, recoder if undo else None, encoding)
                self.grown.append(stored)
            connection.commit()

    def seal(self) -> float:
        """Puts the sealed form in the place of the live one; how many seconds of CPU that took."""
        with closing(self._connect()) as connection:
            log = self._open(connection)
            begun = time.process_time()
            blocks = [Stored(block.span, self.guard.close(block)) for block in stream.sealed(log.read, log.end)]
            took = time.process_time() - begun
            connection.execute("DELETE FROM blocks")
            connection.executemany(_INSERT, map(_row, blocks))
            connection.commit()
            connection.execute("VACUUM")
            return took

    @property
    def stored_bytes(self) -> int:
        """What the blocks hold."""
        with closing(self._connect()) as connection:
            return int(connection.execute("SELECT SUM(LENGTH(stored)) FROM blocks").fetchone()[0])

    def read_cold(self, at: int) -> tuple[float, float]:
        """Opens the file and reads one body: seconds, and seconds of CPU. Raises AssertionError for other bytes."""
        place, body = self.places[at]
        begun, cpu = time.perf_counter(), time.thread_time()
        with closing(self._connect()) as connection:
            log = self._open(connection)
            read = Resolver(log.read, log.end).body(place, len(body))
        took = time.perf_counter() - begun, time.thread_time() - cpu
        assert read == body
        return took

    def read_all(self) -> float:
        """Reads every body, in order; seconds of CPU."""
        begun = time.process_time()
        with closing(self._connect()) as connection:
            log = self._open(connection)
            resolver = Resolver(log.read, log.end, kept_bytes_max=32 << 20)
            for place, body in self.places:
                assert resolver.body(place, len(body)) == body
        return time.process_time() - begun

    def _add(
        self,
        connection: sqlite3.Connection,
        log: LiveLog,
        shelf: str,
        body: bytes,
        recoder: Recoder | None,
        encoding: str,
    ) -> int:
        begun = time.process_time()
        undone = recoder.undo(body, encoding) if recoder else None
        if undone:
            self.undone += 1
            place = log.add(undone.content, shelf, undone.coding)
        else:
            place = log.add(body, shelf)
        change = log.flush()
        self.cpu_s += time.process_time() - begun
        before = connection.execute("SELECT TOTAL(LENGTH(stored)) FROM blocks").fetchone()[0]
        connection.executemany("DELETE FROM blocks WHERE number = ?", [(number,) for number in change.gone])
        connection.executemany(_INSERT, map(_row, change.blocks))
        after = connection.execute("SELECT TOTAL(LENGTH(stored)) FROM blocks").fetchone()[0]
        log.commit()
        self.places.append((place, body))
        return int(after - before)

    def _open(self, connection: sqlite3.Connection) -> BlockLog:
        spans = connection.execute("SELECT number, start, length, frame FROM blocks WHERE run = 1 ORDER BY number")

        def fetch(first: int, last: int) -> list[bytes]:
            rows = connection.execute(
                "SELECT stored FROM blocks WHERE run = 1 AND number BETWEEN ? AND ? ORDER BY number", (first, last)
            )
            return [bytes(stored) for (stored,) in rows]

        return BlockLog([Span(*row) for row in spans], fetch, self.guard)

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path)


def percentile(values: Iterable[float], percent: int) -> float:
    """The value that `percent` of all lie at or below."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def sampled(count: int, most: int) -> list[int]:
    """At most `most` numbers below `count`, each as likely, the last always among them."""
    if count <= most:
        return list(range(count))
    return [*(secrets.randbelow(count) for _ in range(most - 1)), count - 1]


def _row(block: Stored) -> tuple[int, int, int, int, bytes]:
    span = block.span
    return span.number, span.start, span.length, span.frame, block.stored

"""Several processes that verify the runs of one store, each of them a run at a time.

Rules kept here:
- All read the same moment: SQLite tells whether anything was committed while they began to read (`data_version`), and
  then they begin again. A store that is written too fast for that is read by one process alone, at one moment.
- What comes back is given in the order in which it was asked for, so a verdict does not depend on how many they are.
"""

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection as Pipe
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Self, cast

from store import database
from store.core.errors import EdgetapeError, StoreUnusable
from store.database.connection import Connection
from store.verify import run as run_check
from store.verify.ledger import Ledger
from store.verify.records import SqliteRecords
from store.verify.run import Told, Verified
from store.verify.terms import Rules

ATTEMPTS = 200
# What a process costs before it is of use is about what it takes to verify this much.
WORTH_BYTES = 32 << 20

type Task = tuple[str, Ledger]


def cores() -> int:
    """How many processes can work at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def worthwhile(folder: Path) -> int:
    """How many processes a store is worth."""
    if database.is_served(folder):
        return 1  # nothing tells several processes there that they read one moment
    return cores() if (folder / database.FILE_NAME).stat().st_size > WORTH_BYTES else 1


class Crew:
    """Use it as a context manager; `keys` is the folder of the store key, `connection` the caller's own, in a
    transaction.
    """

    def __init__(self, folder: Path, keys: Path, connection: Connection, jobs: int, rules: Rules) -> None:
        self._folder, self._connection = folder, connection
        self._members: list[tuple[BaseProcess, Pipe]] = []
        # Not forked: a copy of this process would hold its threads' locks and its open database.
        context = multiprocessing.get_context("spawn")
        with _uninterrupted():
            for _ in range(jobs):
                ours, theirs = context.Pipe()
                process = context.Process(target=_work, args=(folder, keys, theirs, rules), daemon=True)
                process.start()
                theirs.close()
                self._members.append((process, ours))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process, pipe in self._members:
            pipe.close()
            process.terminate()
            process.join()

    def begin(self) -> bool:
        """Makes all of them read one moment, the caller's connection too; False where the store does not hold still."""
        with contextlib.closing(database.open_for_reading(self._folder)) as watch:
            for _ in range(ATTEMPTS):
                before = _version(watch)
                for _, pipe in self._members:
                    _send(pipe, None)
                database.begin_to_read(self._connection)
                for _, pipe in self._members:
                    _received(pipe)
                if _version(watch) == before:
                    return True
        return False

    def check(self, runs: Sequence[str], log: Ledger, told: Told) -> Iterator[Verified]:
        """Verifies these runs; see `store.verify.run.check`."""
        waiting = iter(runs)
        idle = [pipe for _, pipe in self._members]
        busy: list[Pipe] = []
        done: dict[str, Verified] = {}
        for each in runs:
            while each not in done:
                while idle and (task := next(waiting, None)) is not None:
                    _send(idle[-1], (task, log.about(task)))
                    busy.append(idle.pop())
                for ready in wait(busy):
                    pipe = cast("Pipe", ready)
                    answer = _received(pipe)
                    if isinstance(answer, Verified):
                        done[answer.run] = answer
                        busy.remove(pipe)
                        idle.append(pipe)
                    else:
                        told(cast("int", answer))
            yield done.pop(each)


def opened(folder: Path) -> Connection:
    """A connection to a store that is to be verified."""
    return database.open_for_reading(folder, doubted=True)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Whoever is started in here never hears of Ctrl-C: that is for the caller, and when he ends, the pipe does."""
    resource_tracker.ensure_running()  # which would let it through again when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _version(watch: Connection) -> int:
    ((version,),) = watch.execute("PRAGMA data_version").fetchall()
    return int(version)


@contextlib.contextmanager
def _alive() -> Iterator[None]:
    """Says in a sentence that the process at the other end is gone."""
    try:
        yield
    except (EOFError, OSError) as error:
        raise StoreUnusable("a process that verified runs has ended", hint="try again with --jobs 1") from error


def _send(pipe: Pipe, task: Task | None) -> None:
    with _alive():
        pipe.send(task)


def _received(pipe: Pipe) -> object:
    with _alive():
        answer = pipe.recv()
    if isinstance(answer, EdgetapeError):
        raise answer
    return answer


def _work(folder: Path, keys: Path, pipe: Pipe, rules: Rules) -> None:
    with contextlib.suppress(EOFError, BrokenPipeError), contextlib.closing(opened(folder)) as connection:
        try:
            with database.explained(folder):
                while True:
                    pipe.send(_answer(connection, keys, pipe, cast("Task | None", pipe.recv()), rules))
        except EdgetapeError as error:
            pipe.send(error)


def _answer(connection: Connection, keys: Path, pipe: Pipe, task: Task | None, rules: Rules) -> object:
    if task is None:
        database.begin_to_read(connection)
        return 0
    run, log = task
    return run_check.check(SqliteRecords(connection, keys), run, log, pipe.send, rules)

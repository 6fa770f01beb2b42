"""The writer's thread: commits what is queued, one transaction after another, and knows nothing of events.

Rules kept here:
- What somebody waits for is committed as soon as the commit before it returns, with all that is queued by then; what
  nobody waits for may lie for 20 ms, so that one transaction takes more of it. 64 pieces of work and 10 ms of
  preparing them bound a transaction, and are never waited for.
- What is slow (hashing, compressing) is prepared before the transaction begins, so other writers wait for as little
  as possible.
- A failed commit undoes everything, tells everybody who waits, and is no reason to stop: the next one is simply
  tried. Work that is refused is undone alone. So is an event with a long body, which is stored while it is read.
- Every ticket is answered, whatever happens; nothing ends the thread but `stop`.
- Between pieces of work the thread does what the `Rhythm` wants done; it sleeps until then, or until work comes.
"""

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from store.core.errors import EdgetapeError, InvalidEvent, StoreUnusable
from store.database import explained, leave_one_file, transaction
from store.database.connection import FAULTS, Connection
from store.journal import Appended
from store.livelogs import LiveLogs
from store.ticket import Ticket

BATCH_WORK_MAX = 64
BATCH_S_MAX = 0.010
UNHURRIED_S = 0.020
HURRIED_WORK = 8  # queued behind a transaction: an agent alone never has so many

type Apply = Callable[[Connection], Appended | None]
type Prepare = Callable[[], Apply]
type Afterwards = Callable[[Connection], None]


class Work(msgspec.Struct, frozen=True):
    """One thing to do: `prepare()` gives what is applied inside the transaction; `afterwards` runs once it is on
    disk. What is done `alone` finds in its transaction only what is stored already; what only `adds` to its runs
    writes nothing by itself.
    """

    prepare: Prepare
    afterwards: Afterwards | None = None
    alone: bool = False
    adds: bool = False
    ticket: Ticket = msgspec.field(default_factory=Ticket)


@dataclass(frozen=True, slots=True)
class Rhythm:
    """What is done without being asked: `due()` is the work that is to be done in `wait_s()` seconds; `committed` is
    told of every commit, `settled` when the tickets of what was done together are answered.
    """

    wait_s: Callable[[], float]
    due: Callable[[], Work]
    committed: Callable[[], None]
    settled: Callable[[], None] = lambda: None


class _Prepared(msgspec.Struct, frozen=True):
    work: Work
    apply: Apply


class Committer:
    """Owns the connection: everything that is written goes through `submit`. `logs` go with its transactions."""

    def __init__(self, connection: Connection, path: Path, logs: LiveLogs, rhythm: Rhythm) -> None:
        self._connection = connection
        self._logs = logs
        self._path = path
        self._rhythm = rhythm
        self._queue: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._hurry = threading.Event()
        self._stopped = False
        self._failing = False
        self._put_off: Work | None = None
        self._thread = threading.Thread(target=self._run, name="edgetape-writer", daemon=True)
        self._thread.start()

    def submit(
        self,
        prepare: Prepare,
        afterwards: Afterwards | None = None,
        *,
        alone: bool = False,
        adds: bool = False,
        ticket: Ticket | None = None,
    ) -> Ticket:
        """Queues work, as `Work` describes it; its ticket may be there already."""
        work = Work(prepare, afterwards, alone, adds, ticket or Ticket(self._hurry.set))
        with self._gate:
            if not self._stopped:
                self._queue.put(work)
                return work.ticket
        work.ticket.settle(StoreUnusable("the writer is closed: nothing more is recorded"))
        return work.ticket

    def hurry(self) -> None:
        """Somebody waits for what is queued."""
        self._hurry.set()

    @property
    def is_within(self) -> bool:
        """Whether whoever asks is the writer's thread."""
        return threading.get_ident() == self._thread.ident

    @property
    def waiting(self) -> int:
        """How much work is queued."""
        return self._queue.qsize()

    def stop(self) -> None:
        """Returns when everything that was queued is done; the connection is closed. A second call changes nothing."""
        with self._gate:
            if not self._stopped:
                self._queue.put(None)
                self._hurry.set()
            self._stopped = True
        self._thread.join()
        with contextlib.suppress(*FAULTS):
            leave_one_file(self._connection)
        self._connection.close()

    def _run(self) -> None:
        going_on = True
        while going_on:
            batch, going_on = self._gather()
            if batch:
                self._commit(batch)
            self._rhythm.settled()
            del batch  # the next wait may be long, and the bodies of the last commit with it

    def _gather(self) -> tuple[list[_Prepared], bool]:
        """Takes what is queued, waiting when nothing is, and a little when nobody hurries."""
        work = self._next()
        if work is not None and self._may_lie(work):
            self._hurry.wait(UNHURRIED_S)
        hurried = self._hurry.is_set()
        # Before the queue is looked into: who hurries afterwards may have come too late for this batch.
        self._hurry.clear()
        batch, going_on = self._taken(work)
        if hurried and (self._put_off is not None or self._queue.qsize()):
            self._hurry.set()  # whoever it was may stand behind this batch
        return batch, going_on

    def _taken(self, work: Work | None) -> tuple[list[_Prepared], bool]:
        """A work and those behind it, prepared, as many as one transaction takes; whether more may come."""
        batch: list[_Prepared] = []
        until = time.monotonic() + BATCH_S_MAX
        while work is not None:
            if work.alone and batch:
                self._put_off = work
                return batch, True
            try:
                batch.append(_Prepared(work, work.prepare()))
            except Exception as error:  # noqa: BLE001  # one bad draft must not end the recording of all others
                work.ticket.settle(told(error))
            # What runs afterwards speaks of everything that is on disk then: nothing may stand behind it.
            if work.afterwards or work.alone or len(batch) >= BATCH_WORK_MAX or time.monotonic() > until:
                return batch, True
            try:
                work = self._queue.get_nowait()
            except queue.Empty:
                return batch, True
        return batch, False

    def _may_lie(self, work: Work) -> bool:
        """Whether more may come before a work is done; while the store fails, everybody is to know at once."""
        waits = work.afterwards is not None or work.alone
        return not (waits or self._failing or self._queue.qsize() >= BATCH_WORK_MAX)

    def _next(self) -> Work | None:
        if self._put_off is not None:
            work, self._put_off = self._put_off, None
            return work
        while (wait_s := self._rhythm.wait_s()) > 0:
            with contextlib.suppress(queue.Empty):
                return self._queue.get(timeout=wait_s)
        return self._rhythm.due()

    def _commit(self, batch: list[_Prepared]) -> None:
        applied: list[Work] = []
        try:
            with explained(self._path), transaction(self._connection):
                self._logs.begin(self._connection)
                applied += [prepared.work for prepared in batch if self._apply(prepared)]
                self._logs.flush(self._connection, hurried=self._queue.qsize() >= HURRIED_WORK)
        except EdgetapeError as error:
            self._failing = True
            self._logs.rollback()
            for prepared in batch:
                prepared.work.ticket.placed = None
                if not prepared.work.ticket.is_done:
                    prepared.work.ticket.settle(error)
            return
        self._failing = False
        self._logs.commit(appended=all(prepared.work.adds for prepared in batch))
        if applied:
            self._rhythm.committed()
        for work in applied:
            self._finish(work)

    def _apply(self, prepared: _Prepared) -> bool:
        """Whether the work was done; if it was refused, nothing of it is left. Raises what SQLite and the system
        say.
        """
        ticket = prepared.work.ticket
        if not prepared.work.adds:
            self._logs.additions.write(self._connection)  # it may read what was added before
        marks = self._logs.mark()
        try:
            with contextlib.nullcontext() if prepared.work.adds else self._apart():
                ticket.placed = prepared.apply(self._connection)
        except (*FAULTS, OSError):
            raise
        except Exception as error:
            if self._logs.is_flushed:  # it was alone, and all of it goes
                raise told(error) from error
            self._logs.undo(marks)
            self._logs.additions.write(self._connection)  # what is read next must find it
            ticket.settle(told(error))
        return not ticket.is_done

    @contextmanager
    def _apart(self) -> Iterator[None]:
        """What is written inside is undone when it is refused."""
        self._connection.execute("SAVEPOINT work")
        try:
            yield
        except (*FAULTS, OSError):
            raise
        except Exception:
            self._connection.execute("ROLLBACK TO work")
            self._connection.execute("RELEASE work")
            raise
        self._connection.execute("RELEASE work")

    def _finish(self, work: Work) -> None:
        try:
            if work.afterwards is not None:
                with explained(self._path):
                    work.afterwards(self._connection)
        except Exception as error:  # noqa: BLE001  # see above
            work.ticket.settle(told(error))
        else:
            work.ticket.settle()


def told(error: Exception) -> EdgetapeError:
    """What the one who waits is told: an error of ours as it is, any other one as a fault of what was submitted."""
    if isinstance(error, EdgetapeError):
        return error
    refused = InvalidEvent(f"it cannot be written: {type(error).__name__}: {error}")
    refused.__cause__ = error
    return refused

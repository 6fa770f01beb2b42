"""The one way in: what the recorder and the replay write into a store (docs/format.md, sections 4-6).

Every method returns at once with a Ticket; the work is done in order by the writer's own thread.
"""

import contextlib
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import store
from store import arrival, database, journal, log, pending, recovery
from store import erasure as erasing
from store.adoption import adopt
from store.arrival import Arrival
from store.cadence import Cadence
from store.commit import Afterwards, Apply, Committer, Rhythm
from store.compactor import Compactor
from store.core import leaf
from store.core.draft import Draft
from store.core.errors import EdgetapeError, InvalidEvent
from store.core.event import timestamp
from store.core.model import CloseReason, RunClose, RunOpen, TunnelClose
from store.core.redact import Redacted
from store.database.connection import Connection
from store.erasure import Erasure
from store.founding import found
from store.identifier import new_run_id
from store.keys import Signer
from store.lease import taken
from store.livelogs import LiveLogs
from store.sealer import Sealer
from store.ticket import Ticket
from store.vault import Vault

type Change = Callable[[Connection, str], object]
type Drafting = Callable[[], Draft]
type Redaction = Callable[[], Redacted]


class Writer:
    """Writes into one store; any number of writers, in any number of processes, may do so at once."""

    def __init__(self, folder: Path, connection: Connection, signer: Signer, cadence: Cadence) -> None:
        self.origin = signer.origin
        self.unrecovered: dict[str, Exception] = {}
        self._sealer = Sealer(signer, cadence)
        self.vault = Vault(signer.folder, signer.origin)
        self.vault.store_key(connection)
        self._leases = folder / "leases"
        self._lease = taken(connection, self._leases, str(uuid.uuid4()))
        self._opened_ns: dict[str, int] = {}
        self._announced = False
        self._cadence = cadence
        self.settled: Callable[[], None] = lambda: None  # is called when what was done together is answered
        rhythm = Rhythm(cadence.wait_s, self._sealer.due, cadence.committed, self._settled)
        self._logs = LiveLogs(self.vault)
        self._committer = Committer(connection, folder / database.FILE_NAME, self._logs, rhythm)
        self._compactor = Compactor(folder, self.vault, self._committer)

    @classmethod
    def open(
        cls, folder: Path, keys: Path, connect: database.Connect = database.connect, *, cadence: Cadence | None = None
    ) -> "Writer":
        """A writer to the store in `folder`, which is made if there is none; `keys` is the folder of its keys.

        Ends the runs whose recorders died; a writer that then writes nothing leaves no trace. Raises StoreUnusable or
        KeyUnavailable.
        """
        connection = database.open_for_writing(folder, connect)
        try:
            with database.explained(folder / database.FILE_NAME):
                writer = cls(folder, connection, found(connection, keys, _now()), cadence or Cadence())
        except EdgetapeError:
            connection.close()
            raise
        try:
            writer._adopt().result()
            writer._committer.submit(lambda: lambda _: None, erasing.tidy_if_due).result()
        except EdgetapeError:
            writer.leave()
            raise
        # Waited for, so that no event is ever seen in a store that nothing signs.
        with contextlib.suppress(EdgetapeError):
            writer._checkpoint_or_say().result()
        return writer

    @property
    def signing_failure(self) -> EdgetapeError | None:
        """Why the log is not signed."""
        return self._sealer.failure

    @property
    def waiting(self) -> int:
        """How much was asked for and is not begun yet."""
        return self._committer.waiting

    def hurry(self) -> None:
        """Somebody waits for what was asked for."""
        self._committer.hurry()

    @property
    def is_within(self) -> bool:
        """Whether whoever asks is the writer's thread."""
        return self._committer.is_within

    def open_run(self, draft: Draft, run: str = "") -> tuple[str, Ticket]:
        """Opens a run: its id (UUIDv7, RFC 9562), or the one given, and the ticket of event 0, which is a RunOpen."""
        self._announce()
        run = run or new_run_id()
        self._opened_ns[run] = time.monotonic_ns()

        def prepare() -> Apply:
            if not isinstance(draft.facts, RunOpen):
                raise InvalidEvent("a run begins with run.open")
            weighed = journal.weighed(draft)
            self._cadence.leaf()
            return lambda connection: journal.open_run(
                connection, self._logs, self.origin, run, self._lease.owner, weighed, self._clock(run)
            )

        return run, self._committer.submit(prepare)

    def append(
        self,
        run: str,
        drafted: Draft | Drafting,
        *,
        after: Ticket | None = None,
        ticket: Ticket | None = None,
    ) -> Ticket:
        """Appends an event, or what will be drafted when its turn comes; of that no body is too long for memory.
        `after` is the ticket of the request, or tunnel, that it belongs to: it names its seq. The answer may go to a
        `ticket` that is there already. An outcome takes the pending pieces of its request with it.
        """

        def prepare() -> Apply:
            draft = drafted if isinstance(drafted, Draft) else drafted()
            if isinstance(draft.facts, RunOpen | RunClose):
                raise InvalidEvent("open_run and close_run write the ends of a run")
            weighed = journal.weighed(draft)
            if after is None:
                return lambda connection: journal.append(connection, self._logs, run, weighed, self._clock(run))
            link = "open" if isinstance(draft.facts, TunnelClose) else "req"
            if link not in weighed.members:
                raise InvalidEvent(f"no {weighed.members['type']} belongs to another event")
            return lambda connection: self._append(connection, run, weighed, link, after)

        alone = isinstance(drafted, Draft) and drafted.is_long
        return self._committer.submit(prepare, alone=alone, adds=not alone, ticket=ticket)

    def piece(self, run: str, request: Ticket, part: str, redacted: Redacted | Redaction) -> Ticket:
        """Keeps a piece of a stream that is still open, until its outcome is appended; or what will be left of it by
        redaction when its turn comes.

        `head` is the JSON of a `store.recovery.AnswerHead`.
        """

        def prepare() -> Apply:
            content = (redacted if isinstance(redacted, Redacted) else redacted()).content
            if part == "head":
                recovery.answer_head(content)
            return lambda connection: (
                pending.keep(connection, self._logs, run, request.seq, part, content) if content else None
            )

        request.has_pieces = True
        return self._committer.submit(prepare, adds=True)

    def close_run(self, run: str, reason: CloseReason, *, exit_code: int | None = None) -> Ticket:
        """Ends a run: an outcome for every request that has none, run.close, its leaf; then a checkpoint.
        Its bodies are packed tighter then, which for long runs goes on behind the ticket.
        """
        ticket = self._committer.submit(
            lambda: lambda connection: self._close(connection, run, reason, exit_code),
            lambda connection: self._after_close(connection, run),
        )
        self._checkpoint_or_say()
        return ticket

    def take_in(self, arrivals: Sequence[Arrival]) -> Ticket:
        """Takes in runs of another store, all or none; then a checkpoint. The caller has verified them."""
        ticket = self.change(
            lambda connection, ts: arrival.take_in(connection, self._logs, arrivals, self.vault, ts),
            lambda connection: self._compactor.seal_closed(connection, [each.run for each in arrivals]),
        )
        self._checkpoint_or_say()
        return ticket

    def checkpoint(self) -> Ticket:
        """Notes the head of every run that has grown, and signs the log. Its ticket raises KeyUnavailable when that
        fails.
        """
        return self._committer.submit(self._sealer.heads, self._sealer.sign)

    def erase(self, erasure: Erasure, *, tidy: bool = True) -> Ticket:
        """Erases bodies of a run; and all traces of them in the store's files, unless `tidy` is to follow.

        Its ticket raises ErasureRefused; also when that is done but for the traces.
        """
        return self.change(
            lambda connection, ts: erasing.erase(connection, erasure, self.vault, ts),
            erasing.tidy if tidy else None,
        )

    def hold(self, facts: leaf.HoldSet | leaf.HoldReleased) -> Ticket:
        """Notes that nothing of a run may be erased, or that it may be again."""
        return self.change(lambda connection, ts: log.append(connection, ts, facts))

    def change(self, apply: Change, afterwards: Afterwards | None = None) -> Ticket:
        """Does something to the store that is no event of an open run, all or nothing, in a transaction of its own;
        `apply` gets the wall clock.
        """
        self._announce()
        return self._change(apply, afterwards, alone=True)

    def close(self) -> None:
        """Returns when all that was queued is on disk and signed, and the thread has ended; more is refused then."""
        self._compactor.stop()
        if self._announced:
            self._log(leaf.RecorderStop(recorder=self._lease.owner))
            self._checkpoint_or_say()
        self.leave()

    def leave(self) -> None:
        """The same without a word, as a crash would: its open runs are for the next writer to end."""
        self._committer.stop()
        self._lease.release()

    def _settled(self) -> None:
        self.settled()

    def _append(
        self, connection: Connection, run: str, weighed: journal.Weighed, link: str, after: Ticket
    ) -> journal.Appended:
        linked = weighed.linked(link, after.seq)
        appended = journal.append(connection, self._logs, run, linked, self._clock(run))
        if after.has_pieces:
            journal.drop_pending(self._logs, run, after.seq, linked)
        return appended

    def _close(
        self,
        connection: Connection,
        run: str,
        reason: CloseReason,
        exit_code: int | None,
        *,
        dead: bool = False,
    ) -> journal.Appended:
        now = self._clock(run)
        partial = recovery.close_requests(connection, self._logs, run, now, dead=dead)
        facts = journal.closing(reason, partial, exit_code, dead=dead)
        return journal.close_run(connection, self._logs, run, facts, now)

    def _after_close(self, connection: Connection, run: str) -> None:
        self._logs.drop(run)
        self._compactor.seal(connection, run)

    def _adopt(self) -> Ticket:
        """Ends the runs whose writers are dead."""

        def close(connection: Connection, run: str) -> None:
            self._close(connection, run, "crash_recovered", None, dead=True)

        def apply(connection: Connection) -> None:
            self.unrecovered = adopt(connection, self._leases, self._lease.owner, self._logs, close)

        return self._committer.submit(lambda: apply)

    def _announce(self) -> None:
        """Says that this writer is at work, before the first thing that it writes."""
        if not self._announced:
            self._announced = True
            self._log(leaf.RecorderStart(recorder=self._lease.owner, version=store.__version__))

    def _change(self, apply: Change, afterwards: Afterwards | None = None, *, alone: bool = False) -> Ticket:
        def at(connection: Connection) -> None:
            apply(connection, _now())
            self._cadence.leaf()

        return self._committer.submit(lambda: at, afterwards, alone=alone)

    def _log(self, facts: leaf.Leaf) -> Ticket:
        return self._change(lambda connection, ts: log.append(connection, ts, facts))

    def _checkpoint_or_say(self) -> Ticket:
        return self._sealer.remembered(self.checkpoint())

    def _clock(self, run: str) -> journal.Now:
        opened_ns = self._opened_ns.get(run)
        # A run that another recorder opened goes on at its last event's time: journal.append takes the later of both.
        mono_us = 0 if opened_ns is None else (time.monotonic_ns() - opened_ns) // 1000
        return journal.Now(_now(), mono_us)


def _now() -> str:
    return timestamp(datetime.now(UTC))

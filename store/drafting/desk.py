"""A scribe in this process: what was seen is drafted in the writer's thread, when its turn to be stored has come.

Rules kept here:
- A run has one redactor, which learns as it goes: one thing of it is drafted at a time.
- What is large is drafted in a thread of its own, and stored when it is ready: others do not wait for it.
"""

import threading
from collections.abc import Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from store import policies
from store.commit import told
from store.core.draft import Draft
from store.core.errors import EdgetapeError, InvalidEvent
from store.core.leaf import PolicyKind
from store.core.model import CloseReason
from store.core.redact import Redacted, Redactor
from store.drafting import seen
from store.drafting.asked import Asked
from store.drafting.drafter import Drafter
from store.drafting.scribe import WAITING_MAX, Part
from store.labels.own import NO_RULES, OwnRules
from store.spool import Spool
from store.ticket import Ticket
from store.writer import Writer


class _Run:
    """An open run: who drafts it, one step at a time."""

    def __init__(self, drafter: Drafter) -> None:
        self.drafter = drafter
        self.lock = threading.Lock()

    def drained[R](self, steps: Generator[None, None, R]) -> R:
        """What comes out at the end of all steps, between which others of the run have their turn."""
        while True:
            with self.lock:
                try:
                    next(steps)
                except StopIteration as done:
                    result: R = done.value
                    return result


class Desk:
    """Over a writer, which is closed with it; a long body that redaction changes waits in `folder` meanwhile."""

    def __init__(self, writer: Writer, folder: Path | None = None) -> None:
        self._writer = writer
        self._folder = folder
        self._runs: dict[str, _Run] = {}
        self._unlabelled = 0
        self._large = ThreadPoolExecutor(1, "edgetape-large")

    @property
    def origin(self) -> str:
        """The store's."""
        return self._writer.origin

    @property
    def signing_failure(self) -> EdgetapeError | None:
        """Why the log is not signed."""
        return self._writer.signing_failure

    @property
    def unrecovered(self) -> Mapping[str, Exception]:
        """The runs whose recorders died and that cannot be ended, and why."""
        return self._writer.unrecovered

    @property
    def unlabelled(self) -> int:
        """How many exchanges were not understood."""
        return self._unlabelled + sum(run.drafter.unlabelled for run in tuple(self._runs.values()))

    @property
    def is_behind(self) -> bool:
        """Whether more waits to be written than may be lost, or kept in memory."""
        return self._writer.waiting > WAITING_MAX

    def open_run(self, draft: Draft, redactor: Redactor, own: OwnRules = NO_RULES, run: str = "") -> tuple[str, Ticket]:
        """Opens a run, as `Scribe` says; it may have an id already."""
        run, ticket = self._writer.open_run(draft, run)
        self._runs[run] = _Run(Drafter(redactor, own, keep=lambda: Spool(self._folder)))
        ticket.when_done(lambda error: self._forget(run) if error is not None else None)
        return run, ticket

    def append(self, run: str, said: Draft | seen.Sight, *, after: Ticket | None = None) -> Ticket:
        """Appends an event, as `Scribe` says."""
        if isinstance(said, Draft):
            return self._writer.append(run, said, after=after)
        asked = (None if after is None else after.asked) or Asked()
        if said.is_large:
            ticket = Ticket(self._writer.hurry)
            self._large.submit(self._append_large, run, said, asked, after, ticket)
        else:
            ticket = self._writer.append(run, lambda: self._draft(run, said, asked), after=after)
        ticket.asked = asked
        return ticket

    def piece(self, run: str, request: Ticket, part: Part, piece: seen.Piece) -> Ticket:
        """Keeps a piece of a stream, as `Scribe` says."""
        asked = request.asked or Asked()

        def redacted() -> Redacted:
            known = self._known(run)
            with known.lock:
                if isinstance(piece, seen.Head):
                    return known.drafter.head(piece, asked)
                return known.drafter.piece(piece, asked, upload=part == "upload")

        return self._writer.piece(run, request, part, redacted)

    def close_run(self, run: str, reason: CloseReason, *, exit_code: int | None = None) -> Ticket:
        """Ends a run, as `Scribe` says."""
        ticket = self._writer.close_run(run, reason, exit_code=exit_code)
        ticket.when_done(lambda _: self._forget(run))
        return ticket

    def checkpoint(self) -> Ticket:
        """Signs the log."""
        return self._writer.checkpoint()

    def note(self, in_force: Mapping[PolicyKind, str]) -> Ticket:
        """Notes in the log what has changed of the policies in force."""
        return policies.note(self._writer, in_force)

    def close(self) -> None:
        """Returns when all is on disk and signed; more is refused then."""
        self._large.shutdown()
        self._writer.close()

    def leave(self) -> None:
        """The same, and leaves the runs that are open for the next writer to end."""
        self._large.shutdown()
        self._writer.leave()

    def forget(self, ticket: Ticket) -> None:
        """Nothing more will belong to that request, as `Scribe` says: it is let go with its ticket."""

    def _known(self, run: str) -> _Run:
        known = self._runs.get(run)
        if known is None:
            raise InvalidEvent("the run was closed before its traffic ended")
        return known

    def _draft(self, run: str, sight: seen.Sight, asked: Asked) -> Draft:
        known = self._known(run)
        return known.drained(known.drafter.draft(sight, asked))

    def _append_large(self, run: str, sight: seen.Sight, asked: Asked, after: Ticket | None, ticket: Ticket) -> None:
        try:
            draft = self._draft(run, sight, asked)
        except Exception as error:  # noqa: BLE001  # somebody waits for the ticket
            ticket.settle(told(error))
        else:
            self._writer.append(run, draft, after=after, ticket=ticket)
            self._writer.hurry()  # whoever brought it waits

    def _forget(self, run: str) -> None:
        known = self._runs.pop(run, None)
        if known is not None:
            self._unlabelled += known.drafter.unlabelled

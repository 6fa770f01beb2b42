"""A scribe whose work is done in another process: what was seen goes there once, and what became of it comes back.

Rules kept here:
- A ticket is answered when the other process says that it is on disk.
- When that process ends before its time, everything that is not answered, and everything that follows, has failed as
  in a store that cannot be written. What it had said to be on disk is there; the next writer ends the runs.
"""

from collections.abc import Mapping
from pathlib import Path

from store.clerk import speech
from store.clerk.hiring import Hired, hire
from store.clerk.line import Line
from store.core.draft import Draft
from store.core.errors import EdgetapeError, StoreUnusable
from store.core.leaf import PolicyKind
from store.core.model import CloseReason
from store.core.redact import Redactor
from store.database import server
from store.drafting.scribe import WAITING_MAX, Part
from store.drafting.seen import Head, Piece, Sight
from store.identifier import new_run_id
from store.journal import Appended
from store.labels.own import NO_RULES, OwnRules
from store.ticket import Ticket

WAITING_BYTES_MAX = 16 << 20

_GONE = "the process that writes the recording has ended"
_GONE_HINT = "what it had written is kept; the next command that writes into this store ends the run"


class _Asked(Ticket):
    """A ticket that is answered from far away."""

    __slots__ = ("number", "size")

    def __init__(self, clerk: "Clerk", number: int) -> None:
        super().__init__(clerk.hurry)
        self.number = number
        self.size = 0


class Clerk:
    """Opened over a store; closed by whoever has opened it."""

    def __init__(self, hired: Hired) -> None:
        self.origin = ""
        self.unrecovered: Mapping[str, Exception] = {}
        self.unlabelled = 0
        self._hired = hired
        self._line = Line(hired.socket, self._heard, self._ended)
        self._tickets: dict[int, _Asked] = {}
        self._last = 0
        self._waiting_bytes = 0
        self._unsigned: EdgetapeError | None = None
        self._gone: EdgetapeError | None = None
        self._refused: EdgetapeError | None = None
        self._is_open = False
        self._is_closed = False

    @classmethod
    def open(cls, folder: Path, keys: Path, hired: Hired | None = None) -> "Clerk":
        """A clerk at the store in `folder`, which is made if there is none; `keys` is the folder of its keys.

        `hired` was started before. Raises StoreUnusable or KeyUnavailable.
        """
        clerk = cls(hired or hire())
        clerk._line.say(speech.Open(str(folder.absolute()), str(keys.absolute()), _server_of(folder)))
        clerk._line.finish(lambda: clerk._is_open or clerk._refused is not None)
        error = clerk._refused or clerk._gone
        if error is not None:
            clerk._line.close()
            clerk._hired.process.wait()
            raise error
        return clerk

    @property
    def signing_failure(self) -> EdgetapeError | None:
        """Why the log is not signed."""
        return self._unsigned if self._is_closed else self._gone or self._unsigned

    @property
    def is_behind(self) -> bool:
        """Whether more waits to be written than may be lost, or kept in memory."""
        return len(self._tickets) > WAITING_MAX or self._waiting_bytes > WAITING_BYTES_MAX

    @property
    def process_id(self) -> int:
        """That of the other process."""
        return self._hired.process.pid

    def hurry(self) -> None:
        """Somebody waits for what was asked for."""
        if self._gone is None:
            self._line.say(speech.HURRY)
            self._line.hurry()

    def open_run(self, draft: Draft, redactor: Redactor, own: OwnRules = NO_RULES) -> tuple[str, Ticket]:
        """Opens a run, as `Scribe` says."""
        run, ticket = new_run_id(), self._ticket()
        return run, self._ask(ticket, speech.OpenRun(ticket.number, run, speech.packed_run(draft, redactor, own)))

    def append(self, run: str, said: Draft | Sight, *, after: Ticket | None = None) -> Ticket:
        """Appends an event, as `Scribe` says."""
        ticket, number = self._ticket(), _number(after)
        if isinstance(said, Draft):
            return self._ask(ticket, speech.AppendDraft(ticket.number, run, number, speech.packed_draft(said)))
        return self._ask(ticket, speech.Append(ticket.number, run, number, said))

    def forget(self, ticket: Ticket) -> None:
        """Nothing more will belong to that request, or tunnel."""
        if self._gone is None:
            self._line.say(speech.Forget(_number(ticket)))

    def piece(self, run: str, request: Ticket, part: Part, piece: Piece) -> Ticket:
        """Keeps a piece of a stream, as `Scribe` says."""
        ticket, number = self._ticket(), _number(request)
        if isinstance(piece, Head):
            return self._ask(ticket, speech.Keep(ticket.number, run, number, part, head=piece))
        return self._ask(ticket, speech.Keep(ticket.number, run, number, part, piece))

    def close_run(self, run: str, reason: CloseReason, *, exit_code: int | None = None) -> Ticket:
        """Ends a run, as `Scribe` says."""
        ticket = self._ticket()
        return self._ask(ticket, speech.CloseRun(ticket.number, run, reason, exit_code))

    def checkpoint(self) -> Ticket:
        """Signs the log."""
        ticket = self._ticket()
        return self._ask(ticket, speech.Checkpoint(ticket.number))

    def note(self, in_force: Mapping[PolicyKind, str]) -> Ticket:
        """Notes in the log what has changed of the policies in force."""
        ticket = self._ticket()
        return self._ask(ticket, speech.Note(ticket.number, dict(in_force)))

    def close(self) -> None:
        """Returns when all is on disk and signed, and the process has ended; more is refused then."""
        if self._gone is None:
            self._line.say(speech.Close())
            self._line.finish(lambda: self._is_closed)
        self._line.close()
        self._hired.process.wait()
        if self._gone is None:
            self._fail(StoreUnusable("the writer is closed: nothing more is recorded"))

    def _ticket(self) -> _Asked:
        self._last += 1
        return _Asked(self, self._last)

    def _ask(self, ticket: _Asked, message: speech.Asked) -> Ticket:
        if self._gone is not None:
            ticket.settle(self._gone)
            return ticket
        ticket.size = self._line.say(message)
        self._waiting_bytes += ticket.size
        self._tickets[ticket.number] = ticket
        return ticket

    def _heard(self, told: speech.Told) -> None:
        match told:
            case speech.Settled(done, failed, unlabelled, unsigned):
                self.unlabelled = unlabelled
                self._unsigned = None if unsigned is None else unsigned.error
                for number, seq, hashed in done:
                    self._settle(number, None if seq < 0 else Appended(seq, hashed), None)
                for number, failure in failed:
                    self._settle(number, None, failure.error)
            case speech.Opened(origin, unrecovered, unsigned):
                self.origin = origin
                self.unrecovered = {run: failure.error for run, failure in unrecovered.items()}
                self._unsigned = None if unsigned is None else unsigned.error
                self._is_open = True
            case speech.Refused(failure):
                self._refused = failure.error
            case speech.Closed(unsigned):
                self._unsigned = None if unsigned is None else unsigned.error
                self._is_closed = True

    def _settle(self, number: int, placed: Appended | None, error: EdgetapeError | None) -> None:
        ticket = self._tickets.pop(number, None)
        if ticket is None:
            return
        self._waiting_bytes -= ticket.size
        ticket.placed = placed
        ticket.settle(error)

    def _ended(self) -> None:
        if not self._is_closed:
            self._fail(StoreUnusable(_GONE, hint=_GONE_HINT))

    def _fail(self, error: EdgetapeError) -> None:
        self._gone = error
        tickets, self._tickets = self._tickets, {}
        for ticket in tickets.values():
            ticket.settle(error)


def _server_of(folder: Path) -> tuple[str, str] | None:
    """Password of and way to the server that keeps a store, as this process knows them."""
    try:
        known = server.of(folder)
    except StoreUnusable:
        return None  # the clerk will find the same, and say so
    return None if known is None else (known.password, known.way)


def _number(ticket: Ticket | None) -> int:
    if ticket is None:
        return 0
    assert isinstance(ticket, _Asked)
    return ticket.number

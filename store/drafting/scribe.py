"""What a recorder speaks to: it says what was seen, and is told what is on disk.

There are two: a `Desk` drafts and writes in this process, a `store.clerk` in one of its own.
"""

from collections.abc import Mapping
from typing import Literal, Protocol

from store.core.draft import Draft
from store.core.errors import EdgetapeError
from store.core.leaf import PolicyKind
from store.core.model import CloseReason
from store.core.redact import Redactor
from store.drafting.seen import Piece, Sight
from store.labels.own import NO_RULES, OwnRules
from store.ticket import Ticket

type Part = Literal["upload", "head", "answer"]

WAITING_MAX = 256


class Scribe(Protocol):
    """Everything returns at once with a Ticket, and happens in the order in which it was asked for; what is large may
    come late: whoever brings it waits.
    """

    @property
    def origin(self) -> str:
        """The store's."""

    @property
    def signing_failure(self) -> EdgetapeError | None:
        """Why the log is not signed."""

    @property
    def unrecovered(self) -> Mapping[str, Exception]:
        """The runs whose recorders died and that cannot be ended, and why."""

    @property
    def unlabelled(self) -> int:
        """How many exchanges were not understood."""

    @property
    def is_behind(self) -> bool:
        """Whether more waits to be written than may be lost, or kept in memory."""

    def open_run(self, draft: Draft, redactor: Redactor, own: OwnRules = NO_RULES) -> tuple[str, Ticket]:
        """Opens a run: its id, and the ticket of event 0. `redactor` knows what it has taken out of `draft`, and is the
        run's from now on; `own` are the rules that classify.
        """

    def append(self, run: str, said: Draft | Sight, *, after: Ticket | None = None) -> Ticket:
        """Appends an event; `after` is the ticket of the request, or tunnel, that it belongs to."""

    def forget(self, ticket: Ticket) -> None:
        """Nothing more will belong to that request, or tunnel."""

    def piece(self, run: str, request: Ticket, part: Part, piece: Piece) -> Ticket:
        """Keeps a piece of a stream that is still open, until its outcome is appended; a Head goes before an answer."""

    def close_run(self, run: str, reason: CloseReason, *, exit_code: int | None = None) -> Ticket:
        """Ends a run; then a checkpoint."""

    def checkpoint(self) -> Ticket:
        """Signs the log."""

    def note(self, in_force: Mapping[PolicyKind, str]) -> Ticket:
        """Notes in the log what has changed of the policies in force."""

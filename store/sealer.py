"""Signs the log for a writer, between its transactions, and remembers why that could not be done."""

from datetime import UTC, datetime

from store import journal, sealing
from store.cadence import Cadence
from store.commit import Apply, Work
from store.core.errors import EdgetapeError
from store.core.event import timestamp
from store.database.connection import Connection
from store.keys import Signer
from store.ticket import Ticket


class Sealer:
    """`failure` is why the log is not signed."""

    def __init__(self, signer: Signer, cadence: Cadence) -> None:
        self.failure: EdgetapeError | None = None
        self._signer = signer
        self._cadence = cadence

    def heads(self) -> Apply:
        """Notes the head of every run that has grown, before the log is signed."""
        return _apply_heads

    def sign(self, connection: Connection) -> None:
        """Signs the log. Raises KeyUnavailable."""
        sealing.sign(connection, self._signer)
        self._cadence.sealed()
        self.failure = None  # what could not be signed before is signed now

    def remembered(self, ticket: Ticket) -> Ticket:
        """The ticket of a checkpoint that nobody may be waiting for."""

        def remember(error: Exception | None) -> None:
            if isinstance(error, EdgetapeError):
                self.failure = error

        ticket.when_done(remember)
        return ticket

    def due(self) -> Work:
        """The checkpoint that nobody asked for; none is made over a log that is signed already."""

        def sign_if_grown(connection: Connection) -> None:
            if sealing.is_sealed(connection):
                self._cadence.sealed()
            else:
                self.sign(connection)

        self._cadence.begun()
        work = Work(self.heads, sign_if_grown)
        self.remembered(work.ticket)
        return work


def _apply_heads(connection: Connection) -> None:
    journal.note_heads(connection, timestamp(datetime.now(UTC)))

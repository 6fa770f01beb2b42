"""One request of a live mode on its way: what leaves, and the one outcome that it gets."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from replay_server.answer import Arrived
from replay_server.findings import Gone
from replay_server.ledger import Ledger
from store.core.form import Asked, Endpoint
from store.core.model import ErrorKind
from store.labels.dialect import RequestLabels
from store.labels.own import OwnRules
from store.labels.wire import Response
from store.ticket import Ticket


@dataclass(slots=True)
class Outing:
    """A request for `place`, and as it is `sent`: elsewhere, where a fake plays the server.

    The first outcome that it is told counts; later ones are passed over.
    """

    place: Endpoint
    sent: Asked
    ticket: Ticket
    labels: RequestLabels
    own: OwnRules
    ledger: Ledger
    gone: Gone
    hear: Callable[[Iterable[bytes]], None]
    recorded: Ticket | None = None

    def answered(self, arrived: Arrived) -> Ticket:
        """An answer has come, whole or not."""
        if self.recorded is None:
            self.recorded, told = self.ledger.arrived(self.ticket, arrived, self.labels, self.place, self.own)
            self.gone.status, self.gone.receipt = arrived.answer.status, told.receipt
            self.gone.tools = told.tools
            answer = arrived.answer
            content = Response(answer.status, answer.headers, answer.body).content
            self.hear([content, *(value for _, value in answer.headers)])
        return self.recorded

    def failed(self, kind: ErrorKind, detail: str, total_us: int) -> Ticket:
        """No answer has come."""
        if self.recorded is None:
            self.gone.failure = detail
            self.recorded = self.ledger.unreached(self.ticket, kind, detail, total_us)
        return self.recorded

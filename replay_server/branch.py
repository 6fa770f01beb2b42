"""A fork's part of a session: carries out what `fork` chooses, and keeps what came of it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from replay_server.answer import Live, Recorded, Reply
from replay_server.departures import Json, withheld_document
from replay_server.findings import Forked, Gone, Withheld
from replay_server.fork import Fork, idempotency_key
from replay_server.labels import labels
from replay_server.leak import carries
from replay_server.ledger import Ledger
from replay_server.live import Outing
from replay_server.match import Match
from replay_server.normalise import Told, told
from replay_server.problem import problem
from replay_server.registry import Deed, Ruling
from replay_server.standins import StandIns
from replay_server.tape import Tape
from store.core.form import Asked, Endpoint, Form, first
from store.core.redact import Redactor
from store.labels.dialect import RequestLabels

_KEY = b"Idempotency-Key"
_STANDS_IN = "it holds a stand-in for a secret that is not here: set the credential in the environment"
BLANK = Recorded(200, b"", ((b"Content-Type", b"application/json"),), "length", "complete")


type Hear = Callable[[Iterable[bytes]], None]


@dataclass(slots=True)
class Branch:
    """The branch of one session. `answer` is given at the fork's step, unless that goes live; `hear` is told what came
    from no recording; `kept_back` must not leave.
    """

    fork: Fork
    tape: Tape
    ledger: Ledger
    redactor: Redactor
    standins: StandIns
    hear: Hear
    answer: Recorded
    kept_back: Sequence[str] = ()
    found: Forked = field(init=False)

    def __post_init__(self) -> None:
        self.found = Forked(self.tape.step(self.fork.at), self.fork.injection.words() or "asked anew")

    def ask(self, match: Match, form: Form, raw: Asked, said: Told, live: Live) -> Reply | Outing | None:
        """What becomes of a request; None: what a replay does."""
        place = said.endpoint._replace(**_server(form.endpoint))
        said = replace(said, endpoint=place)
        moved = replace(raw, endpoint=raw.endpoint._replace(**_server(form.endpoint)))
        asked_for = labels(replace(said.asked, endpoint=place))
        deed = Deed.of(place, asked_for)
        choice = self.fork.choose(match, deed)
        self.found.reached = self.fork.has_forked
        match choice.course:
            case "inject":
                self.hear([self.answer.body])
                return None
            case "live":
                assert choice.ruling is not None
                why = self._unfit(moved)
                if why:
                    return self._withheld(said, live, "", why, asked_for)
                return self._outing(moved, live, asked_for, choice.ruling)
            case "refuse":
                return self._withheld(said, live, self.fork.registry.allowing(deed), choice.why, asked_for)
        self.found.stubbed += self.fork.has_forked
        return None

    def injects_at(self, index: int) -> bool:
        """Whether a recorded exchange is the one that is answered otherwise."""
        return index == self.fork.at and not self.fork.is_step_live

    def _outing(self, moved: Asked, live: Live, asked_for: RequestLabels, ruling: Ruling) -> Outing:
        key = None
        step = self.ledger.steps + 1
        if ruling.effect != "read":
            key = first(moved.headers, _KEY.lower()).decode("latin-1") or None
            if key is None:
                key = idempotency_key(self.tape.run.id, step, moved.body)
                moved = replace(moved, headers=(*moved.headers, (_KEY, key.encode())))
        said = told(moved, self.redactor)
        ticket = self.ledger.request(said, live.version, None, replace(asked_for, idempotency_key=key))
        gone = Gone(step, moved.endpoint.place, ruling.effect, key)
        self.found.live.append(gone)
        return Outing(moved, ticket, asked_for, self.ledger, gone, self.hear)

    def _withheld(self, said: Told, live: Live, rule: str, why: str, asked_for: RequestLabels) -> Reply:
        ticket = self.ledger.request(said, live.version, None, asked_for)
        held = Withheld(self.ledger.steps, said.endpoint.place, why, rule)
        self.found.withheld.append(held)
        sentence = f"{held.place} was not let out: {why}" + (f"; to allow it: --allow '{rule}'" if rule else "")
        found: dict[str, Json] = withheld_document(held)
        return self.ledger.reply(ticket, problem("withheld", sentence, found), live)

    def _unfit(self, moved: Asked) -> str:
        if any(name.lower() == b"upgrade" for name, _ in moved.headers):
            return "it asks for another protocol, which a fork does not speak with real servers"
        standins = {*self.standins.made, *(value.encode("utf-8", "surrogateescape") for value in self.kept_back)}
        return _STANDS_IN if carries(moved, standins) else ""


def _server(place: Endpoint) -> dict[str, Any]:
    """Whom a request is for: its path stays as it was sent."""
    return {"scheme": place.scheme, "host": place.host, "port": place.port}

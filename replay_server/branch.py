"""A live mode's part of a session: carries out what its venture chooses, and keeps what came of it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from replay_server.answer import Live, Recorded, Reply
from replay_server.departures import Json, withheld_document
from replay_server.findings import Forked, Gone, Withheld
from replay_server.labels import labels
from replay_server.leak import carries
from replay_server.ledger import Ledger
from replay_server.live import Outing
from replay_server.local import is_loopback
from replay_server.match import Match, Tier
from replay_server.normalise import Told, told
from replay_server.problem import over_http, problem
from replay_server.registry import Deed, Ruling
from replay_server.sockets.spot import Spot
from replay_server.standins import StandIns
from replay_server.tape import Tape
from replay_server.ventures.choice import Venture
from replay_server.ventures.fork import idempotency_key
from store.core.form import Asked, Endpoint, Form, first
from store.core.redact import Redactor
from store.labels.dialect import RequestLabels
from store.labels.own import NO_RULES, OwnRules

_KEY = b"Idempotency-Key"
STANDS_IN = "it holds a stand-in for a secret that is not here: set the credential in the environment"
BLANK = Recorded(200, b"", ((b"Content-Type", b"application/json"),), "length", "complete")


@dataclass(frozen=True, slots=True)
class Start:
    """How a live mode begins: what decides, the answer that a fork gives at its step, which is `step`, in words `said`;
    `spot` where that is said on a WebSocket.

    `kept_back` must not leave; `own` are the operator's rules for what a request is; with `children_live` child runs go
    on as the mode's rules allow. `seq` is the event that the new run leaves the recording at.
    """

    venture: Venture
    seq: int
    answer: Recorded = BLANK
    step: int | None = None
    said: str = ""
    spot: Spot | None = None
    kept_back: Sequence[str] = ()
    children_live: bool = False
    own: OwnRules = NO_RULES


type Hear = Callable[[Iterable[bytes]], None]


@dataclass(slots=True)
class Branch:
    """The branch of one session. `hear` is told what came from no recording."""

    start: Start
    tape: Tape
    redactor: Redactor
    standins: StandIns
    hear: Hear
    found: Forked

    @classmethod
    def of(cls, start: Start, tape: Tape, redactor: Redactor, standins: StandIns, hear: Hear) -> "Branch":
        """A branch that nothing has come of yet."""
        found = Forked(start.step, start.said, mode=start.venture.mode)
        return cls(start, tape, redactor, standins, hear, found)

    @property
    def venture(self) -> Venture:
        """What decides."""
        return self.start.venture

    def reach(self) -> None:
        """What a fork says on a WebSocket was said."""
        self.venture.reach()
        self.found.reached = True
        self.hear([self.start.answer.body])

    def ask(
        self, match: Match, form: Form, raw: Asked, said: Told, live: Live, ledger: Ledger, *, is_child: bool = False
    ) -> Reply | Outing | Match:
        """What becomes of a request; a match: what a replay does with that one."""
        place = said.endpoint._replace(**_server(form.endpoint))
        said = said.at(place)
        moved = msgspec.structs.replace(raw, endpoint=raw.endpoint._replace(**_server(form.endpoint)))
        asked_for = labels(msgspec.structs.replace(said.asked, endpoint=place), self.start.own)
        to_model = live.opens_socket and self.venture.registry.knows_model(place.host, place.port)
        if to_model:
            asked_for = replace(asked_for, kind="llm", boundary="decision", effect="read")
        deed = Deed.of(place, asked_for)
        by_record = is_child and not self.start.children_live
        choice = self.venture.choose_for_child(match) if by_record else self.venture.choose(match, deed)
        self.found.reached = self.venture.has_left
        match choice.course:
            case "inject":
                self.hear([self.start.answer.body])
                return match
            case "live":
                assert choice.ruling is not None
                if to_model:
                    return self._over_http(said, live, ledger, asked_for)
                changed = self.venture.changed(moved)
                why = self._unfit(changed)
                if why:
                    return self._withheld(said, live, ledger, "", why, asked_for)
                return self._outing(changed, live, ledger, choice.ruling, said.run if is_child else "")
            case "refuse":
                rule = "" if by_record else self.venture.registry.allowing(deed)
                return self._withheld(said, live, ledger, rule, choice.why, asked_for)
            case "leave":
                return msgspec.structs.replace(match, tier=Tier.EXHAUSTED if match.again else Tier.UNEXPECTED)
        self.found.stubbed += self.venture.has_left
        return match

    def _outing(self, moved: Asked, live: Live, ledger: Ledger, ruling: Ruling, child: str) -> Outing:
        key = None
        step = ledger.steps + 1
        if ruling.effect != "read":
            key = first(moved.headers, _KEY.lower()).decode("latin-1") or None
            if key is None and self.venture.adds_keys:
                key = idempotency_key(f"{self.tape.run.id}{child}", step, moved.body)
                moved = msgspec.structs.replace(moved, headers=(*moved.headers, (_KEY, key.encode())))
        said = told(moved, self.redactor)
        asked_for = replace(labels(said.asked, self.start.own), idempotency_key=key)
        ticket = ledger.request(said, live.version, None, asked_for)
        place = moved.endpoint.place + (f" (child run {child})" if child else "")
        gone = Gone(step, place, ruling.effect, key)
        self.found.live.append(gone)
        target = self.venture.target(moved.endpoint)
        sent = moved if target is None else msgspec.structs.replace(moved, endpoint=target)
        return Outing(moved.endpoint, sent, ticket, asked_for, self.start.own, ledger, gone, self.hear)

    def _withheld(self, said: Told, live: Live, ledger: Ledger, rule: str, why: str, asked_for: RequestLabels) -> Reply:
        ticket = ledger.request(said, live.version, None, asked_for)
        held = Withheld(ledger.steps, said.endpoint.place, why, rule)
        self.found.withheld.append(held)
        sentence = f"{held.place} was not let out: {why}" + (f"; to allow it: --allow '{rule}'" if rule else "")
        found: dict[str, Json] = withheld_document(held)
        return ledger.reply(ticket, problem("withheld", sentence, found), live)

    def _over_http(self, said: Told, live: Live, ledger: Ledger, asked_for: RequestLabels) -> Reply:
        """Tells who wants a WebSocket to a model to ask over HTTP, which can go live."""
        ticket = ledger.request(said, live.version, None, asked_for)
        self.found.sockets += 1
        place = said.endpoint.place
        sentence = f"{place} is a WebSocket to a model, and models are asked over HTTP"
        return ledger.reply(ticket, over_http(sentence, {"step": ledger.steps, "request": place}), live)

    def _unfit(self, moved: Asked) -> str:
        if any(name.lower() == b"upgrade" for name, _ in moved.headers):
            return "it asks for another protocol, which a live mode does not speak with real servers"
        target = self.venture.target(moved.endpoint)
        if target is not None and is_loopback(target.host):
            return ""  # a fake of this machine: whatever stands for a secret is safe there
        standins = {*self.standins.made, *(value.encode("utf-8", "surrogateescape") for value in self.start.kept_back)}
        return STANDS_IN if carries(moved, standins) else ""


def _server(place: Endpoint) -> dict[str, Any]:
    """Whom a request is for: its path stays as it was sent."""
    return {"scheme": place.scheme, "host": place.host, "port": place.port}

"""What a replay does about a call to the control endpoint: answers it from the recording and counts what differs."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from replay_server.answer import Recorded
from replay_server.findings import Withheld
from replay_server.handover import Handover, On
from replay_server.ledger import Ledger
from replay_server.objection import Objections, told
from replay_server.recollection import Recalled, Recollection, kind_of, page, place_of
from replay_server.stdio import Stdio, place
from replay_server.wording import drift_lines
from store.core import rpc
from store.core.control import calls
from store.core.control.calls import Noted, Passed, Said, Spawned, Wanted
from store.core.form import Asked
from store.core.redact import Content, Redactor, stored
from store.core.rpc import Message
from store.fresh import fresh
from store.reader import BodyUnavailable


@dataclass(slots=True)
class Control:
    """One replay's control endpoint. `goes_on` says that the agent has left the recording for good: then what it notes
    is noted, and values that were not recorded are made; with `spawns` child runs too. `handover` passes messages
    on to tool servers.
    """

    recollection: Recollection
    stdio: Stdio
    redactor: Redactor
    objections: Objections
    goes_on: Callable[[], bool] = lambda: False
    spawns: bool = False
    handover: Handover | None = None
    _spawned: int = 0

    def answer(self, raw: Asked, ledger: Ledger) -> Recorded:
        """Answers a request to the endpoint; `ledger` is that of the run that asks."""
        place = raw.endpoint
        path, query = place.path.decode("latin-1"), raw.query.decode("latin-1")
        call = calls.call(place.method, path, query, raw.headers, raw.body)
        if isinstance(call, Said):
            return page(call)
        if isinstance(call, Passed):
            return self._passed(call, ledger)
        self.objections.findings.requests += 1
        if self.objections.stopped.is_set():
            return self.objections.after_stop()
        if isinstance(call, Noted):
            body = self.redactor.body(call.content, Content(b"application/json"))
            ledger.note(call.kind, body)
            call = Noted(call.kind, body.content)
            if self.goes_on():
                return page(Said(201, calls.noted(call.kind)))
        try:
            recalled = self.recollection.recall(call)
        except BodyUnavailable as error:
            reason = f"what was recorded cannot be served: {error}"
            return self.objections.unserved(place_of(kind_of(call)), None, reason)
        return self._told(call, recalled, ledger)

    def never_asked(self) -> list[tuple[int, str]]:
        """What was recorded of all this and not asked for: step, and what it is."""
        return self.recollection.never_asked() + self.stdio.never_asked()

    def _passed(self, call: Passed, ledger: Ledger) -> Recorded:
        live = rpc.message(call.message)
        findings = self.objections.findings
        findings.requests += live.is_request
        if self.objections.stopped.is_set():
            findings.after_stop += live.is_request
            return _lines(live, "edgetape has stopped this run: it left the recording")
        body = self.redactor.body(call.message, Content(b"application/json"))
        ledger.rpc(call, live, body)
        redacted = replace(call, message=body.content)
        went = self._handed_over(call, live, redacted, ledger.steps)
        if went is not None:
            return went
        answered = self.stdio.answer(redacted)
        if not answered.wanted:
            return _said(answered.lines)
        where = place(call.server, live)
        if answered.line is None:
            self.objections.missed(where, answered.last, again=answered.last is not None)
            return _lines(live, f"edgetape replay: {where} is not in the recording")
        if answered.changes and self.goes_on():
            self.objections.missed(where, None, again=False)
            return _lines(live, f"edgetape: {where} has no equal in the recording, and is not started")
        if answered.changes:
            step, seq = answered.line.step, answered.line.happening.event.seq
            cause = self.objections.drifted(step, seq, where, answered.changes)
            if cause is not None:
                return _lines(live, "\n".join(drift_lines(cause)))
        else:
            findings.matched += 1
        for line in answered.lines:
            ledger.rpc(Passed(call.server, "to_client", line), rpc.message(line), stored(line))
        return _said(answered.lines)

    def _handed_over(self, call: Passed, live: Message, redacted: Passed, step: int) -> Recorded | None:
        """What becomes of a message in a live mode; None: what a replay does."""
        if self.handover is None:
            return None
        went: On | Withheld | None = self.handover.heard(call, live)
        if went is None and call.direction == "to_server" and live.is_request:
            tier, done = self.stdio.foresee(redacted)
            went = self.handover.ask(call, live, tier, step, done=done)
        match went:
            case On(before):
                return page(Said(201, calls.forwarded(before)))
            case Withheld(place=where, why=why, rule=rule):
                to_allow = f"; to allow it: --allow '{rule}'" if rule else ""
                return _lines(live, f"edgetape: {where} was not let out: {why}{to_allow}")
        return None

    def _told(self, call: Wanted | Noted | Spawned, recalled: Recalled, ledger: Ledger) -> Recorded:
        kind = kind_of(call)
        if isinstance(call, Wanted) and self.goes_on() and (recalled.answer is None or recalled.changes):
            recalled = Recalled(page(Said(200, fresh(call))))
        if isinstance(call, Spawned) and self.spawns and self.goes_on() and recalled.answer is None:
            self._spawned += 1
            return page(Said(201, calls.spawned(call.name or f"child-{self._spawned}", call.name)))
        if recalled.answer is None:
            return self.objections.missed(place_of(kind), recalled.last, again=recalled.last is not None)
        if isinstance(call, Wanted):
            ledger.value(call.kind, recalled.answer.body)
        if not recalled.changes:
            self.objections.findings.matched += 1
            return recalled.answer
        cause = self.objections.drifted(recalled.step or 0, recalled.seq, place_of(kind), recalled.changes)
        return recalled.answer if cause is None else told(cause)


def _lines(live: Message, sentence: str) -> Recorded:
    """A failure as the tool server would tell it, where one is waited for."""
    return _said((rpc.failure(live.id, sentence),) if live.is_request else ())


def _said(lines: tuple[bytes, ...]) -> Recorded:
    return page(Said(200, calls.recalled(lines)))

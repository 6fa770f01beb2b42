"""What a replay does about a call to the control endpoint: answers it from the recording and counts what differs."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from replay_server.answer import Recorded
from replay_server.findings import Drifted, Findings, Missed
from replay_server.ledger import Ledger
from replay_server.match import Tier
from replay_server.modes import Policy
from replay_server.problem import Name, problem
from replay_server.recollection import Recalled, Recollection, kind_of, page, place_of
from replay_server.report import drift_document, missed_document
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
    """One replay's control endpoint. `stopped` is set by the drift that ends the replay; `goes_on` says that the agent
    has left the recording for good: then what it notes is noted, and values that were not recorded are made.
    """

    recollection: Recollection
    stdio: Stdio
    ledger: Ledger
    redactor: Redactor
    findings: Findings
    policy: Policy
    stopped: asyncio.Event
    goes_on: Callable[[], bool] = lambda: False

    def answer(self, raw: Asked) -> Recorded:
        """Answers a request to the endpoint."""
        place = raw.endpoint
        path, query = place.path.decode("latin-1"), raw.query.decode("latin-1")
        call = calls.call(place.method, path, query, raw.headers, raw.body)
        if isinstance(call, Said):
            return page(call)
        if isinstance(call, Passed):
            return self._passed(call)
        self.findings.requests += 1
        if self.stopped.is_set():
            self.findings.after_stop += 1
            return self._drifted(self.findings.drifts[-1])
        if isinstance(call, Noted):
            body = self.redactor.body(call.content, Content(b"application/json"))
            self.ledger.note(call.kind, body)
            call = Noted(call.kind, body.content)
            if self.goes_on():
                return page(Said(201, calls.noted(call.kind)))
        try:
            recalled = self.recollection.recall(call)
        except BodyUnavailable as error:
            return self._unserved(kind_of(call), f"what was recorded cannot be served: {error}")
        return self._told(call, recalled)

    def never_asked(self) -> list[tuple[int, str]]:
        """What was recorded of all this and not asked for: step, and what it is."""
        return self.recollection.never_asked() + self.stdio.never_asked()

    def _passed(self, call: Passed) -> Recorded:
        live = rpc.message(call.message)
        self.findings.requests += live.is_request
        if self.stopped.is_set():
            self.findings.after_stop += live.is_request
            return _lines(live, "the replay was stopped by a drift")
        body = self.redactor.body(call.message, Content(b"application/json"))
        self.ledger.rpc(call, live, body)
        answered = self.stdio.answer(replace(call, message=body.content))
        if not answered.wanted:
            return _said(answered.lines)
        where = place(call.server, live)
        if answered.line is None:
            self._missing(where, answered.last)
            return _lines(live, f"edgetape replay: {where} is not in the recording")
        if answered.changes and self.goes_on():
            self._missing(where, None)
            return _lines(live, f"edgetape fork: {where} has no equal in the recording, and is not started")
        if answered.changes:
            step, seq = answered.line.step, answered.line.happening.event.seq
            cause = self.findings.drift(step, seq, where, list(answered.changes), "")
            if self.policy.act(Tier.DRIFTED) != "serve":
                self.findings.stopped_at = step
                self.stopped.set()
                return _lines(live, "\n".join(drift_lines(cause)))
        else:
            self.findings.matched += 1
        for line in answered.lines:
            self.ledger.rpc(Passed(call.server, "to_client", line), rpc.message(line), stored(line))
        return _said(answered.lines)

    def _told(self, call: Wanted | Noted | Spawned, recalled: Recalled) -> Recorded:
        kind = kind_of(call)
        if isinstance(call, Wanted) and self.goes_on() and (recalled.answer is None or recalled.changes):
            recalled = Recalled(page(Said(200, fresh(call))))
        if recalled.answer is None:
            return self._missed(kind, recalled.last)
        if isinstance(call, Wanted):
            self.ledger.value(call.kind, recalled.answer.body)
        if not recalled.changes:
            self.findings.matched += 1
            return recalled.answer
        step = recalled.step or 0
        cause = self.findings.drift(step, recalled.seq, place_of(kind), list(recalled.changes), "")
        if self.policy.act(Tier.DRIFTED) == "serve":
            return recalled.answer
        self.findings.stopped_at = step
        self.stopped.set()
        return self._drifted(cause)

    def _drifted(self, cause: Drifted) -> Recorded:
        return problem("drifted", "\n".join(drift_lines(cause)), drift_document(cause))

    def _missing(self, where: str, last: int | None) -> Missed:
        detail = "" if last is None else f"the recording answered it last at step {last}"
        missed = Missed(where, self.findings.requests, last, detail)
        (self.findings.unexpected if last is None else self.findings.exhausted).append(missed)
        return missed

    def _missed(self, kind: str, last: int | None) -> Recorded:
        name: Name = "unexpected" if last is None else "exhausted"
        missed = self._missing(place_of(kind), last)
        said = "is not in the recording" if last is None else "was asked for more often than recorded"
        return problem(
            name, f"{missed.place} {said}" + (f"; {missed.detail}" if missed.detail else ""), missed_document(missed)
        )

    def _unserved(self, kind: str, reason: str) -> Recorded:
        missed = Missed(place_of(kind), self.findings.requests, None, reason)
        self.findings.unserved.append(missed)
        return problem("unserved", reason, missed_document(missed))


def _lines(live: Message, sentence: str) -> Recorded:
    """A failure as the tool server would tell it, where one is waited for."""
    return _said((rpc.failure(live.id, sentence),) if live.is_request else ())


def _said(lines: tuple[bytes, ...]) -> Recorded:
    return page(Said(200, calls.recalled(lines)))

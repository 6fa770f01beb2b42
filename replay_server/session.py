"""One run being replayed by one agent: decides each request, keeps the findings, writes the replay's own run."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import msgspec

from replay_server import drift, patience
from replay_server.answer import Live, Recorded, Reply, build, failure
from replay_server.branch import Branch, Start
from replay_server.control import Control
from replay_server.dependence import Dependences
from replay_server.echoes import Echoes, answer_ids, request_fields
from replay_server.expectation import Expectations
from replay_server.findings import Findings, Reordered
from replay_server.grouping import Groups
from replay_server.handover import Handover
from replay_server.kin import Kin
from replay_server.ledger import Ledger
from replay_server.live import Outing
from replay_server.match import Match, Matcher, Tier
from replay_server.modes import Policy
from replay_server.normalise import Told, told
from replay_server.objection import Objections
from replay_server.objection import told as told_of
from replay_server.order import Order
from replay_server.provenance import Provenance
from replay_server.recollection import Recollection
from replay_server.route import named
from replay_server.search import Search
from replay_server.sockets.dialogue import Dialogue, Setting
from replay_server.sockets.opening import Sockets
from replay_server.standins import StandIns
from replay_server.stdio import Stdio
from replay_server.tape import CONNECT, Refusal, Tape
from replay_server.transcript import Transcript
from replay_server.turns import Turns
from replay_server.wording import TUNNELLED, headline
from store.core.control.calls import is_ours
from store.core.form import Asked, Form
from store.core.model import HttpRequest
from store.core.redact import Redactor
from store.labels.classify import response_labels
from store.ticket import Ticket

_NOTHING = Recorded(204, b"No Content", (), "none", "complete")


class _Ask(msgspec.Struct, frozen=True):
    """A live request as it is matched, answered and recorded."""

    form: Form
    asked: Asked
    live: Live
    ticket: Ticket
    ledger: Ledger


@dataclass(slots=True)
class Session:
    """Two sessions never share anything that moves. `stopped` is set by what ends the replay early.

    With a `start` it is one of a live mode.
    """

    tape: Tape
    ledger: Ledger
    redactor: Redactor
    policy: Policy
    order: Order = "causal"
    use_map: bool = True
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    start: Start | None = None
    findings: Findings = field(init=False)
    expectations: Expectations = field(init=False)
    _objections: Objections = field(init=False)
    _groups: Groups = field(init=False)
    _search: Search = field(init=False)
    _matcher: Matcher = field(init=False)
    _standins: StandIns = field(init=False)
    _turns: Turns = field(init=False)
    _control: Control = field(init=False)
    _sockets: Sockets = field(init=False)
    _branch: Branch | None = None

    def __post_init__(self) -> None:
        self.findings = Findings(len(self.tape.exchanges))
        ends_on_miss = self.start is not None and self.start.venture.ends_on_miss
        self._objections = Objections(self.findings, self.policy, self.stopped, ends_on_miss)
        transcript, self._groups = Transcript(self.tape), Groups.of(self.tape)
        kin = Kin(self.tape.run.id, self.ledger.run, self.tape.names)
        provenance = Provenance(transcript.said, transcript.inputs()) if self.use_map else None
        self._matcher = Matcher(self._groups.each, self.tape.form, provenance)
        self.expectations = Expectations(self.tape, self._matcher, goes_live=self.start is not None)
        self._search = Search(self.tape, kin, self._groups, self._matcher, self.findings)
        self._turns = Turns(self.order, self._matcher, Dependences(self._matcher.lanes, transcript.spoken))
        self._standins = StandIns(self.tape.run.id, self.redactor, self._matcher.secrets)
        recollection = Recollection(self.tape.happenings, self.tape.told)
        stdio = Stdio(self.tape.happenings, self.tape.told, self.tape.rules)
        self._control = Control(recollection, stdio, self.redactor, self._objections)
        spoken = (self.tape, self.ledger, self.redactor, self._matcher, self._standins, self._objections)
        self._sockets = Sockets(Setting(*spoken, lambda: self._has_left))
        if self.start is not None:
            hear = provenance.hear if provenance is not None else lambda _: None
            self._branch = Branch.of(self.start, self.tape, self.redactor, self._standins, hear)
            self._sockets.setting = replace(self._sockets.setting, spot=self.start.spot, reach=self._branch.reach)
            self.findings.fork = self._branch.found
            self._control.goes_on = lambda: self._has_left
            self._control.spawns = self.start.children_live
            self._control.handover = Handover(self.start, self._standins, self._branch.found)

    def ask(self, raw: Asked, live: Live, *, placed: bool, ledger: Ledger | None = None) -> Reply | Outing | Dialogue:
        """Answers one request, or says what is to go out. `placed` says that it named whom it is for itself; `ledger`
        is that of the run that asks, where it is a child.
        """
        ledger = ledger or self.ledger
        if is_ours(raw.endpoint.host):
            return Reply(build(self._control.answer(raw, ledger), live), lambda _: None)
        self.findings.requests += 1
        said = told(raw, self.redactor)
        if self.stopped.is_set():
            return ledger.reply(ledger.request(said, live.version, None), self._objections.after_stop(), live)
        with self.tape.moment():
            return self._found(said, raw, live, ledger, placed=placed)

    def _found(self, said: Told, raw: Asked, live: Live, ledger: Ledger, *, placed: bool) -> Reply | Outing | Dialogue:
        form, match, is_child = self._search.find(said, placed=placed)
        if self._branch is not None:
            went = self._branch.ask(match, form, raw, said, live, ledger, is_child=is_child)
            if not isinstance(went, Match):
                return went
            match = went
        elsewhere = None if match.index is None else self.tape.asked_at(match.index)
        ticket = ledger.request(said.at(form.endpoint), live.version, self._like(match.index), elsewhere=elsewhere)
        ask = _Ask(form, said.asked, live, ticket, ledger)
        if match.tier in (Tier.SAME, Tier.MAPPED) and match.index is not None:
            self._standins.pair(self.tape.headers(match.index), ask.asked.headers)
        lost = None if match.tier.fits else self.tape.lost(form.endpoint, self._matcher.served)
        if lost is not None:
            self._matcher.take(lost, form)
            return self._unserved(lost, self.tape.gone[lost], ask)
        match match.tier:
            case Tier.DRIFTED:
                return self._drifted(match, ask)
            case Tier.EXHAUSTED if match.again and match.index is not None and self.policy.repeat_last:
                self.findings.repeated += 1
                return self._give(match.index, match.tier, ask)
            case Tier.EXHAUSTED | Tier.UNEXPECTED:
                return self._missed(match, ask)
        return self._served(match, ask)

    def connects(self, host: str, port: int) -> bool:
        """Whether a CONNECT succeeds: not if the next that the recording has of that server is one that failed."""
        index = self.tape.failed_connect(host, port, self._matcher.served)
        if index is None or self.stopped.is_set() or (self._branch and self._branch.venture.dials(host, port)):
            return True
        form = Form(self.tape.endpoints[index], {})
        rule = self._groups.each[index][1]
        self.findings.requests += 1
        if rule:
            self.findings.optional += 1
            self.findings.allowed[rule] += 1
        else:
            self.findings.matched += 1
            self._check_order(index)
        self._matcher.take(index, form)
        outcome = self.tape.outcome(index)
        said = told(Asked(form.endpoint), self.redactor)
        ticket = self.ledger.request(said, Live(CONNECT).version, self._like(index))
        self.ledger.error(ticket, outcome if isinstance(outcome, str) else "connect")
        return False

    def finish(self) -> Findings:
        """The findings of the whole replay, what was never requested included."""
        if self.findings.fork is not None:
            self.findings.fork.missing_children = self._search.kin.unpaired
        if not self.stopped.is_set() and not self._has_left and not self.findings.stopped_by_hand:
            asked = [(self.tape.step(index), self.tape.place(index)) for index in self._matcher.never_requested()]
            left = self._sockets.never_said() + self._control.never_asked()
            self.findings.never_requested = sorted(asked + left)
            self.findings.settle()
        return self.findings

    def fail(self, sentence: str) -> Recorded:
        """Files a failure of our own, and gives what the agent is told."""
        return self._objections.failed(sentence)

    @property
    def _has_left(self) -> bool:
        return self._branch is not None and self._branch.venture.has_left

    def _served(self, match: Match, ask: _Ask) -> Reply | Dialogue:
        match match.tier:
            case Tier.OPTIONAL:
                self.findings.optional += 1
            case Tier.MAPPED:
                self.findings.mapped += 1
            case _:
                self.findings.matched += 1
        if match.index is None:
            return self._reply(ask, _NOTHING)
        if match.tier is not Tier.OPTIONAL and not self._has_left:
            self._check_order(match.index)
        return self._serve(match.index, match.tier, ask)

    def _serve(self, index: int, tier: Tier, ask: _Ask) -> Reply | Dialogue:
        self.findings.map(self.tape.step(index), self._matcher.take(index, ask.form, tier))
        return self._give(index, tier, ask)

    def _give(self, index: int, tier: Tier, ask: _Ask) -> Reply | Dialogue:
        injects = self._branch is not None and self._branch.venture.injects_at(index)
        outcome = self._branch.start.answer if self._branch is not None and injects else self.tape.outcome(index)
        match outcome:
            case Refusal(reason):
                return self._unserved(index, reason, ask)
            case Recorded(status=101) if not injects:
                expected = tier is not Tier.OPTIONAL
                opened = self._sockets.open(
                    index, outcome, ask.form, ask.live, ask.ticket, ask.ledger, expected=expected
                )
                return opened if isinstance(opened, Dialogue) else self._unserved(index, opened, ask)
            case Recorded():
                self.findings.local_tools.update(self.tape.tools(index, outcome))
                if self.policy.no_wait and (at_once := patience.at_once(outcome)) is not outcome:
                    outcome = at_once
                    self.findings.hurried.append(self.tape.step(index))
                echoes = self._echoes(index, tier, ask)

                def foreign(answer: Recorded) -> Reply:
                    served, kept = self._standins.reveal(answer)
                    kept = ask.ledger.redacted(echoes.put(kept))
                    found = response_labels(self.tape.labelled(index), kept.status, kept.headers, kept.body)
                    return ask.ledger.reply(ask.ticket, echoes.put(served), ask.live, kept, found)

                if injects:
                    return foreign(outcome)
                served, kept = self._standins.reveal(outcome)
                like = self.tape.exchanges[index].response
                at = self.tape.answered_at(index)
                reply = ask.ledger.reply(ask.ticket, echoes.put(served), ask.live, echoes.put(kept), like, at)
                step, asked = self.tape.step(index), named(ask.form)
                return msgspec.structs.replace(reply, step=step, place=asked, recorded=outcome, remade=foreign)
        told_then = failure(outcome, ask.live, self.tape.detail(index))
        return Reply(told_then, lambda _: ask.ledger.error(ask.ticket, outcome))

    def _unserved(self, index: int, reason: str, ask: _Ask) -> Reply:
        return self._reply(ask, self._objections.unserved(named(ask.form), self.tape.step(index), reason))

    def _echoes(self, index: int, tier: Tier, ask: _Ask) -> Echoes:
        """What the recorded answer repeats of its request, and has to be repeated of the live one."""
        if not self.use_map or tier is Tier.OPTIONAL:
            return Echoes({}, {}, {})
        ids = {} if tier is Tier.SAME else answer_ids(self.tape.form(index).body, ask.form.body)
        fields = request_fields(self.tape.headers(index), ask.asked.headers)
        return Echoes(self._matcher.mapping.values, ids, fields)

    def _drifted(self, match: Match, ask: _Ask) -> Reply | Dialogue:
        index, form = match.index, ask.form
        assert index is not None
        exchange = self.tape.exchanges[index]
        found = drift.changes(self.tape.form(index), form)
        about = exchange.step, exchange.request.seq, named(form)
        cause = self._objections.drifted(*about, found, self._expected(index))
        return self._serve(index, Tier.DRIFTED, ask) if cause is None else self._reply(ask, told_of(cause))

    def _missed(self, match: Match, ask: _Ask) -> Reply:
        nearest = None if match.index is None else self.tape.step(match.index)
        again = match.tier is Tier.EXHAUSTED
        detail = "" if again else self._expected(None)
        if match.index is None and ask.form.endpoint.host in self.tape.tunnelled:
            detail = TUNNELLED
        if again and match.again and nearest is not None:
            detail = f"the recording answered it last at step {nearest}; --repeat-last gives that answer again"
        if match.index is not None and not again:
            first = drift.changes(self.tape.form(match.index), ask.form)[0]
            detail = f"the nearest is step {nearest}, which differs: {headline(first)}"
        asked = msgspec.structs.replace(ask.asked, endpoint=ask.form.endpoint)
        detail = patience.renewal(self.tape, asked, datetime.now(UTC)) or detail
        return self._reply(ask, self._objections.missed(named(ask.form), nearest, again=again, detail=detail))

    def _check_order(self, index: int) -> None:
        before = self._turns.missing(index)
        if before is not None:
            step = self.tape.step(index)
            self.findings.reordered.append(Reordered(step, self.tape.step(before), self.tape.place(index)))

    def _expected(self, instead: int | None) -> str:
        """The earliest exchange that was not asked for, unless it is `instead`."""
        first = self._matcher.first_waiting
        if first is None or first == instead:
            return ""
        return f"next in the recording is step {self.tape.step(first)}, {self.tape.place(first)}"

    def _like(self, index: int | None) -> HttpRequest | None:
        """The recorded request whose labels a live one takes."""
        return None if index is None else self.tape.exchanges[index].facts

    def _reply(self, ask: _Ask, said: Recorded, kept: Recorded | None = None) -> Reply:
        return ask.ledger.reply(ask.ticket, said, ask.live, kept)

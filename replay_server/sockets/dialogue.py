"""One WebSocket of the agent against the recorded one: what is said to it next, and whether it says what was recorded.

Rules kept here:
- A message of the server goes out once all messages of the client that came before it have come again.
- A message of the client is compared as the body of a request is: same rules, same ids made up anew, same secrets.
- What was recorded as the end is the end again. How the client itself ends is recorded, and not judged.
- What the server says next can be looked at and changed before it is said.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from replay_server import drift
from replay_server.answer import Recorded, Reply
from replay_server.drift import Change
from replay_server.echoes import Echoes, answer_ids
from replay_server.ledger import Ledger
from replay_server.match import Matcher
from replay_server.minted import Scalar, blanked
from replay_server.objection import Objections
from replay_server.provenance import Provenance
from replay_server.sockets.prospect import Prospect, messages, prospect, spoken
from replay_server.sockets.spot import OVER_HTTP, Spot, asks_model, said_from, was_withheld
from replay_server.sockets.turn import INTERNAL_ERROR, POLICY_VIOLATION, Leave, Say, Turn, is_clients, refusal
from replay_server.standins import StandIns
from replay_server.tape import Tape
from store.core.event import Event
from store.core.form import Asked, Endpoint, Form, Pairs, first
from store.core.model import WsClose, WsMessage
from store.core.redact import Content, Redactor
from store.core.websocket import BROKEN_OFF, By, media_type
from store.reader import BodyUnavailable
from store.ticket import Ticket


@dataclass(frozen=True, slots=True)
class Setting:
    """What a dialogue shares with the session that it belongs to. `goes_on` says that the agent has left the recording
    for good; `reach` is told that a fork has said what it says at its `spot`.
    """

    tape: Tape
    ledger: Ledger
    redactor: Redactor
    matcher: Matcher
    standins: StandIns
    objections: Objections
    goes_on: Callable[[], bool]
    spot: Spot | None = None
    reach: Callable[[], object] = lambda: None


@dataclass(slots=True)
class Dialogue:
    """The recorded socket `index`; `opening` is the answer that opens it, `served` as it goes out, `ticket` that of the
    request. What is not `expected` may be said or not.
    """

    setting: Setting
    index: int
    endpoint: Endpoint
    place: str
    opening: Reply
    served: Recorded
    ticket: Ticket
    expected: bool = True
    _at: int = 0
    _ids: dict[Scalar, Scalar] = field(default_factory=dict)
    _refusal: Leave | None = None
    _has_ended: bool = False
    _seen: int = 0  # what comes before was looked at
    _instead: deque[bytes] = field(default_factory=deque)
    _is_text: bool = True
    _events: list[Event] = field(init=False)
    _agent: Pairs = field(init=False)
    _said: Provenance = field(init=False)

    def __post_init__(self) -> None:
        self._events = self.setting.tape.exchanges[self.index].messages
        agent = first(self.setting.tape.headers(self.index), b"user-agent")
        self._agent = ((b"User-Agent", agent),)
        self._said = Provenance(self._said_at)

    def turn(self) -> Turn:
        """What comes next; a message of the client is waited for with "listen"."""
        if self._refusal is not None:
            return self._refusal
        spot = self.setting.spot
        if spot is not None and (spot.index, spot.at) == (self.index, self._at):
            self._seen = spot.at + spot.messages
            self.amend(spot.answer)
            self.setting.reach()
        if self._instead:
            return self._say(self._instead.popleft(), self._is_text, foreign=True)
        event = self._next
        match event.facts if event is not None else None:
            case WsMessage(direction="to_client") as facts:
                assert event is not None
                turn = self._repeat(event, facts, self._wait_us())
                self._at += 1
                return turn
            case WsClose(code=code, by="server" | "unknown"):
                assert event is not None
                return Leave(code, self._read(event) or b"", self._wait_us())
        return "listen"

    def ahead(self) -> Prospect | None:
        """What the server says next, once; None where that is nothing, was looked at, or cannot be read."""
        if self._refusal is not None or self._at < self._seen:
            return None
        said: list[bytes] = []
        for event in said_from(self._events, self._at):
            raw = self._read(event)
            if raw is None or was_withheld(event, raw):
                return None
            said.append(raw)
        if not said:
            return None
        found = prospect(said)
        self._seen = self._at + found.messages
        return found

    def amend(self, answer: Recorded) -> None:
        """Says this, which was made of what is `ahead`, in its place."""
        facts = self._events[self._at].facts
        self._is_text = not isinstance(facts, WsMessage) or facts.opcode == "text"
        self._instead.extend(messages(answer))
        self._at = self._seen

    @property
    def step(self) -> int:
        """The step that opened the socket."""
        return self.setting.tape.step(self.index)

    @property
    def where(self) -> str:
        """The next message, for people."""
        return self._where(self._at)

    def hear(self, raw: bytes, *, is_text: bool) -> None:
        """Takes a message of the client."""
        setting = self.setting
        body = setting.redactor.body(raw, Content(media_type(is_text=is_text).encode()))
        setting.ledger.heard(self.ticket, body, is_text=is_text)
        if setting.objections.stopped.is_set():
            setting.objections.findings.after_stop += 1
            self._refuse("the replay was stopped by a drift")
            return
        if setting.spot is not None and setting.goes_on() and asks_model(self.endpoint, body.content):
            self._refusal = OVER_HTTP
            return
        event = self._next
        if event is None or not isinstance(event.facts, WsMessage):
            self._unforeseen()
            return
        where = self._where(self._at)
        found = self._changes(event, event.facts, body.content, is_text=is_text)
        self._at += 1
        if found is None or not found:
            setting.objections.findings.messages += found is not None
        elif self.expected:
            self._differs(event, where, found)

    def gone(self, code: int, reason: str = "") -> None:
        """The client has left."""
        self._end(code, "client", reason)

    def left(self, how: Leave) -> None:
        """The server's goodbye was said."""
        self._end(how.code, "unknown" if how.code == BROKEN_OFF else "server", how.reason.decode("utf-8", "replace"))

    def cut(self) -> None:
        """The socket is gone, whoever ended it."""
        self._end(BROKEN_OFF, "unknown")

    def never_said(self) -> list[tuple[int, str]]:
        """The messages of the client that were recorded and never came: step, and what they are."""
        left = [at for at in range(self._at, len(self._events)) if is_clients(self._events[at])]
        if not left or not self.expected or self._refusal is not None:
            return []
        more = f" and {len(left) - 1} more" if len(left) > 1 else ""
        return [(self.setting.tape.step(self.index), f"message {left[0] + 1}{more} of {self.place}")]

    @property
    def _next(self) -> Event | None:
        return self._events[self._at] if self._at < len(self._events) else None

    def _repeat(self, event: Event, facts: WsMessage, wait_us: int) -> Turn:
        raw = self._read(event)
        if raw is None:
            assert self._refusal is not None
            return self._refusal
        if was_withheld(event, raw):
            return self._unserved("it could not be read for secrets, so it was not kept")
        return self._say(raw, facts.opcode == "text", exact=facts.exact, wait_us=wait_us)

    def _say(self, raw: bytes, is_text: bool, *, exact: bool = False, foreign: bool = False, wait_us: int = 0) -> Say:
        """A message; `foreign` is one that a person had a hand in."""
        echoes = Echoes(self.setting.matcher.mapping.values, self._ids, {})
        revealed = self.setting.standins.reveal(spoken(raw, exact=exact))
        served, kept = (echoes.put(each) for each in revealed)
        kept = self.setting.ledger.redacted(kept) if foreign else kept
        self.setting.ledger.said(self.ticket, kept, is_text=is_text)
        return Say(served.body, is_text, wait_us)

    def _changes(self, event: Event, facts: WsMessage, live: bytes, *, is_text: bool) -> list[Change] | None:
        """How a message differs from the recorded one; None where that is gone."""
        recorded = self._read(event)
        if recorded is None:
            return None
        there, here = self._form(recorded, is_text=facts.opcode == "text"), self._form(live, is_text=is_text)
        secrets = self.setting.matcher.secrets
        if secrets.fits(there.marks, here.marks) and (there.key == here.key or self._is_mapped(there, here)):
            secrets.learn(there.marks, here.marks)
            return []
        return drift.changes(there, here)

    def _form(self, raw: bytes, *, is_text: bool) -> Form:
        found = self.setting.tape.rules.normal(Asked(self.endpoint, b"", self._agent, raw))
        self.setting.tape.used.update(found.counts)
        self.setting.objections.findings.ignored.update(found.counts)
        found.form.document["opcode"] = "text" if is_text else "binary"
        return found.form

    def _is_mapped(self, there: Form, here: Form) -> bool:
        """Whether two messages differ in ids only that the agent made up anew."""
        was, now, mapping = blanked(there), blanked(here), self.setting.matcher.mapping
        if was.key != now.key or not mapping.fits(self.index, was, now, self.endpoint):
            return False
        pairs = zip(was.spots, now.spots, strict=True)
        tokens = (str(one.value) for one, other in pairs if one.role == "token" and one.value != other.value)
        if any(self._said.recorded_before(token, self._at) for token in tokens):
            return False
        self._ids |= answer_ids(there.body, here.body)
        learned = mapping.learn(was, now, self.endpoint)
        self.setting.objections.findings.map(self.setting.tape.step(self.index), learned)
        return True

    def _differs(self, event: Event, where: str, found: list[Change]) -> None:
        objections = self.setting.objections
        if self.setting.goes_on():
            objections.missed(where, None, again=False)
            self._refuse("this message has no equal in the recording")
            return
        step = self.setting.tape.step(self.index)
        if objections.drifted(step, event.seq, where, found) is not None:
            self._refuse(f"drifted at step {step}")

    def _unforeseen(self) -> None:
        if not self.expected:
            return
        step = self.setting.tape.step(self.index)
        self.setting.objections.missed(self._where(self._at), step, again=True)
        self._refuse(f"more messages than were recorded at step {step}")

    def _read(self, event: Event) -> bytes | None:
        """The body of a recorded message; None where it is gone, which is then told."""
        try:
            return self.setting.tape.said(event)
        except BodyUnavailable as error:
            self._unserved(str(error))
            return None

    def _unserved(self, reason: str) -> Leave:
        step, where = self.setting.tape.step(self.index), self._where(self._at)
        said = f"{where} (step {step}) cannot be served: {reason}"
        self.setting.objections.unserved(where, step, said)
        return self._refuse(said, INTERNAL_ERROR)

    def _refuse(self, sentence: str, code: int = POLICY_VIOLATION) -> Leave:
        self._refusal = refusal(sentence, code)
        return self._refusal

    def _end(self, code: int, by: By, reason: str = "") -> None:
        if not self._has_ended:
            self._has_ended = True
            self.setting.ledger.goodbye(self.ticket, code, by, reason)

    def _where(self, at: int) -> str:
        return f"message {at + 1} of {self.place}"

    def _wait_us(self) -> int:
        """How long after what was before it the next message came."""
        exchange = self.setting.tape.exchanges[self.index]
        before = self._events[self._at - 1] if self._at else exchange.outcome
        if before is None:
            return 0
        came, was = (datetime.fromisoformat(event.place.ts) for event in (self._events[self._at], before))
        return max(0, int((came - was).total_seconds() * 1_000_000))

    def _said_at(self, at: int) -> Iterable[bytes]:
        event = self._events[at]
        return () if is_clients(event) else (self._read(event) or b"",)

"""The recorded side of a replay, read from the store as it is needed: what was asked, and what answered."""

from collections.abc import Container, Iterable, Iterator
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass

from replay_server.answer import Recorded, ending, interim_of
from replay_server.collection import no_collection
from replay_server.kin import gathered
from replay_server.labels import labels
from replay_server.normalise import Normal, Rules, host
from replay_server.pieces import pieces
from replay_server.recall import Requests, text_of
from replay_server.route import split
from replay_server.target import Authority
from store.core.coding import as_stored
from store.core.draft import Elsewhere
from store.core.event import Event
from store.core.form import Asked, Endpoint, Form, Pairs, unmarked
from store.core.jsontext import Octets
from store.core.model import (
    Agent,
    ErrorKind,
    HttpResponse,
    Note,
    RpcMessage,
    RunOpen,
    TunnelOpen,
    Value,
    WsClose,
    WsMessage,
)
from store.core.redact import is_withheld
from store.exchange import Exchange, Happening
from store.labels.classify import recorded as as_recorded
from store.labels.classify import response_labels
from store.labels.dialect import RequestLabels
from store.reader import BodyUnavailable, Reader, RunInfo

CONNECT = "CONNECT"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a recorded answer cannot be served, in one sentence."""

    reason: str


class Tape:
    """One recorded run with its child runs. Opening it reads the events; bodies are read when they are asked for.

    Neither is served unless it is what was recorded; events are, if they are taken `unverified`.
    """

    def __init__(self, reader: Reader, run: RunInfo, rules: Rules, *, unverified: bool = False) -> None:
        self.run = run
        self.rules = rules
        self.used: set[str] = set()  # the rules that took something out of a recorded request
        self.gone: dict[int, str] = {}  # the requests that cannot be compared, as far as they were read, and why
        self._reader = reader
        with no_collection():
            read = reader.events if unverified else reader.linked_events
            found, self.names = gathered(reader, run, read)
            self.exchanges = [step for step in found if isinstance(step, Exchange)]
            self.happenings = [step for step in found if isinstance(step, Happening)]
            self.places = list(self._placed())
        self.tunnelled = frozenset(_tunnelled(self.happenings))
        self._requests = Requests(reader, self.exchanges, self.places, rules)
        without_model = {place: split(place)[0] for place in dict.fromkeys(self.places)}
        self.endpoints = [without_model[place] for place in self.places]
        known = dict.fromkeys(without_model.values())
        self._known = frozenset(known)
        self._unreached = {(place.host, place.port) for place in known if place.method == CONNECT}
        self.in_part = [at for at, exchange in enumerate(self.exchanges) if exchange.is_asked_in_part]
        self._authorities = list(dict.fromkeys(Authority(place.scheme, place.host, place.port) for place in known))

    def under(self, rules: Rules) -> "Tape":
        """The same tape under other rules."""
        other = copy(self)
        other.rules, other.used, other.gone = rules, set(), {}
        other._requests = Requests(self._reader, self.exchanges, self.places, rules)
        return other

    def moment(self) -> AbstractContextManager[None]:
        """What is read inside is of one moment (`Reader.moment`)."""
        return self._reader.moment()

    def step(self, index: int) -> int:
        """The step that a person counts."""
        return self.exchanges[index].step

    def place(self, index: int) -> str:
        """Method and URL of an exchange, for people."""
        run = self.run_of(index)
        child = "" if run == self.run.id else f" (child run {self.names[run]})"
        return self.places[index].place + child

    def run_of(self, index: int) -> str:
        """The id of the run of an exchange: the tape's own, or a child's."""
        return self.exchanges[index].request.run

    def own(self) -> Iterator[Exchange]:
        """The exchanges of the run itself, without those of its children."""
        return (exchange for exchange in self.exchanges if exchange.request.run == self.run.id)

    def authorities(self, method: str, path: bytes) -> Iterator[Authority]:
        """Whom a request without an authority of its own may be for: each recorded one that was asked for this path."""
        asked = (Endpoint(method, one.scheme, one.host, one.port, path) for one in self._authorities)
        return (one for one, place in zip(self._authorities, asked, strict=True) if place in self._known)

    def at(self, step: int) -> int | None:
        """The place of the exchange of a step among the exchanges, None where the step is none."""
        here = (at for at, exchange in enumerate(self.exchanges) if exchange.step == step)
        return next((at for at in here if self.run_of(at) == self.run.id), None)

    def is_done(self, index: int) -> bool:
        """Whether a recorded request had a good outcome: what it was to do is done."""
        answered = self.exchanges[index].response
        return answered is not None and 200 <= answered.status < 400

    def form(self, index: int) -> Form:
        """The normal form of a recorded request; one whose body is gone is like no other."""
        return self.normal(index).form

    def normal(self, index: int) -> Normal:
        """A recorded request as it is compared."""
        try:
            found = self._requests.read(index).normal
        except BodyUnavailable as error:
            self.gone[index] = f"the recorded request of step {self.step(index)} cannot be compared: {error}"
            gone = Form(self.endpoints[index], {"body": Octets(f"of step {self.step(index)}, erased", 0)})
            return Normal(gone, {})
        self.used.update(found.counts)
        return found

    def hear(self, asked: Asked, normal: Normal) -> None:
        """Takes note of the live request that is compared from now on."""
        self._requests.hear(asked, normal)

    def lost(self, endpoint: Endpoint, served: Container[int]) -> int | None:
        """The earliest exchange of an endpoint that is not served and whose request, as was found, is gone."""
        waiting = (index for index in sorted(self.gone) if index not in served)
        return next((index for index in waiting if self.endpoints[index] == endpoint), None)

    def asked(self, index: int) -> Asked:
        """A recorded request. Raises BodyUnavailable when some of it is gone."""
        return self._requests.read(index).asked

    def answer(self, index: int) -> Recorded | None:
        """A recorded answer as far as it came, None where none did or it is gone."""
        facts = self.exchanges[index].response
        try:
            return None if facts is None else self._recorded(index, facts)
        except BodyUnavailable:
            return None

    def labelled(self, index: int) -> RequestLabels:
        """What a recorded request is, as the recorder read it; else as far as can be told where its body is gone."""
        if self.exchanges[index].request.glimpse.kind is not None:
            return as_recorded(self.exchanges[index].facts)
        try:
            return labels(self.asked(index))
        except BodyUnavailable:
            return labels(Asked(self.places[index], b"", self.headers(index)))

    def told(self, happening: Happening) -> bytes:
        """The same as `said` of something that is no exchange."""
        return self.said(happening.event)

    def said(self, event: Event) -> bytes:
        """The body of a recorded value, note or message, or the command line of the run. Raises BodyUnavailable."""
        match event.facts:
            case Value(body=body) | Note(body=body) | RpcMessage(body=body) | RunOpen(agent=Agent(argv=body)):
                return self._reader.body(event, body)
            case WsMessage(body=body) | WsClose(reason=body):
                return self._reader.body(event, body)
        return b""

    def headers(self, index: int) -> Pairs:
        """The headers of a recorded request."""
        return self._requests.headers(index)

    def failed_connect(self, host: str, port: int, served: Container[int]) -> int | None:
        """The recorded CONNECT to a server that failed, if it is the next that the recording has of that server."""
        if (host, port) not in self._unreached:
            return None
        places = enumerate(self.endpoints)
        waiting = (at for at, place in places if (place.host, place.port) == (host, port) and at not in served)
        first = next(waiting, None)
        return first if first is not None and self.endpoints[first].method == CONNECT else None

    def outcome(self, index: int) -> Recorded | ErrorKind | Refusal:
        """A recorded answer with everything read, a recorded failure, or why neither can be served."""
        exchange = self.exchanges[index]
        step = exchange.step
        if exchange.error is not None:
            failed = exchange.error.kind
            return failed if ending(failed) else Refusal(f"the recorder ended before step {step} was answered")
        facts = exchange.response
        if facts is None:
            return Refusal(f"the recording has no outcome for step {step}")
        if facts.truncated or ending(facts.ended) is None:
            return Refusal(f"the recorded answer of step {step} is not whole ({facts.ended})")
        try:
            recorded = self._recorded(index, facts)
        except BodyUnavailable as error:
            return Refusal(f"the recorded answer of step {step} cannot be served: {error}")
        if not recorded.exact and is_withheld(recorded.body):
            return Refusal(f"the recorded answer of step {step} could not be read for secrets, so it was not kept")
        return recorded

    def asked_at(self, index: int) -> Elsewhere:
        """Where the body of a recorded request is kept."""
        exchange = self.exchanges[index]
        event = exchange.request if exchange.upload is None else exchange.upload
        return Elsewhere(event.run, event.seq, "/body")

    def answered_at(self, index: int) -> Elsewhere | None:
        """Where the body of a recorded answer is kept."""
        event = self.exchanges[index].outcome
        return None if event is None else Elsewhere(event.run, event.seq, "/body")

    def detail(self, index: int) -> bytes:
        """What the recorder said of a recorded failure; nothing when that is erased."""
        exchange = self.exchanges[index]
        if exchange.outcome is None or exchange.error is None:
            return b""
        try:
            return self._reader.body(exchange.outcome, exchange.error.detail)
        except BodyUnavailable:
            return b""

    def _recorded(self, index: int, facts: HttpResponse) -> Recorded:
        event = self.exchanges[index].outcome
        assert event is not None
        headers = as_stored(self._reader.pairs(event, facts.headers), exact=facts.exact)
        body, table = self._reader.body(event, facts.body), self._reader.body(event, facts.chunks)
        return Recorded(
            status=facts.status,
            reason=self._reader.text(event, facts.reason),
            headers=headers,
            framing=facts.framing,
            ended=facts.ended,
            body=body,
            chunks=pieces(table, headers, body, imported=self.run.mode == "import"),
            trailers=self._reader.pairs(event, facts.trailers),
            exact=facts.exact,
            interim=interim_of(self._reader.pairs(event, facts.interim)),
        )

    def tools(self, index: int, recorded: Recorded) -> tuple[str, ...]:
        """The names of the tools that the model asked for in a recorded answer."""
        exchange = self.exchanges[index]
        if exchange.facts.kind is not None and exchange.response is not None:
            # As the recorder read it: long answers are not read once more.
            assert exchange.outcome is not None
            said = (self._reader.text(exchange.outcome, tool) for tool in exchange.response.tools or ())
            return tuple(tool.decode("utf-8", "replace") for tool in said)
        asked = labels(Asked(self.places[index], b"", self.headers(index)))
        if asked.kind != "llm":
            return ()
        return response_labels(asked, recorded.status, recorded.headers, recorded.body).tools

    def _placed(self) -> Iterator[Endpoint]:
        """Where each request went; long recordings go to few places, so each is worked out once."""
        known: dict[tuple[object, ...], Endpoint] = {}
        for exchange in self.exchanges:
            seen = exchange.request.glimpse
            texts = seen.method, seen.scheme, seen.host, seen.path
            if not all(type(text) is str for text in texts):  # a text that lies apart is read each time
                yield self._endpoint(exchange)
                continue
            said = (*texts, seen.port)
            if said not in known:
                known[said] = self._endpoint(exchange)
            yield known[said]

    def _endpoint(self, exchange: Exchange) -> Endpoint:
        seen = exchange.request.glimpse
        texts = (seen.method, seen.scheme, seen.host, seen.path)
        method, scheme, name, path = (text_of(self._reader, exchange, text) for text in texts)
        return Endpoint(
            method.decode("latin-1"),
            scheme.decode("latin-1"),
            host(name.decode("latin-1")),
            seen.port,
            unmarked(path)[0],
        )


def _tunnelled(happenings: Iterable[Happening]) -> Iterator[str]:
    """The hosts to which something was passed through unopened, so that nothing of it is there to answer with."""
    for happening in happenings:
        if happening.event.type == "tunnel.open":
            facts = happening.event.facts
            if isinstance(facts, TunnelOpen) and facts.reason != "local" and isinstance(facts.host, str):
                yield host(facts.host)

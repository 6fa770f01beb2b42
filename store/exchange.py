"""Events put together to what a person counts: steps, and exchanges (a request with its outcome)."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

from store.core.event import Event
from store.core.model import (
    HttpError,
    HttpRequest,
    HttpRequestEnd,
    HttpResponse,
    TunnelClose,
    TunnelOpen,
    is_step,
)


@dataclass(slots=True)
class Exchange:
    """One request with its outcome, which is None while the run is open. `step` counts from 1."""

    step: int
    request: Event
    outcome: Event | None = None
    upload: Event | None = None
    messages: list[Event] = field(default_factory=list)

    @property
    def events(self) -> list[Event]:
        """The events of the step."""
        parts = (self.request, self.upload, self.outcome, *self.messages)
        return [event for event in parts if event is not None]

    @property
    def facts(self) -> HttpRequest:
        """What the request says."""
        return cast("HttpRequest", self.request.facts)

    @property
    def is_asked_in_part(self) -> bool:
        """Whether no more than the beginning of the request's body is on record: it broke off, or was not kept."""
        upload = self.upload.facts if self.upload is not None else None
        broke_off = isinstance(upload, HttpRequestEnd) and (upload.ended != "complete" or upload.truncated)
        return self.request.glimpse.truncated or broke_off

    @property
    def response(self) -> HttpResponse | None:
        """What the answer says, if a status line arrived."""
        return self.outcome.facts if self.outcome and isinstance(self.outcome.facts, HttpResponse) else None

    @property
    def error(self) -> HttpError | None:
        """Why no answer came, if none did."""
        return self.outcome.facts if self.outcome and isinstance(self.outcome.facts, HttpError) else None


@dataclass(slots=True)
class Happening:
    """Anything else that belongs on a timeline: a value, a note, a call to a stdio tool server (with its step), a
    tunnel, a gap, the run's ends (without).
    """

    step: int | None
    event: Event
    end: Event | None = None

    @property
    def events(self) -> list[Event]:
        """The events of the step."""
        return [self.event] if self.end is None else [self.event, self.end]


type Step = Exchange | Happening


def steps(events: Iterable[Event]) -> list[Step]:
    """What happened, in the order of the first event of each."""
    found: list[Step] = []
    exchanges_by_seq: dict[int, Exchange] = {}
    tunnels: dict[int, Happening] = {}
    count = 0
    for happened in events:
        # By what is glimpsed of it, for many events are never asked what they say.
        match happened.type:
            case "http.request":
                count += 1
                exchange = Exchange(count, happened)
                exchanges_by_seq[happened.seq] = exchange
                found.append(exchange)
            case "http.response" | "http.error" if happened.req in exchanges_by_seq:
                exchanges_by_seq[happened.req].outcome = happened
            case "http.request.end" if happened.req in exchanges_by_seq:
                exchanges_by_seq[happened.req].upload = happened
            case "ws.message" | "ws.close" if happened.req in exchanges_by_seq:
                exchanges_by_seq[happened.req].messages.append(happened)
            case _:
                facts = happened.facts
                if isinstance(facts, TunnelClose) and facts.open in tunnels:
                    tunnels[facts.open].end = happened
                    continue
                counted = is_step(facts)
                count += counted
                other = Happening(count if counted else None, happened)
                if isinstance(facts, TunnelOpen):
                    tunnels[happened.seq] = other
                found.append(other)
    return found


def exchanges(events: Iterable[Event]) -> list[Exchange]:
    """Only the exchanges, with the step numbers that they have among all steps."""
    return [step for step in steps(events) if isinstance(step, Exchange)]

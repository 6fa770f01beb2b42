"""Where on a recorded WebSocket a fork says something else, and what. Pure but for the reading of the tape."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from replay_server.answer import Recorded
from replay_server.injection import Injection
from replay_server.labels import labels
from replay_server.modes import NotAllowed
from replay_server.registry import MODEL_KINDS
from replay_server.sockets.prospect import prospect
from replay_server.sockets.turn import is_clients, refusal
from replay_server.tape import Tape
from store.core.event import Event
from store.core.form import Asked, Endpoint
from store.core.model import WsMessage
from store.core.redact import is_withheld
from store.reader import BodyUnavailable

# 1012 (service restart, of IANA's registry): clients connect anew, and are then told to speak HTTP.
OVER_HTTP = refusal("models are asked over HTTP from here on", 1012)
_JSON = ((b"Content-Type", b"application/json"),)


@dataclass(frozen=True, slots=True)
class Spot:
    """On the socket `index` the `messages` messages from the one at `at` on are not said, but `answer` is."""

    index: int
    at: int
    messages: int
    answer: Recorded


def spot(tape: Tape, index: int, number: int | None, injection: Injection) -> Spot:
    """Where message `number` stands, counted from 1, and what is said there instead; of a model's answer in many
    messages each stands for all. Raises NotAllowed.
    """
    step, events = tape.step(index), tape.exchanges[index].messages
    hint = f"edgetape show {tape.run.id} {step} numbers them"
    if number is None:
        raise NotAllowed(
            f"step {step} is a WebSocket: say which of its messages is another one", hint=f"--message; {hint}"
        )
    at = number - 1
    if at >= len(events) or not isinstance(events[at].facts, WsMessage) or is_clients(events[at]):
        raise NotAllowed(f"message {number} of step {step} is none that the server said", hint=hint)
    injection.check_message()
    first = at
    while first > 0 and not is_clients(events[first - 1]):
        first -= 1
    said = [_read(tape, event, step) for event in said_from(events, first)]
    found = prospect(said)
    if found.messages == len(said):
        return Spot(index, first, len(said), injection.apply(found.answer))
    found = prospect(said[at - first :])
    return Spot(index, at, found.messages, injection.apply(found.answer))


def said_from(events: Sequence[Event], at: int) -> Iterator[Event]:
    """What the server says from there on, before the client's next word."""
    for event in events[at:]:
        if not isinstance(event.facts, WsMessage) or is_clients(event):
            return
        yield event


def was_withheld(event: Event, raw: bytes) -> bool:
    """Whether a recorded message could not be read for secrets."""
    return isinstance(event.facts, WsMessage) and not event.facts.exact and is_withheld(raw)


def asks_model(endpoint: Endpoint, raw: bytes) -> bool:
    """Whether a message of the client's asks a model for an answer, as a request over HTTP does."""
    return labels(Asked(endpoint._replace(method="POST"), b"", _JSON, raw)).kind in MODEL_KINDS


def _read(tape: Tape, event: Event, step: int) -> bytes:
    try:
        raw = tape.said(event)
    except BodyUnavailable as error:
        raise NotAllowed(f"a message of step {step} cannot be read: {error}") from error
    if was_withheld(event, raw):
        raise NotAllowed(f"a message of step {step} could not be read for secrets, so it was not kept")
    return raw

"""What the server says or does on a WebSocket next."""

from dataclasses import dataclass
from typing import Literal

from store.core.event import Event
from store.core.model import WsMessage

POLICY_VIOLATION = 1008  # RFC 6455, section 7.4.1: what a client is told that left the recording
INTERNAL_ERROR = 1011
_REASON_BYTES_MAX = 123  # RFC 6455, section 5.5


@dataclass(frozen=True, slots=True)
class Say:
    """A message of the server, `wait_us` after what was before it."""

    raw: bytes
    is_text: bool
    wait_us: int = 0


@dataclass(frozen=True, slots=True)
class Leave:
    """The server's goodbye, BROKEN_OFF where it says none."""

    code: int
    reason: bytes = b""
    wait_us: int = 0


type Turn = Say | Leave | Literal["listen"]


def is_clients(event: Event) -> bool:
    """Whether an event is a message of the client."""
    return isinstance(event.facts, WsMessage) and event.facts.direction == "to_server"


def refusal(sentence: str, code: int) -> Leave:
    """A goodbye that says why, as far as there is room for it."""
    raw = f"edgetape replay: {sentence}".encode()[:_REASON_BYTES_MAX]
    return Leave(code, raw.decode("utf-8", "ignore").encode())

"""What a server says on a WebSocket next, as an answer that can be looked at and changed, and as messages again. Pure.

A model's answer that comes in many messages is one, as a streamed answer over HTTP is; any other message is one by
itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from replay_server.answer import Recorded
from replay_server.injection import message_of
from replay_server.sockets.handshake import SWITCHING_PROTOCOLS
from store.core.chunks import Chunk
from store.core.form import Pairs
from store.labels.event_stream import events

_JSON: Pairs = ((b"Content-Type", b"application/json"),)
_EVENTS: Pairs = ((b"Content-Type", b"text/event-stream"),)


@dataclass(frozen=True, slots=True)
class Prospect:
    """The next `messages` messages of the server as one answer."""

    answer: Recorded
    messages: int


def prospect(said: Sequence[bytes]) -> Prospect:
    """What is ahead, `said` being all that the server says before the client's next word, at least one."""
    pieces = [b"".join(b"data: %s\n" % line for line in raw.splitlines()) + b"\n" for raw in said]
    chunks = tuple(Chunk(len(piece), 0) for piece in pieces)
    whole = Recorded(SWITCHING_PROTOCOLS, b"", _EVENTS, "none", "complete", b"".join(pieces), chunks)
    if message_of(whole) is not None:
        return Prospect(whole, len(said))
    return Prospect(spoken(said[0]), 1)


def spoken(raw: bytes, *, exact: bool = True) -> Recorded:
    """One message as an answer."""
    headers = _JSON if raw.lstrip()[:1] in (b"{", b"[") else ()
    return Recorded(SWITCHING_PROTOCOLS, b"", headers, "none", "complete", raw, exact=exact)


def messages(answer: Recorded) -> list[bytes]:
    """The messages that an answer of `prospect` is sent as, after it was changed."""
    if answer.headers != list(_EVENTS) and answer.headers != _EVENTS:
        return [answer.body]
    return [event.data.encode("utf-8", "surrogatepass") for event in events([answer.body])]

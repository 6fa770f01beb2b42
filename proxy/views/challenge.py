"""Pages that keep programs out: a server may take the recorder's TLS for a bot's where it would let the agent's pass.

Seen by the headers in which such servers say so: `cf-mitigated: challenge` (Cloudflare), `x-amzn-waf-action` (AWS WAF).
"""

from collections.abc import Iterable
from typing import Protocol

from proxy.words import shown
from store.core.errors import EdgetapeError
from store.core.event import Event
from store.core.text import Headers, Text
from store.exchange import Exchange, Step

_SAID = {b"cf-mitigated": (b"challenge",), b"x-amzn-waf-action": (b"challenge", b"captcha")}
_STATUSES = (202, 403, 405, 429, 503)


class Look(Protocol):
    """Where what an event names can be read."""

    def text(self, event: Event, value: Text | None) -> bytes:
        """A text, short or apart."""

    def pairs(self, event: Event, headers: Headers | None) -> list[tuple[bytes, bytes]]:
        """Headers, in the envelope or apart."""


def is_challenge(exchange: Exchange, look: Look) -> bool:
    """Whether an answer is such a page."""
    response, outcome = exchange.response, exchange.outcome
    if response is None or outcome is None or response.status not in _STATUSES:
        return False
    try:
        fields = look.pairs(outcome, response.headers)
    except EdgetapeError:
        return False  # erased meanwhile
    return any(value.strip().lower() in _SAID.get(name.lower(), ()) for name, value in fields)


def challengers(steps: Iterable[Step], look: Look) -> dict[str, int]:
    """The servers that answered so, with the step of their first such answer."""
    found: dict[str, int] = {}
    for step in steps:
        if isinstance(step, Exchange) and is_challenge(step, look):
            found.setdefault(shown(look.text(step.request, step.facts.host)), step.step)
    return found

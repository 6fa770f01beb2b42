"""Reads the events of a run so that none is taken for what it is not: each fits its hash, and the event before it.

What they say beyond their places is read once it is asked for. That the log committed to them, and the key to the log,
is for `edgetape verify`.
"""

from collections.abc import Iterable, Iterator

from store.core import digest, event
from store.core.errors import EdgetapeError
from store.core.event import Event
from store.core.model import RunOpen
from store.envelopes import Envelope

_OPEN = "run.open"


class Unlinked(EdgetapeError):
    """An event that does not fit where it stands: it was changed, taken out or put in after it was recorded."""


def linked(rows: Iterable[Envelope], run: str) -> Iterator[Event]:
    """The events of a run, in order. Raises Unlinked at the first that does not fit, Malformed at one that is none."""
    prev = ""
    for seq, row in enumerate(rows):
        happened = event.glimpsed(row.raw)
        seen, hashed = happened.glimpse, row.hashed or digest.event_hash(row.raw)
        if seen.type == _OPEN and isinstance(happened.facts, RunOpen):
            prev = digest.genesis_prev(happened.facts.origin, run).hex()
        if hashed != row.hash or seen.seq != seq or seen.run != run or seen.prev != prev:
            raise Unlinked(
                f"run {run} is not as it was recorded: event {seq} does not fit its hash, or what stands before it",
                hint=f"`edgetape verify {run}` names what is wrong; --unverified goes on all the same",
            )
        prev = hashed.hex()
        yield happened

"""Reads the events of a run so that none is taken for what it is not: each fits its hash, and the event before it.

It costs a tenth of reading them. That the log committed to them, and the key to the log, is for `edgetape verify`.
"""

from collections.abc import Iterable, Iterator

from store.core import digest, event
from store.core.errors import EdgetapeError
from store.core.event import Event
from store.core.model import RunOpen
from store.envelopes import Envelope


class Unlinked(EdgetapeError):
    """An event that does not fit where it stands: it was changed, taken out or put in after it was recorded."""


def linked(rows: Iterable[Envelope], run: str) -> Iterator[Event]:
    """The events of a run, in order. Raises Unlinked at the first that does not fit, Malformed at one that is none."""
    prev = ""
    for seq, row in enumerate(rows):
        happened = event.decode(row.raw)
        place, hashed = happened.place, row.hashed or digest.event_hash(row.raw)
        if isinstance(happened.facts, RunOpen):
            prev = digest.genesis_prev(happened.facts.origin, run).hex()
        if hashed != row.hash or place.seq != seq or place.run != run or place.prev != prev:
            raise Unlinked(
                f"run {run} is not as it was recorded: event {seq} does not fit its hash, or what stands before it",
                hint=f"`edgetape verify {run}` names what is wrong; --unverified goes on all the same",
            )
        prev = hashed.hex()
        yield happened

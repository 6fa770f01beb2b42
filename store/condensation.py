"""The events and openings of a closed run, moved from rows of their own into blocks (docs/format.md, section 8).

Rules kept here:
- A block is made outside the transaction that puts it in the place of its rows; a recorder waits for that one a few
  milliseconds at most. Whatever ends the program between two of them, everything is there, and once.
- What is damaged, or no canonical bytes, stays as it is.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from store import envelopes, openings
from store.core import digest
from store.core.errors import Malformed
from store.database.connection import Connection
from store.envelopes import Envelope
from store.sealed import envelopes as sealed
from store.sealed.envelopes import EventBlock
from store.sealed.openings import pack as pack_openings

# What a writer moves at once: some ten milliseconds.
AT_ONCE_BYTES_MAX = 1 << 17

type Step = Callable[[Connection], object]


def steps(connection: Connection, run: str) -> Iterator[Step]:
    """What is to be done for the closed run `run`: each step in a transaction, before the next one is asked for.

    Raises Malformed for what no block can hold, and where a step was not done.
    """
    before: object = None
    while (block := _next_events(connection, run)) is not None:
        _demand_other(block, before)
        before = block
        yield partial(envelopes.seal, block=block)
    while rows := openings.unsealed(connection, run):
        _demand_other(rows, before)
        before = rows
        yield partial(openings.seal, block=pack_openings(run, rows), rows=rows)


def _next_events(connection: Connection, run: str) -> EventBlock | None:
    """The first events of a run that stand in rows of their own, as one block."""
    found = list(islice(envelopes.rows(connection, run), sealed.EVENTS_MAX))
    found = found[: sealed.fitting(len(each.raw) for each in found)]
    if not found:
        return None
    first = found[0].seq
    if not all(_is_sound(each, first + at) for at, each in enumerate(found)):
        raise Malformed(f"events of run {run} are damaged")
    return sealed.pack(run, first, [(each.hash, each.raw) for each in found])


def _is_sound(envelope: Envelope, seq: int) -> bool:
    return envelope.seq == seq and digest.event_hash(envelope.raw) == envelope.hash


def _demand_other(found: object, before: object) -> None:
    if found == before:
        raise Malformed("what was to be moved into a block is still there")

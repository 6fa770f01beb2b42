"""An event in its place: between canonical bytes and a frozen value."""

from datetime import UTC, datetime
from typing import cast

import msgspec

from store.core import canonical
from store.core.model import EVENT_TYPES, Fact
from store.core.shape import VERSION, Count, Run, Shape, Time, type_name
from store.core.text import Hex32


class Place(msgspec.Struct, frozen=True):
    """Where an event stands: given by the writer inside the transaction that appends it.

    `prev` is the event_hash of the event before it (64 hex), `mono_us` microseconds since the run opened.
    """

    run: Run
    seq: Count
    prev: Hex32
    ts: Time
    mono_us: Count


class Event(msgspec.Struct, frozen=True):
    """One thing that happened, and its place in the run."""

    place: Place
    facts: Fact

    @property
    def type(self) -> str:
        """The event's type as its record names it."""
        return type_name(self.facts)

    @property
    def run(self) -> str:
        """The run's id."""
        return self.place.run

    @property
    def seq(self) -> int:
        """The event's number in its run, from 0."""
        return self.place.seq


_SHAPE = Shape(Place, EVENT_TYPES)


def encode(place: Place, members: canonical.Record) -> bytes:
    """The canonical bytes of an event: what it says (`members`, from `draft.seal`) and where it stands.

    Raises Malformed where the format has no room for it.
    """
    return canonical.encode({**members, **msgspec.structs.asdict(place), "v": VERSION})


def decode(raw: bytes) -> Event:
    """The event whose canonical bytes `raw` are.

    Raises UnknownVersion, UnknownShape, or Malformed for bytes that are no record at all.
    """
    place, facts = _SHAPE.read(raw)
    return Event(place, cast("Fact", facts))


def from_record(record: canonical.Record) -> Event:
    """The event that a parsed record tells. Raises as `decode` does."""
    place, facts = _SHAPE.split(record)
    return Event(place, cast("Fact", facts))


def timestamp(at: datetime) -> str:
    """`YYYY-MM-DDTHH:MM:SS.ffffffZ` of a moment in any time zone."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"

"""An event in its place: between canonical bytes and a frozen value."""

from datetime import UTC, datetime
from typing import cast

import msgspec

from store.core import canonical
from store.core.model import EVENT_TYPES, Fact, HttpRequest, HttpResponse
from store.core.shape import VERSION, Count, Run, Shape, Time, type_name
from store.core.text import Hex32, Text


class Place(msgspec.Struct, frozen=True):
    """Where an event stands: given by the writer inside the transaction that appends it.

    `prev` is the event_hash of the event before it (64 hex), `mono_us` microseconds since the run opened.
    """

    run: Run
    seq: Count
    prev: Hex32
    ts: Time
    mono_us: Count


class Glimpse(msgspec.Struct, frozen=True, gc=False):
    """What is seen of an event without reading it all, for whoever opens a long run: what it is, where it stands, the
    seq of the request that it belongs to, whether it is cut off, and of a request where it went, what it was for, and
    whether its body follows.
    """

    v: int
    type: str
    run: str
    seq: int
    prev: str
    ts: str
    req: int = -1
    method: Text = ""
    scheme: Text = ""
    host: Text = ""
    port: int = 0
    path: Text = ""
    kind: str | None = msgspec.field(default=None, name="class")
    truncated: bool = False
    streaming: bool = False


class Event:
    """One thing that happened, and its place in the run.

    One that was only glimpsed is read when it is asked for more, which raises as `decode` does.
    """

    __slots__ = ("_facts", "_glimpse", "_place", "_raw")

    def __init__(self, place: Place, facts: Fact) -> None:
        self._place: Place | None = place
        self._facts: Fact | None = facts
        self._glimpse: Glimpse | None = None
        self._raw = b""

    @classmethod
    def unread(cls, glimpse: Glimpse, raw: bytes) -> "Event":
        """The event whose canonical bytes are `raw`, of which no more was read than `glimpse`."""
        made = cls.__new__(cls)
        made._place = made._facts = None
        made._glimpse, made._raw = glimpse, raw
        return made

    @property
    def place(self) -> Place:
        """Where it stands."""
        return self._place or self._read()[0]

    @property
    def facts(self) -> Fact:
        """What it says."""
        return self._facts or self._read()[1]

    @property
    def glimpse(self) -> Glimpse:
        """What is seen of it at once."""
        if self._glimpse is None:
            place, facts = self.place, self.facts
            said = {name: getattr(facts, name) for name in _GLIMPSED if hasattr(facts, name)}
            self._glimpse = Glimpse(VERSION, type_name(facts), place.run, place.seq, place.prev, place.ts, **said)
        return self._glimpse

    @property
    def type(self) -> str:
        """The event's type as its record names it."""
        return type_name(self._facts) if self._facts is not None else self.glimpse.type

    @property
    def run(self) -> str:
        """The run's id."""
        return self._place.run if self._place is not None else self.glimpse.run

    @property
    def seq(self) -> int:
        """The event's number in its run, from 0."""
        return self._place.seq if self._place is not None else self.glimpse.seq

    @property
    def req(self) -> int:
        """The seq of the request that it belongs to, -1 for none."""
        return self.glimpse.req if self._facts is None else int(getattr(self._facts, "req", -1))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and (self.place, self.facts) == (other.place, other.facts)

    def __hash__(self) -> int:
        return hash((self.run, self.seq))

    def __repr__(self) -> str:
        return f"Event({self.place!r}, {self.facts!r})"

    def _read(self) -> tuple[Place, Fact]:
        place, facts = _SHAPE.read(self._raw)
        self._place, self._facts, self._raw = place, cast("Fact", facts), b""
        return place, self._facts


_GLIMPSED = Glimpse.__struct_fields__[6:]
_GLIMPSES = msgspec.json.Decoder(Glimpse)
_UNREAD = frozenset(kind for kind, facts in EVENT_TYPES.items() if facts in (HttpRequest, HttpResponse))
_SHAPE = Shape(Place, EVENT_TYPES)


def encode(place: Place, members: canonical.Record) -> bytes:
    """The canonical bytes of an event: what it says (`members`, from `draft.seal`, of facts that `shape.facts` takes)
    and where it stands.

    Raises Malformed where the format has no room for it.
    """
    # What the types of version 1 take breaks no rule of `canonical`, on the way out as on the way in (`Shape.read`). Of
    # the place this is the one thing that may have been read somewhere: in the last event, which may be damaged.
    canonical.check(place.mono_us, 2)
    return canonical.spelled({**members, **msgspec.structs.asdict(place), "v": VERSION})


def decode(raw: bytes) -> Event:
    """The event whose canonical bytes `raw` are.

    Raises UnknownVersion, UnknownShape, or Malformed for bytes that are no record at all.
    """
    place, facts = _SHAPE.read(raw)
    return Event(place, cast("Fact", facts))


def glimpsed(raw: bytes) -> Event:
    """The same, of which no more is read at once than what most of a long run is asked for at first. Raises as `decode`
    does, as far as it reads.
    """
    try:
        glimpse = _GLIMPSES.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return decode(raw)
    return Event.unread(glimpse, raw) if glimpse.type in _UNREAD and glimpse.v == VERSION else decode(raw)


def from_record(record: canonical.Record) -> Event:
    """The event that a parsed record tells. Raises as `decode` does."""
    place, facts = _SHAPE.split(record)
    return Event(place, cast("Fact", facts))


def timestamp(at: datetime) -> str:
    """`YYYY-MM-DDTHH:MM:SS.ffffffZ` of a moment in any time zone."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"

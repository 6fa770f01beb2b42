"""The recorded requests of a tape, read as they are needed; those that were read lately are kept.

One that is, in all that is compared, the live request that is asked now is neither read nor parsed: its bytes are those
whose digest its opening has, and what they are compared by is known.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from replay_server.normalise import Normal, Rules
from store.core.coding import as_stored
from store.core.digest import body_digest
from store.core.event import Event
from store.core.form import Asked, Endpoint, Pairs, unmarked
from store.core.model import HttpRequest, HttpRequestEnd
from store.core.text import Body, Text
from store.exchange import Exchange
from store.reader import BodyUnavailable, OpeningInfo, Reader

BYTES_KEPT_MAX = 4 << 20
REQUESTS_KEPT_MAX = 256


class Read(msgspec.Struct, frozen=True):
    """A recorded request: its headers as they were recorded, and what is compared of it."""

    headers: Pairs
    asked: Asked
    normal: Normal


class Heard(msgspec.Struct, frozen=True, dict=True):
    """A live request; `compared` are the headers that have a part in what is compared."""

    asked: Asked
    normal: Normal
    compared: Pairs

    def has(self, part: bytes, recorded: OpeningInfo | None) -> bool:
        """Whether `part`, its query or its body, is the recorded one, of which there may be none."""
        if recorded is None or recorded.length != len(part):
            return recorded is None and not part
        return recorded.sha256 == (self._body_digest if part is self.asked.body else body_digest(part))

    @cached_property
    def _body_digest(self) -> bytes:
        return body_digest(self.asked.body)


@dataclass(slots=True)
class Requests:
    """Of one tape, by their places among its exchanges; `places` are where they went."""

    reader: Reader
    exchanges: Sequence[Exchange]
    places: Sequence[Endpoint]
    rules: Rules
    _heard: Heard | None = None
    _kept: OrderedDict[int, Read] = field(default_factory=OrderedDict)
    _kept_bytes: int = 0

    def hear(self, asked: Asked, normal: Normal) -> None:
        """Takes note of the live request that is compared from now on."""
        self._heard = Heard(asked, normal, self.rules.compared(asked.headers))

    def read(self, index: int) -> Read:
        """A recorded request. Raises BodyUnavailable when some of it is gone."""
        read = self._kept.get(index)
        if read is None:
            read = self._as_heard(index) or self._as_stored(index)
            self._keep(index, read)
        return read

    def headers(self, index: int) -> Pairs:
        """The headers of a recorded request; none where they are gone."""
        read = self._kept.get(index)
        if read is not None:
            return read.headers
        try:
            return self.reader.pairs(self.exchanges[index].request, self.exchanges[index].facts.headers)
        except BodyUnavailable:
            return []

    def _as_heard(self, index: int) -> Read | None:
        """A recorded request that is the live one in all that is compared; None where it is not."""
        live = self._heard
        if live is None or live.asked.endpoint != self.places[index]:
            return None
        exchange = self.exchanges[index]
        event, query, (at, body, exact) = exchange.request, exchange.facts.query, _body(exchange)
        if not live.has(live.asked.body, None if body is None else self.reader.opening(at, body)):
            return None
        if not live.has(live.asked.query, None if query is None else self.reader.opening(event, query)):
            return None
        headers = self.reader.pairs(event, exchange.facts.headers)
        stored = as_stored(headers, exact=exact)
        if self.rules.compared(stored) != live.compared or self._marks(exchange) != live.asked.marks:
            return None
        return Read(headers, msgspec.structs.replace(live.asked, headers=stored), live.normal)

    def _as_stored(self, index: int) -> Read:
        exchange = self.exchanges[index]
        headers, (at, body, exact) = self.reader.pairs(exchange.request, exchange.facts.headers), _body(exchange)
        stored, query = as_stored(headers, exact=exact), self.reader.body(exchange.request, exchange.facts.query)
        asked = Asked(self.places[index], query, stored, self.reader.body(at, body), self._marks(exchange))
        return Read(headers, asked, self.rules.normal(asked))

    def _marks(self, exchange: Exchange) -> tuple[tuple[bytes, int], ...]:
        return unmarked(text_of(self.reader, exchange, exchange.facts.path))[1]

    def _keep(self, index: int, read: Read) -> None:
        self._kept[index] = read
        self._kept_bytes += len(read.asked.body)
        while len(self._kept) > REQUESTS_KEPT_MAX or (self._kept_bytes > BYTES_KEPT_MAX and len(self._kept) > 1):
            self._kept_bytes -= len(self._kept.popitem(last=False)[1].asked.body)


def text_of(reader: Reader, exchange: Exchange, text: Text) -> bytes:
    """A text of a recorded request, wherever it is kept."""
    try:
        return reader.text(exchange.request, text)
    except BodyUnavailable:
        return f"(erased in step {exchange.step})".encode()


def _body(exchange: Exchange) -> tuple[Event, Body | None, bool]:
    """The event that names the body of a request, where it does, and whether that is what crossed the wire."""
    event = exchange.upload or exchange.request
    facts = event.facts
    assert isinstance(facts, HttpRequest | HttpRequestEnd)
    return event, facts.body, facts.exact

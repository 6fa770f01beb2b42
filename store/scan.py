"""Looks through a store for what today's rules would have taken out of it: where it is and what it is, never itself.

Rules kept here:
- What is stored is read as the recorder reads the wire: place, name and shape count the same.
- Marks are no findings. A body that is erased cannot be read, and is counted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from store.core.canonical import Json
from store.core.coding import as_stored
from store.core.event import Event
from store.core.form import Pairs
from store.core.model import HttpRequest, HttpRequestEnd, HttpResponse
from store.core.redact import Content, Redacted, Redactor
from store.core.text import Apart, Headers, text_bytes
from store.reader import BodyUnavailable, Reader

# Read with the rules of their place; and a table of numbers, which says nothing.
_PLACED = ("headers", "interim", "trailers", "path", "query", "body", "chunks")


@dataclass(frozen=True, slots=True)
class Finding:
    """`count` secrets of a class in one place: `pointer` (RFC 6901) names it within the event, or is the annotation of
    it that is meant.
    """

    run: str
    seq: int
    pointer: str
    kind: str
    count: int


@dataclass(slots=True)
class Scan:
    """One look through some runs; `known` are secrets that are looked for besides. `unreadable` counts bodies."""

    reader: Reader
    known: Sequence[str] = ()
    bodies: int = 0
    unreadable: int = 0
    _asked: dict[int, tuple[str, Pairs]] = field(default_factory=dict)

    def run(self, run: str) -> Iterator[Finding]:
        """What is found in a run, in the order of its events. Raises StoreUnusable, Malformed."""
        redactor = Redactor(self.known)
        self._asked = {}
        for event in self.reader.events(run):
            for pointer, redacted in self._event(event, redactor):
                for kind, count in redacted.marks:
                    yield Finding(run, event.seq, pointer, kind, count)
        for said in self.reader.annotations(run):
            for kind, count in redactor.body((said.text or "").encode()).marks:
                yield Finding(run, said.facts.seq, f"annotation {said.place.number}", kind, count)

    def _event(self, event: Event, redactor: Redactor) -> Iterator[tuple[str, Redacted]]:
        facts = event.facts
        placed: tuple[str, ...] = _PLACED
        match facts:
            case HttpRequest():
                headers = self._pairs(event, facts.headers)
                host, path = (self._text(event, text) for text in (facts.host, facts.path))
                method = self._text(event, facts.method).decode("latin-1")
                purpose = redactor.endpoint(method, host.decode("latin-1"), path, headers)
                self._asked[event.seq] = purpose, headers
                yield "/path", redactor.path(path)
                yield "/query", redactor.query(self._body(event, facts.query))
                yield from self._message(event, redactor, headers, purpose)
            case HttpRequestEnd():
                purpose, headers = self._asked.get(facts.req, ("", ()))
                yield from self._message(event, redactor, headers, purpose)
            case HttpResponse():
                purpose, _ = self._asked.get(facts.req, ("", ()))
                headers = self._pairs(event, facts.headers)
                yield from self._message(event, redactor, headers, purpose)
            case _:
                placed = ("chunks",)
        for name, value in msgspec.to_builtins(facts).items():
            if name not in placed:
                yield from self._plain(event, redactor, value, f"/{name}")

    def _message(
        self, event: Event, redactor: Redactor, headers: Pairs, purpose: str
    ) -> Iterator[tuple[str, Redacted]]:
        facts = event.facts
        assert isinstance(facts, HttpRequest | HttpRequestEnd | HttpResponse)
        response = isinstance(facts, HttpResponse)
        if not isinstance(facts, HttpRequestEnd):
            for at, (name, value) in enumerate(headers):
                yield f"/headers/{at}/1", redactor.header(name, value, response=response)
        if not isinstance(facts, HttpRequest) and facts.trailers is not None:
            for at, (name, value) in enumerate(self._pairs(event, facts.trailers)):
                yield f"/trailers/{at}/1", redactor.header(name, value, response=True)
        if isinstance(facts, HttpResponse) and facts.interim is not None:
            for at, (name, value) in enumerate(self._pairs(event, facts.interim)):
                yield f"/interim/{at}/1", redactor.header(name, value, response=True)
        about = Content.of(as_stored(headers, exact=facts.exact), purpose)
        yield "/body", redactor.body(self._body(event, facts.body), about)

    def _plain(self, event: Event, redactor: Redactor, value: Json, pointer: str) -> Iterator[tuple[str, Redacted]]:
        match value:
            case str():
                yield pointer, redactor.plain(value)
            case {"b64": str() as spelled, **rest} if not rest:
                yield pointer, redactor.plain(text_bytes(Apart(b64=spelled)))
            case {"body": str() as named, **rest} if not rest:
                yield pointer, redactor.body(self._body(event, Apart(body=named)))
            case dict():
                for name, member in value.items():
                    yield from self._plain(event, redactor, member, f"{pointer}/{name}")
            case list():
                for at, item in enumerate(value):
                    yield from self._plain(event, redactor, item, f"{pointer}/{at}")

    def _body(self, event: Event, apart: Apart | None) -> bytes:
        if apart is None:
            return b""
        self.bodies += 1
        try:
            return self.reader.body(event, apart)
        except BodyUnavailable:
            self.unreadable += 1
            return b""

    def _text(self, event: Event, text: str | Apart) -> bytes:
        if isinstance(text, Apart) and text.body is not None:
            return self._body(event, text)
        return text_bytes(text)

    def _pairs(self, event: Event, headers: Headers) -> Pairs:
        try:
            return self.reader.pairs(event, headers)
        except BodyUnavailable:
            self.unreadable += 1
            return ()

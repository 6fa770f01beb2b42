"""A stored body with what is known of it, as a page and as JSON show it."""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from proxy.views.readable import readable, undone
from proxy.words import shown, size
from store.core.coding import as_stored, content_encoding
from store.core.errors import EdgetapeError
from store.core.event import Event
from store.core.model import HttpRequestEnd
from store.core.text import Apart
from store.exchange import Exchange
from store.reader import Reader

INDENT = "    "


@dataclass(frozen=True, slots=True)
class Body:
    """A body as it was found: its bytes as stored and what they are; `missing` says why there are none."""

    content: bytes
    media_type: str
    coding: str
    sha256: str
    length: int
    missing: str = ""

    def text(self, *, exact: bool) -> Iterator[str]:
        """The body for reading, line by line; `exact` is False where secrets were taken out."""
        if self.missing:
            yield f"{INDENT}body: {self.missing}"
            return
        read = readable(self.content, self.media_type, self.coding)
        said = [self.media_type or "no media type", size(self.length)]
        said += [read.note] if read.note else []
        said += [] if exact else ["secrets taken out"]
        yield f"{INDENT}body: {'; '.join(said)}"
        yield from (f"{INDENT}{INDENT}{line}" for line in read.text.splitlines())

    def record(self) -> dict[str, object]:
        """The body as --json prints it: `text`, or `b64` where it is none, with its content coding undone."""
        if self.missing:
            return {"missing": self.missing}
        content, _ = undone(self.content, self.coding)
        record: dict[str, object] = {
            "media_type": self.media_type,
            "coding": self.coding,
            "length": self.length,
            "sha256": self.sha256,
        }
        try:
            return {**record, "text": content.decode()}
        except UnicodeDecodeError:
            return {**record, "b64": base64.b64encode(content).decode()}


def body_of(
    reader: Reader, event: Event, apart: Apart | None, headers: Sequence[tuple[bytes, bytes]] = ()
) -> Body | None:
    """The body that an event commits to, which `headers` describe; None when it commits to none."""
    if apart is None:
        return None
    try:
        opening = reader.opening(event, apart)
        content = reader.body(event, apart)
    except EdgetapeError as error:
        return Body(b"", "", "", "", 0, str(error))
    media_type = next((shown(value) for name, value in headers if name.lower() == b"content-type"), "")
    return Body(content, media_type, content_encoding(headers), opening.sha256.hex(), opening.length)


def request_body(reader: Reader, exchange: Exchange) -> Body | None:
    """The body that the agent sent, whether at once or as a stream."""
    headers = reader.pairs(exchange.request, exchange.facts.headers)
    if exchange.facts.body is None and exchange.upload is not None:
        facts = exchange.upload.facts
        assert isinstance(facts, HttpRequestEnd)
        return body_of(reader, exchange.upload, facts.body, as_stored(headers, exact=facts.exact))
    return body_of(reader, exchange.request, exchange.facts.body, as_stored(headers, exact=exchange.facts.exact))


def response_body(reader: Reader, exchange: Exchange) -> Body | None:
    """The body that came back, as far as it came."""
    if exchange.outcome is None or exchange.response is None:
        return None
    headers = as_stored(reader.pairs(exchange.outcome, exchange.response.headers), exact=exchange.response.exact)
    return body_of(reader, exchange.outcome, exchange.response.body, headers)

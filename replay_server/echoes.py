"""Puts the agent's own ids into what is served: where the recorded answer repeated a recorded id, stands today's.

Rules kept here:
- Whole values only, in JSON, event streams and headers; nothing inside a longer text, and no member's name.
- A JSON-RPC answer has the id of the live request, number or string as that spelled it, at the top level only; what
  the server itself asks keeps its own.
- A body with a content coding stays as it is, but for a JSON-RPC answer: without its id no client would take it, so
  that is served decoded.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import msgspec

from replay_server.answer import Recorded
from replay_server.minted import Scalar, alike
from replay_server.rewriting import Change, changes, headed, media_type, rewritten
from store.core import coding, rpc
from store.core.coding import as_stored
from store.core.errors import Malformed
from store.core.form import DECODED_BYTES_MAX, Pairs
from store.core.jsontext import Node, Number

_VALUE = re.compile(rb'(\\*")([A-Za-z0-9_.:~+/=-]{8,200})\1(?!\s*:)')
_FIELD = re.compile(rb"\S+")
_DATA = re.compile(rb"^data: ?(.*)$", re.MULTILINE)
_REQUEST_IDS = frozenset(
    (
        b"idempotency-key", b"x-idempotency-key", b"x-request-id", b"x-client-request-id", b"x-correlation-id",
        b"x-ms-client-request-id", b"request-id",
    )
)  # fmt: skip

type Ids = Mapping[Scalar, Scalar]


class Echoes(msgspec.Struct, frozen=True):
    """What one answer may have to repeat: `values` and `fields` by what was recorded, `ids` of JSON-RPC messages."""

    values: Mapping[bytes, bytes]
    ids: Ids
    fields: Mapping[bytes, bytes]

    def put(self, recorded: Recorded) -> Recorded:
        """The answer as it is served; `mapped` of it counts what was put in."""
        fields = {**self.values, **self.fields}
        served = headed(recorded, _FIELD, lambda found: fields.get(found[0])) if fields else recorded
        plain = self._plain(served)
        found = [] if plain is None else self._changes(plain)
        return served if plain is None or not found else replace(rewritten(plain, found), mapped=len(found))

    def _plain(self, recorded: Recorded) -> Recorded | None:
        """The answer with a body that can be written into, None where that has no such body."""
        if not (self.values or self.ids) or not recorded.body:
            return None
        codings = coding.content_encoding(recorded.headers)
        if not codings:
            return recorded
        if not self.ids:
            return None
        try:
            body = coding.decode(recorded.body, codings, DECODED_BYTES_MAX)
        except Malformed:
            return None
        return replace(recorded, headers=as_stored(recorded.headers, exact=False), body=body, chunks=())

    def _changes(self, recorded: Recorded) -> list[Change]:
        kind = media_type(recorded.headers)
        body = recorded.body
        if not (kind.endswith(b"json") or kind == b"text/event-stream"):
            return []
        found: list[Change] = []
        if self.ids and b'"jsonrpc"' in body:
            spans = [(0, len(body))] if kind.endswith(b"json") else [match.span(1) for match in _DATA.finditer(body)]
            found = [change for span in spans for change in self._renamed(body, *span)]
        if self.values:
            taken = {at for start, end, _ in found for at in range(start, end)}
            whole = changes(body, _VALUE, lambda match: self._whole(match[1], match[2]))
            found += [change for change in whole if change[0] not in taken]
        return sorted(found)

    def _whole(self, quote: bytes, value: bytes) -> bytes | None:
        live = self.values.get(value)
        return None if live is None else quote + live + quote

    def _renamed(self, body: bytes, start: int, end: int) -> Iterator[Change]:
        for began, ended in rpc.answer_ids(body, start, end):
            live = self.ids.get(_scalar(body[began:ended]))
            if live is not None:
                yield began, ended, live.source.encode() if isinstance(live, Number) else json.dumps(live).encode()


def answer_ids(recorded: Node, live: Node) -> dict[Scalar, Scalar]:
    """The ids of the JSON-RPC messages of two bodies that differ, recorded ones first."""
    pairs = zip(_messages(recorded), _messages(live), strict=False)
    return {was: now for was, now in pairs if was is not None and now is not None and was != now}


def request_fields(recorded: Pairs, live: Pairs) -> dict[bytes, bytes]:
    """The request ids and idempotency keys of two lists of headers that differ: they are not compared, but repeated."""
    lives = {name.lower(): value for name, value in live if name.lower() in _REQUEST_IDS}
    pairs = ((value, lives.get(name.lower())) for name, value in recorded if name.lower() in _REQUEST_IDS)
    return {
        was: now
        for was, now in pairs
        if now is not None and was != now and alike(was.decode("latin-1"), now.decode("latin-1"))
    }


def _messages(body: Node) -> list[Scalar | None]:
    items = body if isinstance(body, list) else [body]
    ids = (item.get("id") if isinstance(item, dict) and "jsonrpc" in item else None for item in items)
    return [one if isinstance(one, str | Number) else None for one in ids]


def _scalar(source: bytes) -> Scalar:
    try:
        value = json.loads(source) if source.startswith(b'"') else None
    except ValueError:
        value = None
    return value if isinstance(value, str) else Number(source.decode("utf-8", "replace"))

"""Derives what events say of bodies from those bodies again (`--deep`; docs/format.md, section 7, V620); pure.

Rules kept here:
- Only what names rules that we know is judged; what newer rules derived is incomplete, not wrong.
- Where a body that it takes is not there (erased, withheld, itself faulty) nothing is said, and counted.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from store.core import chunks, draft
from store.core.coding import as_stored
from store.core.draft import DERIVED, FACTS_BYTES_MAX, Sheet
from store.core.errors import Malformed
from store.core.event import Event
from store.core.model import Facts, HttpError, HttpRequest, HttpRequestEnd, HttpResponse
from store.core.text import Apart, Headers, Text, pairs_in, text_bytes
from store.labels import classify
from store.labels.dialect import RequestLabels
from store.labels.own import NO_RULES, OwnRules
from store.labels.spelling import request_members, response_members
from store.labels.wire import HeaderPairs, Request
from store.verify.verdict import Tally

UNCHECKED = "FACTS_UNCHECKED"

# What a commitment takes in an envelope, more than the mark that stands in a draft for it.
_COMMITMENT_BYTES = 64 - len("#0")
_ROUNDING_BYTES = 256

type Contents = Mapping[str, bytes]


class Absent(Exception):  # it is no error: a body that is not there
    """A body that it takes is not there."""


@dataclass(slots=True)
class Deep:
    """Judges the derived facts of one run, whose events come in order; `rules` are those that are at hand."""

    run: str
    tally: Tally
    rules: Sequence[OwnRules] = (NO_RULES,)
    _asked: dict[int, RequestLabels] = field(default_factory=dict)
    _newer: set[str] = field(default_factory=set)

    def event(self, happened: Event, contents: Contents) -> None:
        """Judges one event; `contents` are its sound bodies by their pointers."""
        try:
            match happened.facts:
                case HttpRequest() as facts:
                    self._request(happened.seq, facts, contents)
                case HttpResponse() as facts:
                    self._response(happened.seq, facts, contents)
                case HttpError() as facts:
                    self._asked.pop(facts.req, None)
            if isinstance(happened.facts, HttpResponse | HttpRequestEnd):
                self._chunks(happened.seq, happened.facts, contents)
        except Absent:
            self.tally.counts[UNCHECKED] += 1

    def _request(self, seq: int, facts: HttpRequest, contents: Contents) -> None:
        rules = self._known(facts.rules)
        if rules is None:
            return
        self._asked[seq] = classify.recorded(facts)
        request, sheet = _asked(facts, contents), Sheet()
        with self._readable(seq):
            self._asked[seq] = rules.label(request)
            self._compare(seq, facts, sheet, request_members(sheet, self._asked[seq]), contents)

    def _response(self, seq: int, facts: HttpResponse, contents: Contents) -> None:
        labels = self._asked.pop(facts.req, None)
        rules = self._known(facts.rules)
        if rules is None or labels is None:
            return
        headers = as_stored(_pairs(facts.headers, "/headers", contents), exact=facts.exact)
        body, sheet = _content(facts.body, "/body", contents), Sheet()
        with self._readable(seq):
            members = response_members(sheet, rules.response_labels(labels, facts.status, headers, body))
            self._compare(seq, facts, sheet, members, contents)

    @contextmanager
    def _readable(self, seq: int) -> Iterator[None]:
        """Whatever the bodies are: what cannot be derived from them was not derived from them either."""
        try:
            yield
        except Absent:
            raise
        except Exception as error:  # noqa: BLE001  # as the recorder does, which then says nothing of them
            self.tally.find("V620", f"nothing can be derived from its bodies: {error}", self.run, seq)

    def _known(self, rules: str | None) -> OwnRules | None:
        """The rules of that name; nobody derived anything where there are none. What an operator's own said that are
        not here is not judged.
        """
        found = next((each for each in self.rules if each.version == rules), None)
        if found is None and rules is not None and rules.startswith(f"{classify.RULES}+"):
            self.tally.counts[UNCHECKED] += 1
        elif found is None and rules is not None and rules not in self._newer:
            self._newer.add(rules)
            self.tally.newer.append(
                f"run {self.run}: facts by the rules {rules[:64]!r}, which this program does not know"
            )
        return found

    def _compare(self, seq: int, facts: Facts, sheet: Sheet, members: Mapping[str, Any], contents: Contents) -> None:
        derived = _fitting(facts, members)
        names = dict(zip(facts.__struct_fields__, facts.__struct_encode_fields__, strict=True))
        for name in members:
            said, true = getattr(facts, name), getattr(derived, name)
            held = [each for each in sheet.contents if isinstance(each, bytes)]
            if not _same(said, true, f"/{names[name]}", held, contents):
                self.tally.find("V620", f"{names[name]} is not what its bodies give", self.run, seq)

    def _chunks(self, seq: int, facts: HttpResponse | HttpRequestEnd, contents: Contents) -> None:
        """A table of pieces has to be one, and its pieces as long as the body."""
        # What a replay changed in a body that it served again, it did not cut anew.
        mapped = any(kind == "mapped" for kind, *_ in facts.redactions or ())
        if facts.chunks is None or mapped:
            return
        body = _content(facts.body, "/body", contents)
        try:
            pieces = chunks.decode(_content(facts.chunks, "/chunks", contents))
        except Malformed as error:
            self.tally.find("V620", f"chunks: {error}", self.run, seq)
        else:
            if pieces and sum(piece.length for piece in pieces) != len(body):
                self.tally.find("V620", "chunks are not as long as the body", self.run, seq)


def _fitting(facts: Facts, members: Mapping[str, Any]) -> Facts:
    """The facts with these members, as a draft has them: without what would have burst their envelope."""
    derived = msgspec.structs.replace(facts, **members)
    dropped = {name: None for name in DERIVED if getattr(facts, name, None) is None and name in members}
    size = len(msgspec.json.encode(derived)) - _COMMITMENT_BYTES * len(draft.commitments(facts))
    return msgspec.structs.replace(derived, **dropped) if size + _ROUNDING_BYTES > FACTS_BYTES_MAX else derived


def _same(said: object, true: object, pointer: str, apart: Sequence[bytes], contents: Contents) -> bool:
    """Whether what an event says is what was derived, of which long texts stand in `apart`."""
    if isinstance(true, Apart) and true.body is not None:
        return isinstance(said, Apart) and _content(said, pointer, contents) == apart[int(true.body[1:])]
    if isinstance(said, list) and isinstance(true, list) and len(said) == len(true):
        return all(
            _same(one, other, f"{pointer}/{at}", apart, contents)
            for at, (one, other) in enumerate(zip(said, true, strict=True))
        )
    return said == true


def _asked(facts: HttpRequest, contents: Contents) -> Request:
    """A request as the recorder gave it to the rules."""
    method, scheme, host, path = (
        _text(getattr(facts, name), f"/{name}", contents) for name in ("method", "scheme", "host", "path")
    )
    if facts.query is not None:
        path += b"?" + _content(facts.query, "/query", contents)
    headers = as_stored(_pairs(facts.headers, "/headers", contents), exact=facts.exact)
    return Request(method, scheme, host, facts.port, path, headers, _content(facts.body, "/body", contents))


def _content(value: Apart | None, pointer: str, contents: Contents) -> bytes:
    """A body, nothing for None. Raises Absent."""
    if value is None:
        return b""
    if pointer not in contents:
        raise Absent
    return contents[pointer]


def _text(value: Text, pointer: str, contents: Contents) -> bytes:
    if isinstance(value, Apart) and value.body is not None:
        return _content(value, pointer, contents)
    return text_bytes(value)


def _pairs(headers: Headers, pointer: str, contents: Contents) -> HeaderPairs:
    if isinstance(headers, Apart):
        try:
            return pairs_in(_content(headers, pointer, contents))
        except Malformed as error:
            raise Absent from error
    return [
        (_text(name, f"{pointer}/{at}/0", contents), _text(value, f"{pointer}/{at}/1", contents))
        for at, (name, value) in enumerate(headers)
    ]

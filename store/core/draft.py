"""A draft: what one event will say, before the writer gives it its place and commits its bodies.

Rules kept here:
- An envelope holds names, numbers and commitments, never content: a text above 1 KiB, and a header list above 16 KiB,
  become bodies, measured as the record spells them. So nothing that the wire or the agent brings makes a record too
  long.
- Only what redaction has made gets in; what it gives in pieces (`Long`) is never put together here.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any, TypeGuard, cast

import msgspec

from store.core import canonical, digest
from store.core.model import Facts
from store.core.redact import Long, Redacted
from store.core.text import Apart, Body, Headers, Pairs, Text, text

type Members = dict[str, canonical.Json]
type Mark = dict[str, str]
type Salt = Callable[[str], bytes]
type Bytes = bytes | Long

TEXT_BYTES_MAX = 1024
PAIRS_BYTES_MAX = 16 * 1024
FACTS_BYTES_MAX = 60 * 1024

# What labels read out of the bodies, and can read again: it is left out of an envelope that it would burst.
DERIVED = ("settings", "tools", "usage")
# In canonical bytes no text can hold this, for its quotation marks would be escaped.
_COMMITMENT = b'{"body":"'
# A byte takes six at most (\\u0000), and bytes that are no text a frame of some more: what cannot be too long even so
# is not measured.
_SPELLED_MOST = 6
_PAIR = 16
_PLAIN = frozenset((str, int, bool, type(None)))


class Elsewhere(msgspec.Struct, frozen=True):
    """A body of an event of another run, by the place in the event where it is named (JSON Pointer, RFC 6901)."""

    run: str
    seq: int
    pointer: str


class Draft(msgspec.Struct, frozen=True):
    """An event's facts, in which `{"body": "#n"}` stands for `contents[n]`.

    `elsewhere` says by n which body of another run a content may be, byte for byte.
    """

    facts: Facts
    contents: tuple[Bytes, ...] = ()
    elsewhere: Mapping[int, Elsewhere] = msgspec.field(default_factory=dict)

    @property
    def is_long(self) -> bool:
        """Whether one of its bodies is not in memory."""
        return any(isinstance(content, Long) for content in self.contents)


class Content(msgspec.Struct, frozen=True):
    """A body that is not committed yet: where in its event it is named (JSON Pointer, RFC 6901), digest, content.

    `mark` is the member of the event where its commitment will stand.
    """

    pointer: str
    sha256: bytes
    content: Bytes
    mark: Mark
    elsewhere: Elsewhere | None = None


class Opening(msgspec.Struct, frozen=True):
    """What reveals a committed body: where in its event it is named, salt, digest, content."""

    pointer: str
    salt: bytes
    sha256: bytes
    content: Bytes
    elsewhere: Elsewhere | None = None


@dataclass(slots=True)
class Sheet:
    """Gathers the bodies of one event while its facts are written down."""

    contents: list[Bytes] = field(default_factory=list)
    elsewhere: dict[int, Elsewhere] = field(default_factory=dict)

    def apart(
        self, redacted: Redacted | Long, media_type: str = "", coding: str = "", elsewhere: Elsewhere | None = None
    ) -> Body:
        """Puts bytes aside as a body; `elsewhere` says where the same ones may be kept already."""
        if elsewhere is not None:
            self.elsewhere[len(self.contents)] = elsewhere
        self.contents.append(redacted if isinstance(redacted, Long) else redacted.content)
        return Body(body=f"#{len(self.contents) - 1}")

    def text(self, redacted: Redacted) -> Text:
        """A text in the envelope if it is short, else a body."""
        short = text(redacted.content)
        if len(redacted.content) * _SPELLED_MOST <= TEXT_BYTES_MAX:
            return short
        if len(msgspec.json.encode(short)) > TEXT_BYTES_MAX + len('""'):
            return self.apart(redacted, "text/plain")
        return short

    def pairs(self, pairs: Sequence[tuple[Redacted, Redacted]]) -> Headers:
        """Ordered pairs in the envelope if they are few, else one body: the JSON of the same list."""
        if (
            sum(len(name.content) + len(value.content) + _PAIR for name, value in pairs) * _SPELLED_MOST
            > PAIRS_BYTES_MAX
        ):
            spelled: Pairs = [[text(name.content), text(value.content)] for name, value in pairs]
            raw = json.dumps(msgspec.to_builtins(spelled), separators=(",", ":"), ensure_ascii=False).encode()
            if len(raw) > PAIRS_BYTES_MAX:
                return self.apart(Redacted(raw, len(raw)), "application/json")
        return [[self.text(name), self.text(value)] for name, value in pairs]

    def draft(self, facts: Facts) -> Draft:
        """The finished draft."""
        if len(msgspec.json.encode(facts)) > FACTS_BYTES_MAX:
            facts = msgspec.structs.replace(facts, **{name: None for name in DERIVED if hasattr(facts, name)})
        return Draft(facts, tuple(self.contents), self.elsewhere)


def altered(redacted: Redacted | Long) -> dict[str, Any]:
    """The members that tell how a body differs from what crossed the wire."""
    if redacted.exact:
        return {}
    return {
        "exact": False,
        "wire_bytes": redacted.wire_bytes,
        "redactions": [list(mark) for mark in redacted.marks],
    }


def weighed(draft: Draft) -> tuple[Members, list[Content]]:
    """The members that `draft` adds to its record, and its bodies: in the place of the commitment of each stands its
    SHA-256, for a commitment takes a salt, which is known once the event has its place.
    """
    members = cast("Members", msgspec.to_builtins(draft.facts))
    # As a rule a body is named by a member of the event itself: then nothing that stands in others is looked through.
    marks = [(f"/{name}", member) for name, member in members.items() if type(member) is dict and _is_mark(member)]
    if len(marks) != len(draft.contents):
        marks = list(_marks(members, ""))
    contents = []
    for pointer, mark in marks:
        at = int(mark["body"][1:])
        content = draft.contents[at]
        contents.append(Content(pointer, _sha256(content), content, mark, draft.elsewhere.get(at)))
        mark["body"] = contents[-1].sha256.hex()
    return members, contents


def _is_mark(value: canonical.Json) -> TypeGuard[Mark]:
    if type(value) is not dict or len(value) != 1:
        return False
    mark = value.get("body")
    return type(mark) is str and mark.startswith("#")


def _marks(value: canonical.Json, pointer: str) -> Iterator[tuple[str, Mark]]:
    """Where bodies are named, in the order of the event."""
    # By far the most are texts, and lists of them: those are not looked into.
    if isinstance(value, dict):
        if _is_mark(value):
            yield pointer, value
            return
        for name, member in value.items():
            if type(member) not in _PLAIN:
                yield from _marks(member, f"{pointer}/{name}")
    elif isinstance(value, list) and not _is_plain(value):
        for index, item in enumerate(value):
            yield from _marks(item, f"{pointer}/{index}")


def _sha256(content: Bytes) -> bytes:
    return digest.pieces_digest(content.pieces()) if isinstance(content, Long) else digest.body_digest(content)


def seal(members: Members, contents: Iterable[Content], salt: Salt) -> tuple[Members, list[Opening]]:
    """Weighed members, in which the commitments stand in their places now, and the openings. `salt` gives 32 bytes for
    a pointer.
    """
    openings = []
    for each in contents:
        opening = Opening(each.pointer, salt(each.pointer), each.sha256, each.content, each.elsewhere)
        each.mark["body"] = digest.commitment(opening.salt, opening.sha256, len(opening.content)).hex()
        openings.append(opening)
    return members, openings


def commitments(facts: Facts, raw: bytes | None = None) -> dict[str, str]:
    """Every commitment (64 hex) that an event names, by the JSON Pointer of the place where it stands.

    `raw`, its canonical bytes if they are at hand, tell how many there are: it is looked no further when all are found.
    """
    found: dict[str, str] = {}
    left = -1 if raw is None else raw.count(_COMMITMENT)
    if left:
        _gather(facts, "", found, left)
    return found


def _gather(value: object, pointer: str, found: dict[str, str], most: int) -> None:
    # Called for every record that is verified: what holds no commitment, as by far the most does, is not looked into.
    if isinstance(value, Apart):
        if value.body is not None:
            found[pointer] = value.body
    elif isinstance(value, list):
        if not _is_plain(value):
            for index, item in enumerate(value):
                _gather(item, f"{pointer}/{index}", found, most)
    elif isinstance(value, msgspec.Struct):
        names, members = _members(type(value))
        deeper = []
        for name, member in zip(names, members(value), strict=True):
            if isinstance(member, Apart):
                _gather(member, f"{pointer}/{name}", found, most)
            elif type(member) not in _PLAIN:
                deeper.append((name, member))
        for name, member in deeper:
            if len(found) != most:
                _gather(member, f"{pointer}/{name}", found, most)


def _is_plain(items: list[object]) -> bool:
    """Whether a list, or each list in it, is of texts and numbers alone."""
    kinds = set(map(type, items))
    if kinds == {list}:
        kinds = set(map(type, chain.from_iterable(cast("list[list[object]]", items))))
    return kinds <= _PLAIN


@cache
def _members(kind: type[msgspec.Struct]) -> tuple[tuple[str, ...], Callable[[msgspec.Struct], tuple[object, ...]]]:
    """The names of a type's members as a record spells them, and what takes their values out of one."""
    fields = kind.__struct_fields__
    # Twice the first, for a type of one member: of a single name an attrgetter gives no tuple.
    take = attrgetter(*fields, fields[0])
    return kind.__struct_encode_fields__, lambda value: take(value)[:-1]

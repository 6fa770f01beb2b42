"""Values that an agent makes up anew in every run: where in a request they may stand, and what they look like.

Rules kept here:
- A place is known by its name: JSON-RPC's id, idempotency keys and request ids anywhere, and in an LLM request the ids
  of its session, of its messages and of its tool calls. What people, models and tools said is never such a place.
- A value is known by its shape: a UUID, a long hexadecimal, a token. A date, a time, a number and a word are none.
- The id of a JSON-RPC message only ties an answer to its request, so any scalar will do; where one message names
  another (a cancellation), it has to name the same one.
"""

import re
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from replay_server.conversation import SYSTEM, TOOLS, history
from store.core.compare import escaped
from store.core.form import Form
from store.core.jsontext import Inner, Node, Number

type Scalar = str | Number
type Role = Literal["token", "correlation", "reference"]

BLANK = "\0minted"

_REQUEST_NAMES = frozenset(
    (
        "clientrequestid", "clienttoken", "correlationid", "idempotencykey", "nonce", "requestid", "requesttoken",
        "traceparent",
    )
)  # fmt: skip
_LLM_NAMES = re.compile(
    r"^(id|promptcachekey)$|(session|thread|turn|call|tooluse|request|message|run|window|invocation|generation|item)id$"
)
_SAID = frozenset(("args", "arguments", "input", "output", "parameters", "response", "result", "text"))
_ENVELOPES = frozenset(("metadata", "client_metadata"))

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEX = re.compile(r"[0-9a-f]{16,}|[0-9A-F]{16,}")
_TOKEN = re.compile(r"[A-Za-z0-9_.:~+/=-]{12,200}")
_DATE = re.compile(r"(19|20)\d\d-?[01]\d-?[0-3]\d|\d{1,2}:\d\d|(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b")
_DIGITS = re.compile(r"[\d.:/+-]+")
_HEAD = re.compile(r"[A-Za-z]+(?=[_.:-])")
_LENGTHS_APART_MAX = 4


class Spot(NamedTuple):
    """One place of a request's document where a minted value may stand, and what stands there."""

    pointer: str
    value: Scalar
    role: Role


@dataclass(frozen=True, slots=True)
class Blanked:
    """A request with its spots blanked out: requests that differ in nothing else have the same key (32 bytes)."""

    key: bytes
    spots: tuple[Spot, ...]


def blanked(form: Form) -> Blanked:
    """`form` without what may have been minted. Equal keys have their spots in the same places and order."""
    spots: list[Spot] = []
    document: dict[str, Node] = {}
    for part in sorted(form.document):
        value = form.document[part]
        match part:
            case "body":
                document[part] = _Walk(spots, _is_llm(value)).body(value)
            case "query" | "headers":
                document[part] = _Walk(spots, llm=False).node(value, f"/{part}", "")
            case _:
                document[part] = value
    return Blanked(replace(form, document=document).key if spots else form.key, tuple(spots))


def shape(value: Scalar) -> str | None:
    """What kind of minted value this looks like, None where it looks like none."""
    if isinstance(value, Number) or _DIGITS.fullmatch(value) or _DATE.match(value):
        return None
    if _UUID.fullmatch(value):
        return "uuid"
    if _HEX.fullmatch(value):
        return f"hex {len(value)}"
    if _TOKEN.fullmatch(value) and any(letter.isdigit() for letter in value):
        head = _HEAD.match(value)
        return f"token {head[0] if head else ''}"
    return None


def alike(recorded: Scalar, live: Scalar) -> bool:
    """Whether both look as if the same code had made them up."""
    if isinstance(recorded, Number) or isinstance(live, Number):
        return False
    kind = shape(recorded)
    return kind is not None and kind == shape(live) and abs(len(recorded) - len(live)) <= _LENGTHS_APART_MAX


@dataclass(frozen=True, slots=True)
class _Walk:
    spots: list[Spot]
    llm: bool

    def body(self, value: Node) -> Node:
        """A whole body; a list of JSON-RPC messages is one message after another."""
        if isinstance(value, list):
            return [self._message(item, f"/body/{at}") for at, item in enumerate(value)]
        return self._message(value, "/body")

    def node(self, node: Node, pointer: str, name: str, *, inner: bool = False) -> Node:
        """`node` with its spots blanked; `name` is that of the nearest member above."""
        match node:
            case dict():
                return {
                    member: node[member]
                    if self._is_said(member, pointer)
                    else self.node(node[member], f"{pointer}/{escaped(member)}", member, inner=inner)
                    for member in sorted(node)
                }
            case list():
                return [self.node(item, f"{pointer}/{at}", "", inner=inner) for at, item in enumerate(node)]
            case Inner(value) if not self.llm or name in ("user_id", "x-codex-turn-metadata"):
                return Inner(self.node(value, f"{pointer}#", name, inner=True))
            case str() if self._is_id(name) and shape(node) is not None:
                return self._blank(Spot(pointer, node, "token"))
        return node

    def _message(self, value: Node, pointer: str) -> Node:
        if not isinstance(value, dict) or "jsonrpc" not in value or "method" not in value:
            return self.node(value, pointer, "")
        kept = dict(value)
        for path, role in _CORRELATIONS:
            _blank_at(kept, path, pointer, role, self.spots)
        return self.node(kept, pointer, "")

    def _is_said(self, member: str, pointer: str) -> bool:
        """Whether an LLM request has here what was said, not who says it."""
        if not self.llm:
            return False
        top = pointer == "/body"
        return member in (SYSTEM + TOOLS) if top else member in _SAID and not _enveloped(pointer)

    def _is_id(self, name: str) -> bool:
        plain = re.sub(r"[^a-z]", "", name.lower())
        if plain in _REQUEST_NAMES:
            return True
        return self.llm and _LLM_NAMES.search(plain) is not None

    def _blank(self, spot: Spot) -> str:
        self.spots.append(spot)
        return BLANK


_CORRELATIONS: tuple[tuple[tuple[str, ...], Role], ...] = (
    (("id",), "correlation"),
    (("params", "_meta", "progressToken"), "correlation"),
    (("params", "requestId"), "reference"),
    (("params", "message", "messageId"), "token"),  # A2A
)


def _blank_at(message: dict[str, Node], path: tuple[str, ...], pointer: str, role: Role, spots: list[Spot]) -> None:
    """Blanks one place of a JSON-RPC message in place, copying what leads to it."""
    *above, last = path
    for name in above:
        inner = message.get(name)
        if not isinstance(inner, dict):
            return
        message[name] = inner = dict(inner)
        message = inner
    value = message.get(last)
    if isinstance(value, str | Number) and (role != "token" or shape(value) is not None):
        spots.append(Spot("/".join((pointer, *path)), value, role))
        message[last] = BLANK


def _is_llm(body: Node) -> bool:
    return isinstance(body, dict) and history(body) is not None


def _enveloped(pointer: str) -> bool:
    return any(token in _ENVELOPES for token in pointer.split("/"))

"""JSON text as values that lose nothing which matters when two of them are compared (RFC 8259).

Rules kept here:
- A number is its spelling: 1.0 is not 1, and no big integer, exponent or NaN is rounded away.
- An object that names a member twice stays a list of pairs.
- The order of members, white space and the escapes of a string do not matter.
- A string that is itself a JSON object or array is read too: agents send tool arguments so.
"""

import hashlib
import json

import msgspec

from store.core.errors import Malformed
from store.core.words import noun

_INNER_DEPTH_MAX = 3


class Number(msgspec.Struct, frozen=True, array_like=True, tag="\0number"):
    """A number as it was spelled."""

    source: str


class Repeated(msgspec.Struct, frozen=True, array_like=True, tag="\0repeated"):
    """The members of an object that names one of them twice, in order."""

    pairs: tuple[tuple[str, "Node"], ...]


class Inner(msgspec.Struct, frozen=True, array_like=True, tag="\0inner"):
    """A string that holds JSON: what it holds."""

    value: "Node"


class Octets(msgspec.Struct, frozen=True, array_like=True, tag="\0octets"):
    """Bytes that are no text: their SHA-256 (64 hex) and how many."""

    sha256: str
    length: int

    @classmethod
    def of(cls, raw: bytes) -> "Octets":
        """What stands for `raw`."""
        return cls(hashlib.sha256(raw).hexdigest(), len(raw))


type Node = dict[str, Node] | list[Node] | str | Number | Repeated | Inner | Octets | bool | None


def parse(raw: bytes | str) -> Node:
    """The value of a JSON text. Raises Malformed for anything else, and for nesting that no provider sends."""
    try:
        text = raw.decode("utf-8") if isinstance(raw, bytes) else raw
        found = _DECODER.decode(text)
    except (ValueError, RecursionError):
        raise Malformed("not JSON") from None
    node: Node = found
    return node


def opened(node: Node, depth: int = _INNER_DEPTH_MAX) -> Node:
    """`node` with each string that holds a JSON object or array replaced by what it holds."""
    match node:
        case dict():
            return {name: opened(member, depth) for name, member in node.items()}
        case list():
            return [opened(item, depth) for item in node]
        case Repeated(pairs):
            return Repeated(tuple((name, opened(member, depth)) for name, member in pairs))
        case str() if depth and node[:1] in ("{", "[") and node.rstrip()[-1:] in ("}", "]"):
            try:
                return Inner(opened(parse(node), depth - 1))
            except Malformed:
                return node
    return node


def canonical(node: Node) -> bytes:
    """The same bytes for all spellings of one value, and for no other: what keys are made of.

    What JSON has no word for stands as an array with its tag, with which no JSON text of a provider begins one.
    """
    try:
        return _ENCODER.encode(node)
    except UnicodeEncodeError:  # half a surrogate pair, which no UTF-8 text has: the bytes are unlike all others
        return _PATIENT.encode(node).encode("utf-8", "surrogatepass")


def digest(node: Node) -> bytes:
    """32 bytes that are equal for equal values only."""
    return hashlib.sha256(canonical(node)).digest()


def shown(node: Node) -> str:
    """A value as a person reads it: numbers as they were spelled, strings quoted."""
    match node:
        case Number(source):
            return source
        case Inner(value):
            return json.dumps(shown(value), ensure_ascii=False)
        case Octets(sha256, length):
            return f"({length} {noun(length, 'byte')}, SHA-256 {sha256})"
        case dict():
            return (
                "{"
                + ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {shown(member)}" for name, member in node.items())
                + "}"
            )
        case Repeated(pairs):
            return (
                "{"
                + ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {shown(member)}" for name, member in pairs)
                + "}"
            )
        case list():
            return "[" + ", ".join(shown(item) for item in node) + "]"
    return json.dumps(node, ensure_ascii=False)


def _members(pairs: list[tuple[str, Node]]) -> Node:
    members = dict(pairs)
    return members if len(members) == len(pairs) else Repeated(tuple(pairs))


_DECODER = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=Number, object_pairs_hook=_members)
_ENCODER = msgspec.json.Encoder(order="deterministic")
_PATIENT = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=msgspec.to_builtins)

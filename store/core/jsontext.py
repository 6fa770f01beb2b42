"""JSON text as values that lose nothing which matters when two of them are compared (RFC 8259).

Rules kept here:
- A number is its spelling: 1.0 is not 1, and no big integer, exponent or NaN is rounded away.
- An object that names a member twice stays a list of pairs.
- The order of members, white space and the escapes of a string do not matter.
- A string that is itself a JSON object or array is read too: agents send tool arguments so.
"""

import hashlib
import json
from dataclasses import dataclass

from store.core.errors import Malformed

_INNER_DEPTH_MAX = 3


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it was spelled."""

    source: str


@dataclass(frozen=True, slots=True)
class Repeated:
    """The members of an object that names one of them twice, in order."""

    pairs: tuple[tuple[str, "Node"], ...]


@dataclass(frozen=True, slots=True)
class Inner:
    """A string that holds JSON: what it holds."""

    value: "Node"


@dataclass(frozen=True, slots=True)
class Octets:
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


def canonical(node: Node) -> str:
    """One text for all spellings of the same value: what keys are made of, and what people are shown."""
    return _ENCODER.encode(node)


def digest(node: Node) -> bytes:
    """32 bytes that are equal for equal values only."""
    return hashlib.sha256(canonical(node).encode("utf-8", "surrogatepass")).digest()


def shown(node: Node) -> str:
    """A value as a person reads it: numbers as they were spelled, strings quoted."""
    match node:
        case Number(source):
            return source
        case Inner(value):
            return json.dumps(shown(value), ensure_ascii=False)
        case Octets(sha256, length):
            return f"({length} bytes, SHA-256 {sha256})"
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


def _spelled(node: object) -> object:
    # The first item is no string that any JSON text of a provider begins an array with, so nothing is taken for it.
    match node:
        case Number(source):
            return ["\0number", source]
        case Repeated(pairs):
            return ["\0repeated", *([name, member] for name, member in pairs)]
        case Inner(value):
            return ["\0inner", value]
        case Octets(sha256, length):
            return ["\0octets", sha256, length]
    raise TypeError(f"no JSON value: {type(node).__name__}")


_DECODER = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=Number, object_pairs_hook=_members)
_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_spelled)

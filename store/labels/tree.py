"""Reads JSON that came from the wire without trusting its shape: a member is of the type asked for, or it is nothing.

Lone surrogates, which JSON can spell but UTF-8 cannot, become U+FFFD, so that every text can be stored and printed.
"""

import json
import re
from collections.abc import Mapping
from typing import cast

import msgspec

type Json = bool | int | float | str | list[Json] | dict[str, Json] | None
type Sources = Mapping[str, msgspec.Raw]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_INTEGER_MAX = 2**53 - 1
_DEPTH_MAX = 4
_ESCAPE = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)|\\.", re.DOTALL)
_SOURCES = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_TREE = msgspec.json.Decoder()


def parse(raw: bytes | str) -> Json:
    """The value of a JSON text, None when it is none."""
    return cast("Json", _decoded(_TREE, raw))


def sources(raw: bytes) -> Sources:
    """The members of a JSON object, each as its source text; empty when `raw` is no JSON object."""
    return _decoded(_SOURCES, raw) or {}


def length(source: msgspec.Raw | None) -> int | None:
    """How many items the source text of a JSON array has, None when it is none."""
    found = None if source is None else _decoded(_LIST, bytes(source))
    return None if found is None else len(found)


def _decoded[T](decoder: msgspec.json.Decoder[T], raw: bytes | str) -> T | None:
    if isinstance(raw, str):
        raw = raw.encode("utf-8", "replace")
    raw = raw.removeprefix(_BYTE_ORDER_MARK)
    try:
        return decoder.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        repaired = _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], raw)
    if repaired == raw:
        return None
    try:
        return decoder.decode(repaired)
    except (msgspec.MsgspecError, RecursionError):
        return None


def spell(value: Json) -> str:
    """The JSON text of a value, compact, members in their order; "" for one that is nested too deep."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        return ""


def members(value: Json) -> dict[str, Json]:
    """The members of an object, none for anything else."""
    return value if isinstance(value, dict) else {}


def items(value: Json) -> list[Json]:
    """The items of an array, none for anything else."""
    return value if isinstance(value, list) else []


def text(value: Json) -> str:
    """A string, "" for anything else."""
    return value if isinstance(value, str) else ""


def number(value: Json) -> int:
    """An integer, 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def counts(value: Json, prefix: str = "", depth: int = 0) -> dict[str, int]:
    """The counts below an object, by their dotted names: `prompt_tokens_details.cached_tokens`.

    Left out is what no count is: a cost (a fraction, at times a round one), an integer that a record cannot hold, or
    one nested deeper than any count.
    """
    found: dict[str, int] = {}
    for name, member in members(value).items():
        if "cost" in name:
            continue
        if isinstance(member, dict) and depth < _DEPTH_MAX:
            found |= counts(member, f"{prefix}{name}.", depth + 1)
        elif isinstance(member, int) and not isinstance(member, bool) and abs(member) <= _INTEGER_MAX:
            found[prefix + name] = member
    return found

"""The one byte form of a record: a strict profile of RFC 8785 (docs/format.md, section 2).

Rules kept here:
- UTF-8 without BOM; member names `[a-z0-9_]+`, each once; sorted; no white space.
- Strings of valid Unicode, integers within +-(2^53-1) and no -0, true, false, null, arrays, objects; no floats.
- At most 16 levels deep (the record is the first, a value in it the second) and 65,535 bytes long.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from store.core.errors import Malformed

type Json = str | int | bool | Sequence[Json] | Mapping[str, Json] | None
type Record = Mapping[str, Json]

INTEGER_MAX = 2**53 - 1
DEPTH_MAX = 16
RECORD_BYTES_MAX = 65_535

_NAME = re.compile(r"[a-z0-9_]+")
# With names limited to ASCII and no floats these spell what RFC 8785 asks for; a property test holds them to that.
_ENCODER = msgspec.json.Encoder(order="sorted")
_DECODER = msgspec.json.Decoder()
_TEXTS = frozenset((str,))


class TooLarge(Malformed):
    """A record above RECORD_BYTES_MAX bytes."""


def encode(record: Record) -> bytes:
    """The canonical bytes of `record`.

    Raises Malformed where the profile has no spelling for a value, TooLarge above the limit.
    """
    check(record)
    return spelled(record)


def parse(raw: bytes) -> dict[str, Json]:
    """The record whose canonical bytes `raw` are.

    Raises Malformed for any other spelling, TooLarge above the limit (RFC 8259 would allow several spellings).
    """
    if len(raw) > RECORD_BYTES_MAX:
        raise TooLarge(f"a record of {len(raw)} bytes is above the limit of {RECORD_BYTES_MAX}")
    try:
        value = _DECODER.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Malformed(f"not a record: {error}") from None
    if not isinstance(value, dict):
        raise Malformed("not a record: the outermost value is no object")
    check(value)
    # Whatever else a decoder forgives (a member twice, white space, -0, an escape too many) is not what comes out here.
    if spelled(value) != raw:
        raise Malformed("not a record: another spelling than the canonical one")
    return value


def is_spelling(value: object, raw: bytes) -> bool:
    """Whether `raw`, within the limit, is the one spelling of `value`, which holds nothing that the profile refuses."""
    return len(raw) <= RECORD_BYTES_MAX and _ENCODER.encode(value) == raw


def spelled(record: Record) -> bytes:
    """The same as `encode` of a record that holds nothing that `check` refuses."""
    try:
        raw = _ENCODER.encode(record)
    except UnicodeEncodeError:
        raise Malformed("a lone surrogate is not valid Unicode") from None
    if len(raw) > RECORD_BYTES_MAX:
        raise TooLarge(f"a record of {len(raw)} bytes is above the limit of {RECORD_BYTES_MAX}")
    return raw


def check(value: Json, depth: int = 1) -> None:
    """Raises Malformed for a value at this depth for which the profile has no spelling, but for a lone surrogate."""
    # Called for every value of every record that is read, so strings, by far the most, are not called for.
    if depth > DEPTH_MAX:
        raise Malformed(f"deeper than {DEPTH_MAX} levels")
    if isinstance(value, dict):
        for name, member in value.items():
            if not _is_name(name):
                raise Malformed(f"member name {name!r} is not of a-z, 0-9 and _")
            if type(member) is not str or depth == DEPTH_MAX:
                check(member, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            kind = type(item)
            if kind is list and depth < DEPTH_MAX - 1 and set(map(type, item)) <= _TEXTS:
                continue  # a pair of texts, of which headers are made
            if kind is not str or depth == DEPTH_MAX:
                check(item, depth + 1)
    elif isinstance(value, int):
        if abs(value) > INTEGER_MAX:
            raise Malformed("an integer is beyond 2^53-1")
    elif not isinstance(value, str | None):
        raise Malformed(f"a {type(value).__name__} has no canonical spelling")


@lru_cache(1024)
def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None

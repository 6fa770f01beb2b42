"""Section 2: reads the bytes of a record, strictly."""

import json
import re

type Json = bool | int | str | list[Json] | dict[str, Json] | None
type Record = dict[str, Json]

LONGEST = 65_535
DEEPEST = 16
LARGEST = 2**53 - 1
NAME = re.compile(r"[a-z0-9_]+", re.ASCII)
HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)


class NotCanonicalError(ValueError):
    """The bytes are no record."""


def _whole(digits: str) -> int:
    if len(digits) > 17 or abs(value := int(digits)) > LARGEST:
        raise NotCanonicalError("an integer out of range")
    return value


def _never(word: str) -> None:
    raise NotCanonicalError(f"no number of this profile: {word}")


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotCanonicalError("a member twice")
    if not all(NAME.fullmatch(name) for name in members):
        raise NotCanonicalError("a member's name")
    return members


def _check_depth(value: Json, level: int) -> None:
    if level > DEEPEST:
        raise NotCanonicalError("too deep")
    if isinstance(value, list):
        for item in value:
            _check_depth(item, level + 1)
    elif isinstance(value, dict):
        for item in value.values():
            _check_depth(item, level + 1)


def encode(value: Json) -> bytes:
    """Give the canonical bytes of a value that is within the profile."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def read(data: bytes) -> Record:
    """Parse canonical bytes; NotCanonicalError when they are not."""
    try:
        value: Json = json.loads(
            data.decode(), parse_int=_whole, parse_float=_never, parse_constant=_never, object_pairs_hook=_object
        )
        if not isinstance(value, dict):
            raise NotCanonicalError("no object")
        _check_depth(value, 1)
        if encode(value) != data:
            raise NotCanonicalError("other bytes when encoded again")
    except (RecursionError, ValueError) as error:
        raise NotCanonicalError(str(error)) from error
    return value


def commitments(value: Json, pointer: str = "") -> dict[str, str]:
    """Find every commitment of a value, by the JSON Pointer of its place."""
    found: dict[str, str] = {}
    if isinstance(value, list):
        for index, item in enumerate(value):
            found |= commitments(item, f"{pointer}/{index}")
    elif isinstance(value, dict):
        body = value.get("body")
        if len(value) == 1 and isinstance(body, str) and HASH.fullmatch(body):
            return {pointer: body}
        for name, item in value.items():
            found |= commitments(item, f"{pointer}/{name}")
    return found

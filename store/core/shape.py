"""From a strict record to a typed value, and the ways in which it can fail to be one."""

from collections.abc import Mapping
from typing import Annotated, cast

import msgspec

from store.core import canonical
from store.core.errors import Malformed
from store.core.model import Facts

VERSION = 1

_UUID_7 = r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\Z"

type Run = Annotated[str, msgspec.Meta(pattern=_UUID_7)]
type Time = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{4}(-[0-9]{2}){2}T([0-9]{2}:){2}[0-9]{2}\.[0-9]{6}Z\Z")]
type Count = Annotated[int, msgspec.Meta(ge=0)]


class UnknownVersion(Malformed):
    """A record with a higher `v` than this program knows: nobody's fault, but not to be judged."""


class UnknownShape(Malformed):
    """A type, or a member of a type, that version 1 does not have."""


def split[P: msgspec.Struct](
    record: canonical.Record, place: type[P], kinds: Mapping[str, type[Facts]]
) -> tuple[P, Facts]:
    """What a record says (one of `kinds`, by its `type`) and where it stands (`place`).

    Raises UnknownVersion or UnknownShape.
    """
    version = record.get("v")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise UnknownShape("a record has no version")
    if version > VERSION:
        raise UnknownVersion(f"a record of version {version} is newer than this program knows")
    standing = {name: record[name] for name in place.__struct_fields__ if name in record}
    said = {name: value for name, value in record.items() if name not in standing and name != "v"}
    try:
        return msgspec.convert(standing, place), facts(said, kinds)
    except msgspec.ValidationError as error:
        raise UnknownShape(f"not a record of version 1: {error}") from None


def facts(said: canonical.Record, kinds: Mapping[str, type[Facts]]) -> Facts:
    """The value of what a record says apart from where it stands. Raises UnknownShape."""
    kind = kinds.get(str(said.get("type")))
    if kind is None:
        raise UnknownShape(f"version 1 has no record type {said.get('type')!r}")
    try:
        value = msgspec.convert(said, kind)
    except msgspec.ValidationError as error:
        raise UnknownShape(f"not a record of version 1: {error}") from None
    if msgspec.to_builtins(value) != said:
        raise UnknownShape("a member without a value must be absent")
    return value


def type_name(facts: Facts) -> str:
    """The `type` that a record of these facts names: `http.request` for an HttpRequest, and so on."""
    return str(facts.__struct_config__.tag)


def members(facts: Facts) -> dict[str, canonical.Json]:
    """What facts add to their record."""
    return cast("dict[str, canonical.Json]", msgspec.to_builtins(facts))

"""From a strict record to a typed value, and the ways in which it can fail to be one."""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Annotated, Any, Literal, Union, cast

import msgspec

from store.core import canonical
from store.core.errors import Malformed
from store.core.model import Facts

VERSION = 1

_UUID_7 = r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\Z"

type Run = Annotated[str, msgspec.Meta(pattern=_UUID_7)]
type Time = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{4}(-[0-9]{2}){2}T([0-9]{2}:){2}[0-9]{2}\.[0-9]{6}Z\Z")]
type Count = Annotated[int, msgspec.Meta(ge=0, le=canonical.INTEGER_MAX)]


class UnknownVersion(Malformed):
    """A record with a higher `v` than this program knows: nobody's fault, but not to be judged."""


class UnknownShape(Malformed):
    """A type, or a member of a type, that version 1 does not have."""


class Shape[P: msgspec.Struct]:
    """The records of one sort: each of `kinds`, by its `type`, standing in a `place`."""

    def __init__(self, place: type[P], kinds: Mapping[str, type[Facts]]) -> None:
        self._place, self._kinds = place, kinds
        self._parts = {_whole(place, kind): (kind, _taking(kind)) for kind in kinds.values()}
        self._standing = _values(place)
        self._decoder = msgspec.json.Decoder(Union[tuple(self._parts)])  # noqa: UP007  # known only when this runs

    def read(self, raw: bytes) -> tuple[P, Facts]:
        """Where the record whose canonical bytes are `raw` stands, and what it says.

        Raises UnknownVersion, UnknownShape, or Malformed for bytes that are no record at all.
        """
        # What has a whole type's members and is spelled as that type spells them breaks no rule of `canonical` or of
        # `split`, which need several times as long. Whatever does not is theirs to refuse, each thing by its name.
        try:
            whole = self._decoder.decode(raw)
            if canonical.is_spelling(whole, raw):
                kind, said = self._parts[type(whole)]
                return self._place(*self._standing(whole)), kind(**said(whole))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            pass
        return self.split(canonical.parse(raw))

    def split(self, record: canonical.Record) -> tuple[P, Facts]:
        """Where a record stands, and what it says. Raises UnknownVersion or UnknownShape."""
        version = record.get("v")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise UnknownShape("a record has no version")
        if version > VERSION:
            raise UnknownVersion(f"a record of version {version} is newer than this program knows")
        standing = {name: record[name] for name in self._place.__struct_fields__ if name in record}
        said = {name: value for name, value in record.items() if name not in standing and name != "v"}
        try:
            return msgspec.convert(standing, self._place), facts(said, self._kinds)
        except msgspec.ValidationError as error:
            raise UnknownShape(f"not a record of version 1: {error}") from None


def facts(said: canonical.Record, kinds: Mapping[str, type[Facts]]) -> Facts:
    """The value of what a record says apart from where it stands. Raises UnknownShape."""
    kind = kinds.get(str(said.get("type")))
    if kind is None:
        raise UnknownShape(f"version 1 has no record type {said.get('type')!r}")
    try:
        value = msgspec.convert(said, kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # the second of half a surrogate pair
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


def _whole(place: type[msgspec.Struct], kind: type[Facts]) -> type[msgspec.Struct]:
    """The type of whole records of a kind: what they say, where they stand, their version."""
    standing = [(field.name, field.type) for field in msgspec.structs.fields(place)]
    fields = [*standing, ("v", Literal[1])]
    tag = kind.__struct_config__.tag
    return msgspec.defstruct(kind.__name__, fields, bases=(kind,), frozen=True, kw_only=True, tag=tag)


def _taking(part: type[msgspec.Struct]) -> Callable[[msgspec.Struct], dict[str, Any]]:
    """What takes the members of `part` out of a whole record."""
    names, values = part.__struct_fields__, _values(part)
    return lambda whole: dict(zip(names, values(whole), strict=True))


def _values(part: type[msgspec.Struct]) -> Callable[[msgspec.Struct], tuple[Any, ...]]:
    names = part.__struct_fields__
    # Of a single name an attrgetter gives no tuple.
    return attrgetter(*names) if len(names) > 1 else lambda whole: (getattr(whole, names[0]),)

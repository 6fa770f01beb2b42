"""Sections 4 and 6: which members each type of record has, and of what kind."""

import base64
import binascii
import re
from collections.abc import Callable

from tests.support.verifier.canonical import HASH, Json, Record
from tests.support.verifier.tables import ANNOTATION, COMMON, EVENTS, LEAF_COMMON, LEAVES, OBJECTS

RUN = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.ASCII)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
MEMBER = re.compile(r"`(\w+)`(\??) ([^=]+?)(?: =(\w+))?", re.ASCII)

type Check = Callable[[Json], bool]


def is_int(value: Json) -> bool:
    """Say whether a value is an integer, which a boolean is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_hash(value: Json) -> bool:
    """Say whether a value is 64 lowercase hexadecimal digits."""
    return isinstance(value, str) and HASH.fullmatch(value) is not None


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_body(value: Json) -> bool:
    return isinstance(value, dict) and value.keys() == {"body"} and is_hash(value["body"])


def _is_bytes(value: Json) -> bool:
    """Say whether a value is `{"b64": ...}` with base64url as an encoder writes it, without padding."""
    if not isinstance(value, dict) or value.keys() != {"b64"} or not isinstance(text := value["b64"], str) or not text:
        return False
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return False
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode() == text


def _is_text(value: Json) -> bool:
    return isinstance(value, str) or _is_bytes(value) or _is_body(value)


def _is_pair(value: Json) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_text, value))


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _is_headers(value: Json) -> bool:
    return _is_body(value) or KINDS["pairs"](value)


KINDS: dict[str, Check] = {
    "int": is_int,
    "count": _is_count,
    "bool": lambda value: isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
    "text": _is_text,
    "body": _is_body,
    "hash": is_hash,
    "run": lambda value: isinstance(value, str) and RUN.fullmatch(value) is not None,
    "time": lambda value: isinstance(value, str) and TIME.fullmatch(value) is not None,
    "pairs": _list_of(_is_pair),
    "headers": _is_headers,
    "tallies": _list_of(_list_of(lambda value: isinstance(value, str) or is_int(value))),
    "array of text": _list_of(_is_text),
    "array of str": _list_of(lambda value: isinstance(value, str)),
}


class Shape:
    """The members of one type or object, read from its row of the page's table."""

    def __init__(self, row: str) -> None:
        """Parse a row such as "`n` int; `dropped`? int =0"."""
        self.checks: dict[str, Check] = {}
        self.required: set[str] = set()
        self.defaults: dict[str, Json] = {}
        for part in row.split("; "):
            match = MEMBER.fullmatch(part)
            assert match is not None, part
            name, optional, kind, default = match.groups()
            self.checks[name] = self._check(name, kind)
            if not optional:
                self.required.add(name)
            if default is not None:
                words: dict[str, Json] = {"true": True, "false": False, "0": 0}
                self.defaults[name] = words.get(default, default)

    @staticmethod
    def _check(name: str, kind: str) -> Check:
        if kind == "object":
            inner = Shape(OBJECTS[name])
            return lambda value: isinstance(value, dict) and inner.fits(value)
        if kind in KINDS:
            return KINDS[kind]
        words = kind.split("|")
        return lambda value: isinstance(value, str) and value in words

    def fits(self, record: Record) -> bool:
        """Say whether a record has these members and no others, each of its kind and none with its default."""
        if not self.required <= record.keys() <= self.checks.keys():
            return False
        if any(name in record and record[name] == default for name, default in self.defaults.items()):
            return False
        return all(self.checks[name](value) for name, value in record.items())


EVENT_SHAPES = {name: Shape(f"{COMMON}; {row}") for name, row in EVENTS.items()}
LEAF_SHAPES = {name: Shape(f"{LEAF_COMMON}; {row}") for name, row in LEAVES.items()}


ANNOTATION_SHAPES = {"annotation": Shape(ANNOTATION)}


def _fits(shapes: dict[str, Shape], record: Record) -> bool:
    kind = record.get("type")
    return (
        is_int(record.get("v"))
        and record["v"] == 1
        and isinstance(kind, str)
        and kind in shapes
        and shapes[kind].fits(record)
    )


def is_event(record: Record) -> bool:
    """Say whether a record is an event of version 1."""
    return _fits(EVENT_SHAPES, record)


def is_annotation(record: Record) -> bool:
    """Say whether a record is an annotation of version 1."""
    return _fits(ANNOTATION_SHAPES, record)


def is_leaf(record: Record) -> bool:
    """Say whether a record is a leaf of version 1."""
    return _fits(LEAF_SHAPES, record)


def is_newer(record: Record) -> bool:
    """Say whether a record is of a version that this verifier does not know."""
    version = record.get("v")
    return isinstance(version, int) and not isinstance(version, bool) and version > 1

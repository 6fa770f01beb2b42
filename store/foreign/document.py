"""The bytes of a foreign file as a tree of plain values: JSON, or YAML by the safe loader. Pure.

Rules kept here:
- YAML makes texts, numbers, true and false, null and `!!binary`; a date stays as it is spelled, since a header's value
  must. No tag makes an object.
- What is too deep or too long is refused, with a sentence.
"""

import json
from typing import ClassVar

import yaml

from store.core import coding
from store.core.errors import Malformed
from store.foreign.recording import NotForeign

type Tree = dict[str, "Tree"] | list["Tree"] | str | bytes | int | float | bool | None

FILE_BYTES_MAX = 512 * 1024 * 1024
_GZIP_MARK = b"\x1f\x8b"
_KEPT = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "int", "float", "bool", "merge"))
_TEXTS = ("str", "unicode")  # what old cassettes of Python 2 call a text


class _Loader(yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader):  # type: ignore[misc]
    """The safe loader, that guesses less."""

    yaml_implicit_resolvers: ClassVar = {
        first: [(tag, pattern) for tag, pattern in known if tag in _KEPT]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


for _name in _TEXTS:
    _Loader.add_constructor(f"tag:yaml.org,2002:python/{_name}", lambda loader, node: loader.construct_scalar(node))


def unpacked(raw: bytes) -> bytes:
    """The file itself, where it was packed with gzip. Raises NotForeign."""
    if not raw.startswith(_GZIP_MARK):
        return raw
    try:
        return coding.decode(raw, "gzip", FILE_BYTES_MAX)
    except Malformed as error:
        raise NotForeign(f"the packed file cannot be read: {error}") from error


def from_json(raw: bytes) -> Tree:
    """Raises NotForeign."""
    try:
        tree: Tree = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise NotForeign(f"no JSON that can be read: {error}") from error
    return tree


def from_yaml(raw: bytes) -> Tree:
    """Raises NotForeign."""
    try:
        tree: Tree = yaml.load(raw, Loader=_Loader)  # noqa: S506  # a safe one
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise NotForeign(f"no YAML that can be read: {' '.join(str(error).split())}") from error
    return tree


def members(tree: Tree, name: str = "") -> dict[str, Tree]:
    """An object, or the object that one member of it is; empty where there is none."""
    found = tree.get(name) if name and isinstance(tree, dict) else tree
    return found if isinstance(found, dict) else {}


def items(tree: Tree, name: str) -> list[Tree]:
    """A list that is a member; empty where there is none."""
    found = tree.get(name) if isinstance(tree, dict) else None
    return found if isinstance(found, list) else []


def said(tree: Tree, name: str = "") -> str:
    """A text, or the text that a member is, as it is spelled; "" where there is none."""
    found = tree.get(name) if name and isinstance(tree, dict) else tree
    if isinstance(found, bytes):
        return found.decode("latin-1")
    if isinstance(found, bool):
        return str(found).lower()
    return str(found) if isinstance(found, str | int | float) else ""


def number(tree: Tree, name: str, default: int = -1) -> int:
    """A number that is a member, without its fraction."""
    found = tree.get(name) if isinstance(tree, dict) else None
    if isinstance(found, str) and found.strip().isdecimal():
        return int(found)
    usable = isinstance(found, int | float) and not isinstance(found, bool) and abs(found) < 2**53
    return int(found) if usable and isinstance(found, int | float) else default

"""edgetape.toml: what a project wants of every replay, from the nearest folder upwards that has one.

The search ends at the top of a git checkout. Tables: `[replay]` with `ignore` and `optional`, `[live]` with `allow`
and `map`, each a list of rules; `[labels]` (`store.labels.own`). Two count in the operator's own file alone:
`[retention]` (`proxy.stores.policy`) and `[proxy]` (`proxy.service.file`).
"""

import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from proxy.border import Misuse

NAME = "edgetape.toml"
_TABLES = ("proxy", "labels", "replay", "live", "retention")
_MEMBERS = {"replay": ("ignore", "optional"), "live": ("allow", "map")}
_EXAMPLES = {
    "ignore": "'body /metadata/trace'",
    "optional": "'GET api.example.com/settings*'",
    "allow": "'tool=search'",
    "map": "'api.example.com=http://127.0.0.1:9000'",
}


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the file says; nothing where there is none."""

    path: Path | None = None
    ignore: Sequence[str] = ()
    optional: Sequence[str] = ()
    allow: Sequence[str] = ()
    map: Sequence[str] = ()


@contextmanager
def well_said() -> Iterator[None]:
    """Whatever inside says that a rule, a pace or a mode cannot be is Misuse."""
    from replay_server.modes import NotAllowed
    from replay_server.rules import BadRule

    try:
        yield
    except (BadRule, NotAllowed) as error:
        raise Misuse(str(error), hint=error.hint) from error


def nearest(folder: Path) -> Configuration:
    """The configuration that holds in `folder`. Raises Misuse for a file that is not well formed."""
    for place in (folder, *folder.parents):
        if (place / NAME).is_file():
            return _read(place / NAME)
        if (place / ".git").exists():
            break
    return Configuration()


def table(path: Path, raw: bytes, name: str) -> dict[str, object]:
    """One table of a settings file with this content, empty where it has none. Raises Misuse."""
    try:
        document = tomllib.loads(raw.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Misuse(f"{path} is not TOML: {error}") from error
    said = document.get(name, {})
    unknown = [each for each in document if each not in _TABLES]
    if not isinstance(said, dict) or unknown:
        known = " and ".join(f"[{each}]" for each in _TABLES)
        raise Misuse(f"{path}: no such table: {', '.join(unknown) or name}", hint=f"there are {known}")
    return said


def content(path: Path) -> bytes:
    """What a settings file holds. Raises Misuse."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise Misuse(f"there is no settings file {path}", hint="name another with --config") from None
    except OSError as error:
        raise Misuse(f"{path} cannot be read: {error.strerror}") from error


def _read(path: Path) -> Configuration:
    raw = content(path)
    lists = [said for name in _MEMBERS for said in _lists(path, table(path, raw, name), name)]
    return Configuration(path, *lists)


def _lists(path: Path, said: dict[str, object], name: str) -> list[Sequence[str]]:
    members = _MEMBERS[name]
    for member, value in said.items():
        if member not in members:
            raise Misuse(f"{path}: [{name}] has no {member!r}", hint=f"it has {' and '.join(members)}")
        if not isinstance(value, list) or not all(isinstance(rule, str) for rule in value):
            raise Misuse(f"{path}: {member} is no list of rules", hint=f"{member} = [{_EXAMPLES[member]}]")
    return [cast("Sequence[str]", said.get(member, ())) for member in members]

"""edgetape.toml: what a project wants of every replay, from the nearest folder upwards that has one.

The search ends at the top of a git checkout. Tables: `[replay]` with `ignore` and `optional`, lists of rules.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proxy.border import Misuse

NAME = "edgetape.toml"
_MEMBERS = ("ignore", "optional")


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the file says; nothing where there is none."""

    path: Path | None = None
    ignore: Sequence[str] = ()
    optional: Sequence[str] = ()


def nearest(folder: Path) -> Configuration:
    """The configuration that holds in `folder`. Raises Misuse for a file that is not well formed."""
    for place in (folder, *folder.parents):
        if (place / NAME).is_file():
            return _read(place / NAME)
        if (place / ".git").exists():
            break
    return Configuration()


def _read(path: Path) -> Configuration:
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Misuse(f"{path} is not TOML: {error}") from error
    except OSError as error:
        raise Misuse(f"{path} cannot be read: {error.strerror}") from error
    said = document.get("replay", {})
    unknown = [name for name in document if name != "replay"]
    if not isinstance(said, dict) or unknown:
        raise Misuse(f"{path}: no such table: {', '.join(unknown) or 'replay'}", hint="there is [replay]")
    for name, value in said.items():
        if name not in _MEMBERS:
            raise Misuse(f"{path}: [replay] has no {name!r}", hint=f"it has {' and '.join(_MEMBERS)}")
        if not isinstance(value, list) or not all(isinstance(rule, str) for rule in value):
            raise Misuse(f"{path}: {name} is no list of rules", hint=f"{name} = ['body /metadata/trace']")
    return Configuration(path, said.get("ignore", ()), said.get("optional", ()))

"""The `[replay]` tables of edgetape.toml: what may differ in every replay, for a user and for a project.

The user's file is that of --config; a project's is the nearest one from a folder upwards, to the top of a git checkout.
Both hold. The table has `ignore` and `optional`, lists of rules (`replay_server/rules`).
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proxy.border import Misuse

NAME = "edgetape.toml"
_TABLES = ("replay", "retention")  # `proxy/policy` reads the other one
_MEMBERS = ("ignore", "optional")


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the files say; nothing where there are none."""

    ignore: Sequence[str] = ()
    optional: Sequence[str] = ()


def configured(users: Path, folder: Path) -> Configuration:
    """What holds in `folder`, for the user whose file is `users`. Raises Misuse for a file that is not well formed."""
    paths = dict.fromkeys(path.resolve() for path in (users, _nearest(folder)) if path is not None and path.is_file())
    found = [_read(path) for path in paths]
    return Configuration(
        tuple(rule for each in found for rule in each.ignore), tuple(rule for each in found for rule in each.optional)
    )


def _nearest(folder: Path) -> Path | None:
    for place in (folder, *folder.parents):
        if (place / NAME).is_file():
            return place / NAME
        if (place / ".git").exists():
            break
    return None


def _read(path: Path) -> Configuration:
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Misuse(f"{path} is not TOML: {error}") from error
    except OSError as error:
        raise Misuse(f"{path} cannot be read: {error.strerror}") from error
    said = document.get("replay", {})
    unknown = [name for name in document if name not in _TABLES]
    if not isinstance(said, dict) or unknown:
        raise Misuse(f"{path}: no such table: {', '.join(unknown) or 'replay'}", hint="there is [replay]")
    for name, value in said.items():
        if name not in _MEMBERS:
            raise Misuse(f"{path}: [replay] has no {name!r}", hint=f"it has {' and '.join(_MEMBERS)}")
        if not isinstance(value, list) or not all(isinstance(rule, str) for rule in value):
            raise Misuse(f"{path}: {name} is no list of rules", hint=f"{name} = ['body /metadata/trace']")
    return Configuration(said.get("ignore", ()), said.get("optional", ()))

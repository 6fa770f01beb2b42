"""The folder that stands here for a store that a PostgreSQL server keeps (docs/postgresql.md).

Rules kept here:
- The folder, the store's home, is what everything above takes for the store; what lies beside a store lies in it. One
  file there says which server it stands for.
- A password in a URL is kept in this process alone: it is written nowhere, and shown nowhere.
"""

import hashlib
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from store.core.address import Server, parse
from store.core.errors import StoreUnusable

if TYPE_CHECKING:
    from store.database.connection import Connection

POINTER = "postgresql.json"

_passwords: dict[Path, str] = {}
_ways: dict[Path, str] = {}


class Driver(Protocol):
    """What opens connections to a server."""

    def open_for_writing(self, known: Server) -> "Connection":
        """See `store.database`."""

    def open_for_reading(self, known: Server) -> "Connection":
        """See `store.database`."""

    def password_of(self, known: Server) -> str:
        """The password that the server was given, wherever it came from. Raises Fault."""


def home(known: Server, folder: Path) -> Path:
    """The folder that stands for a store from now on, made (0700) beneath `folder` if it is not there."""
    host, port, database, options = known.place
    digest = hashlib.sha256(json.dumps([host, port, database, options]).encode()).hexdigest()[:12]
    place = folder / f"{re.sub(r'[^A-Za-z0-9_-]', '_', database)[:40]}-{digest}"
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        (place / POINTER).write_text(json.dumps({"url": known.url}) + "\n")
    except OSError as error:
        raise StoreUnusable(f"what lies beside the store cannot be kept in {place}: {error.strerror}") from error
    if known.password:
        _passwords[place] = known.password
    of.cache_clear()
    return place


def lead(place: Path, way: Path | str, password: str) -> None:
    """From now on this process reaches the server of a store with this password, and by the socket in the folder `way`
    where there is one.
    """
    _passwords[place], _ways[place] = password, str(way)
    of.cache_clear()


@lru_cache(maxsize=64)
def of(folder: Path) -> Server | None:
    """The server that keeps the store for which this folder stands; None for a folder that holds its store itself.

    Raises StoreUnusable.
    """
    try:
        said = json.loads((folder / POINTER).read_bytes())
        return Server(parse(said["url"]).url, _passwords.get(folder, ""), _ways.get(folder, ""))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreUnusable(f"the folder {folder} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError):
        raise StoreUnusable(f"{folder / POINTER} does not say which server keeps the store") from None


def shown(path: Path) -> str:
    """A store's folder, or its file, as a person knows it: a server by its URL, which has no password."""
    try:
        known = of(path) or of(path.parent)
    except StoreUnusable:
        known = None
    return str(path) if known is None else known.url


def driver() -> Driver:
    """What opens connections. Raises StoreUnusable where it is not installed."""
    try:
        from store.database import served
    except ImportError:
        raise StoreUnusable(
            "a store in PostgreSQL needs psycopg, which is not installed", hint="pip install 'edgetape[postgres]'"
        ) from None
    return cast("Driver", served)

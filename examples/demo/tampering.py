"""Flips one random byte of a stored record in a copy of the store, as somebody with the disk but no key would."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from examples.demo.edgetape import Done

STORE_FILE = "edgetape.db"


@dataclass(frozen=True, slots=True)
class Place:
    """Where one stored value of an event lies: the first byte in the store's file, how many, and what it is."""

    offset: int
    length_bytes: int
    words: str


def copy_store(store: Path, to: Path) -> Path:
    """Copy a store that nobody is writing to, with what lies in SQLite's log moved into the copy's file."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(store, to)
    with closing(sqlite3.connect(to / STORE_FILE)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return to


def read_places(located: Done) -> list[Place]:
    """Read what `edgetape debug locate --json` printed: the values that lie in the file in one piece.

    Raises ValueError or KeyError when it is something else.
    """
    return [
        Place(int(found["offset"]), int(found["bytes"]), f"{found['table']}.{found['column']}")
        for found in json.loads(located.stdout)
        if found["offset"] is not None
    ]


def flip(file: Path, place: Place) -> str:
    """Change one random byte of the value to another one, and say which."""
    at = place.offset + random.randrange(place.length_bytes)
    with file.open("r+b") as opened:
        opened.seek(at)
        before = opened.read(1)[0]
        after = before ^ random.randrange(1, 256)
        opened.seek(at)
        opened.write(bytes([after]))
    return f"byte {at} of {file.name}, in {place.words}: {before:#04x} became {after:#04x}"

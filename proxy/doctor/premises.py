"""What edgetape itself needs of a machine: a store, keys, a disk, a clock, namespaces for a replay."""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from proxy.agent.freezing import LIBRARY_HINT, library
from proxy.confined.confinement import refusal
from proxy.words import size
from store.core.errors import EdgetapeError

State = Literal["good", "odd", "bad"]

FREE_BYTES_MIN = 1 << 30
_YEAR_2026_S = 1_767_225_600  # the clock of a machine that has lost its battery stands long before


@dataclass(frozen=True, slots=True)
class Premise:
    """One thing that is needed: how it stands, in words, and what would change it. `odd` ones can be done without."""

    name: str
    state: State
    sentence: str
    hint: str = ""


def premises(store: Path, keys: Path, authority: Path) -> list[Premise]:
    """How everything stands; nothing is changed or made. Call it before a thread starts: the confinement is tried."""
    own = [store_opens(store, keys), keys_are_there(keys, authority), disk(store), clock()]
    return [confinement(), *own, frozen_time()]


def confinement() -> Premise:
    """Whether a replay can be confined."""
    refused = refusal()
    if refused is not None:
        return Premise("confinement", "odd", f"a replay would be UNCONFINED: {refused.reason}", refused.hint)
    return Premise("confinement", "good", "a replay has no way out")


def store_opens(store: Path, keys: Path) -> Premise:
    """Whether the store can be read, where there is one yet."""
    if not store.exists():
        return Premise("store", "good", f"none yet in {store}: the first recording makes it")
    from store.database import shown
    from store.reader import Reader

    try:
        with Reader.open(store, keys) as reader:
            reader.demand_key()
    except EdgetapeError as error:
        return Premise("store", "bad", f"{shown(store)}: {error}", error.hint)
    return Premise("store", "good", f"{shown(store)} opens, and its bodies can be read")


def keys_are_there(keys: Path, authority: Path) -> Premise:
    """Whether nobody else can read the keys."""
    lax = [path for path in (keys, authority) if path.exists() and path.stat().st_mode & 0o077]
    if lax:
        return Premise("keys", "bad", f"others can read {lax[0]}", f"chmod 700 {lax[0]}")
    missing = "" if keys.exists() else ", which the first recording makes"
    return Premise("keys", "good", f"only you can read {keys}{missing}")


def disk(store: Path) -> Premise:
    """Whether there is room for recordings."""
    there = next(folder for folder in (store, *store.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    if free < FREE_BYTES_MIN:
        return Premise("disk", "bad", f"{size(free)} free where the store is", "edgetape compact, edgetape prune")
    return Premise("disk", "good", f"{size(free)} free where the store is")


def frozen_time() -> Premise:
    """Whether `record --freeze-time` has what it needs."""
    if library() is None:
        return Premise("frozen time", "odd", "record --freeze-time needs libfaketime", LIBRARY_HINT)
    return Premise("frozen time", "good", "libfaketime is there for record --freeze-time")


def clock() -> Premise:
    """Whether the time can be true."""
    if time.time() < _YEAR_2026_S:
        return Premise("clock", "bad", "the clock stands before 2026", "set it: times are part of what is signed")
    return Premise("clock", "good", "the time is plausible")

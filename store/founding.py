"""The identity of a store: its origin and its key, made together with leaf 0 and never again.

docs/format.md, section 6.
"""

import base64
import secrets
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from store import log
from store.core import leaf
from store.core.errors import StoreUnusable
from store.database import transaction
from store.keys import Signer


@dataclass(frozen=True, slots=True)
class Founding:
    """What leaf 0 says: the store's origin, and the vkey of the key that signs its checkpoints."""

    origin: str
    vkey: str


def founding(connection: sqlite3.Connection) -> Founding | None:
    """What leaf 0 of an existing store says; None in a store without leaves. Raises Malformed for a leaf 0 that is
    none.
    """
    row = connection.execute("SELECT leaf FROM leaves WHERE position = 0").fetchone()
    if row is None:
        return None
    _, facts = leaf.decode(bytes(row[0]))
    if not isinstance(facts, leaf.StoreCreated):
        raise StoreUnusable("the store's log does not begin with its creation", hint="run `edgetape verify`")
    return Founding(facts.origin, facts.vkey)


def signer_of(connection: sqlite3.Connection, keys: Path) -> Signer:
    """The signer of an existing store. Raises KeyUnavailable, StoreUnusable."""
    known = founding(connection)
    if known is None:
        raise StoreUnusable("the store has no log yet", hint="record a run first")
    return Signer.load(keys, known.origin, known.vkey)


def found(connection: sqlite3.Connection, keys: Path, ts: str) -> Signer:
    """The signer of this store; a new store gets its origin, its key and leaf 0. Raises KeyUnavailable,
    StoreUnusable.
    """
    with transaction(connection):
        known = founding(connection)
        if known is not None:
            return Signer.load(keys, known.origin, known.vkey)
        origin = "edgetape.local/" + base64.b32encode(secrets.token_bytes(17)).decode().lower()[:26]
        signer = Signer.make(keys, origin)
        log.append(connection, ts, leaf.StoreCreated(origin=origin, vkey=str(signer.key)))
        return signer

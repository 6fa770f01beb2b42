"""The identity of a store: its origin and its keys, made together with leaf 0 and never again.

docs/format.md, section 6.
"""

import base64
import contextlib
import secrets
from dataclasses import dataclass
from pathlib import Path

from store import log, vault
from store.core import leaf
from store.core.checkpoint import VerifierKey
from store.core.errors import Malformed, StoreUnusable
from store.core.keyring import Keyring
from store.database import transaction
from store.database.connection import Connection
from store.keys import Signer
from store.signing import SigningKey

_ABOUT_KEYS = b'"type":"key.'  # as it stands in the canonical bytes of a leaf, where no text can spell it


@dataclass(frozen=True, slots=True)
class Founding:
    """What leaf 0 says: the store's origin, and the vkey of the key that signs its checkpoints."""

    origin: str
    vkey: str


def founding(connection: Connection) -> Founding | None:
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


def keyring(connection: Connection) -> Keyring | None:
    """The keys of an existing store, as its log has them; None in a store without leaves.

    Raises Malformed, StoreUnusable.
    """
    known = founding(connection)
    if known is None:
        return None
    keys = Keyring.of(VerifierKey.parse(known.vkey))
    bring_up_to_date(connection, keys)
    return keys


def bring_up_to_date(connection: Connection, keys: Keyring) -> None:
    """Takes in the leaves about keys that came since. One that is not rightly signed changes nothing."""
    end = log.size(connection)
    rows = connection.execute(
        "SELECT position, leaf FROM leaves WHERE position >= ? AND position < ? AND instr(leaf, ?) > 0"
        " ORDER BY position",
        (keys.seen, end, _ABOUT_KEYS),
    )
    for position, raw in rows:
        with contextlib.suppress(Malformed):
            keys.take(position, leaf.decode(bytes(raw))[1])
    keys.seen = max(end, keys.seen)


def signer_of(connection: Connection, keys: Path) -> Signer:
    """The signer of an existing store. Raises KeyUnavailable, StoreUnusable."""
    known = keyring(connection)
    if known is None:
        raise StoreUnusable("the store has no log yet", hint="record a run first")
    return Signer.load(keys, known)


def found(connection: Connection, keys: Path, ts: str) -> Signer:
    """The signer of this store; a new store gets its origin, its key and leaf 0. Raises KeyUnavailable,
    StoreUnusable.
    """
    known = keyring(connection)  # before anybody has to wait: it reads every leaf
    if known is None:
        with transaction(connection):
            known = keyring(connection)
            if known is None:
                return begin(connection, keys, ts)
    return Signer.load(keys, known)


def begin(connection: Connection, keys: Path, ts: str, key: SigningKey | None = None) -> Signer:
    """Gives a new store its origin, its signing key (a new file, if none is given), its store key and leaf 0, in the
    caller's transaction.
    """
    origin = "edgetape.local/" + base64.b32encode(secrets.token_bytes(17)).decode().lower()[:26]
    signer = Signer.make(keys, origin, key)
    vault.found(connection, keys, origin)
    log.append(connection, ts, leaf.StoreCreated(origin=origin, vkey=str(signer.keys.current)))
    return signer

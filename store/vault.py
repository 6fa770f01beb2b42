"""The keys of the runs: two each, wrapped by the store key, in rows that can be destroyed (docs/format.md, section 5).

Rules kept here:
- The payload key closes the blocks and pending pieces of a run, the salt key gives its salts and hides its openings.
  Both are random; whoever destroys their rows has destroyed what they closed.
- Which keys a run has is read in the transaction that needs them: an erasure, or a rotation of the store key, by
  anybody, counts at once.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from store import storekey
from store.cells import blob, exact, text
from store.core.aead import KEY_BYTES, Aead
from store.core.errors import Malformed
from store.core.veil import Veil
from store.database.connection import Connection
from store.splices.guard import Cipher
from store.storekey import StoreKey, fresh_key, fresh_nonce

PAYLOAD, SALT = "payload", "salt"
_STORE = "store"  # of the run "": a wrapped key of no bytes, which tells whether a store key is the store's own
_RUNS_KEPT = 256

type Wrapped = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class RunKeys:
    """The keys of one run; `wrapped` are their rows, by which they are told from later ones."""

    origin: str
    run: str
    wrapped: Wrapped
    payload: bytes = field(repr=False)
    veil: Veil = field(repr=False)

    @property
    def guard(self) -> Cipher:
        """What stands around the blocks of the run."""
        return Cipher(self.payload, self.origin, self.run, fresh_nonce)

    @property
    def pieces(self) -> Aead:
        """What closes the pending pieces of the run."""
        return Aead(self.payload, fresh_nonce)


class Vault:
    """The keys of one store's runs, for who has the store key, which is looked for in `folder` as soon as it is
    needed.

    Every method raises KeyUnavailable without it. Used by one thread at a time.
    """

    def __init__(self, folder: Path, origin: str) -> None:
        self.folder = folder
        self.origin = origin
        self._store_key: StoreKey | None = None
        self._shown = b""
        self._runs: OrderedDict[str, RunKeys] = OrderedDict()

    def store_key(self, connection: Connection) -> StoreKey:
        """The store key that is in force."""
        shown = wrapped(connection, "").get(_STORE, b"")
        if self._store_key is None or shown != self._shown:
            self._store_key, self._shown = storekey.find(self.folder, self.origin, shown), shown
        return self._store_key

    def make(self, connection: Connection, run: str) -> None:
        """Gives a run its keys, in the caller's transaction."""
        key = self.store_key(connection)
        for kind in (PAYLOAD, SALT):
            _insert(connection, run, kind, key.wrap(self.origin, run, kind, fresh_key()))

    def of(self, connection: Connection, run: str) -> RunKeys:
        """The keys of a run as they are now. Raises Malformed where they are gone or damaged."""
        stored = wrapped(connection, run)
        found = self._runs.pop(run, None)
        if found is None or found.wrapped != stored:  # they are other rows under another store key, too
            found = opened(self.store_key(connection), self.origin, run, stored)
        self._runs[run] = found
        while len(self._runs) > _RUNS_KEPT:
            self._runs.popitem(last=False)
        return found

    def renew(self, connection: Connection, run: str) -> RunKeys:
        """Destroys the keys of a run and gives it others, in the caller's transaction; the new ones."""
        destroy(connection, run)
        self.make(connection, run)
        return self.of(connection, run)


def opened(key: StoreKey, origin: str, run: str, stored: Wrapped) -> RunKeys:
    """The keys of a run of the store `origin` from their rows. Raises Malformed where they are gone or damaged."""
    if stored.keys() != {PAYLOAD, SALT}:
        raise Malformed("the keys of the run are missing")
    try:
        payload, salt = (key.unwrap(origin, run, kind, stored[kind]) for kind in (PAYLOAD, SALT))
    except Malformed as error:
        raise Malformed(f"the keys of the run are damaged: {error}") from error
    if len(payload) != KEY_BYTES or len(salt) != KEY_BYTES:
        raise Malformed("the keys of the run are of another length")
    return RunKeys(origin, run, stored, payload, Veil(salt))


def found(connection: Connection, folder: Path, origin: str) -> StoreKey:
    """Gives a new store its key, in the caller's transaction. Raises KeyUnavailable."""
    key = storekey.make(folder, origin)
    _insert(connection, "", _STORE, key.wrap(origin, "", _STORE, b""))
    return key


def rotate(connection: Connection, vault: Vault) -> StoreKey:
    """Wraps every key anew under a fresh store key, in the caller's transaction; the fresh one.

    Raises KeyUnavailable; Malformed where a key cannot be opened, for it would be lost.
    """
    old = vault.store_key(connection)
    rows = connection.execute("SELECT run, kind, wrapped FROM keys ORDER BY run, kind").fetchall()
    opened_rows = [(run, kind, old.unwrap(vault.origin, run, kind, stored)) for run, kind, stored in rows]
    new = storekey.make(vault.folder, vault.origin, first=False)
    connection.execute("DELETE FROM keys")
    for run, kind, content in opened_rows:
        _insert(connection, run, kind, new.wrap(vault.origin, run, kind, content))
    return new


def destroy(connection: Connection, run: str) -> None:
    """Destroys the keys of a run, in the caller's transaction, and with them all that they closed."""
    connection.execute("DELETE FROM keys WHERE run = ?", (run,))


def runs(connection: Connection) -> set[str]:
    """The ids of the runs that have keys."""
    return {run for (run,) in connection.execute(f"SELECT DISTINCT {text('run')} FROM keys WHERE run <> ''")}


def wrapped(connection: Connection, run: str) -> Wrapped:
    """The keys of a run as they are stored; those of the run "" show which store key is in force."""
    query = f"SELECT {text('kind')}, {blob('wrapped')} FROM keys WHERE run = CAST(? AS TEXT)"
    rows = connection.execute(query, (exact(run),)).fetchall()
    found = dict(rows)
    return found if len(found) == len(rows) else {"": b""}  # none of two counts


def _insert(connection: Connection, run: str, kind: str, stored: bytes) -> None:
    connection.execute("INSERT INTO keys (run, kind, wrapped) VALUES (?, ?, ?)", (run, kind, stored))

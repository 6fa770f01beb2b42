"""What a store's keeper does about its keys: begin with one, look, go over to another, revoke one.

docs/format.md, section 6. Order of a rotation: both keys have signed, the new key is on disk, the leaf is committed,
the new key signs the log. Whatever is cut off in between leaves a store whose key in force is there.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from store import annotations, database, founding, journal, log, sealing, signing, vault
from store.core import keyring, leaf
from store.core.checkpoint import VerifierKey
from store.core.errors import EdgetapeError, KeyUnavailable, Malformed
from store.core.event import timestamp
from store.core.keyring import Keyring, Term
from store.core.leaf import RevokeReason
from store.database.connection import Connection
from store.keys import Signer
from store.signing import SigningKey
from store.storekey import StoreKey
from store.vault import Vault


class Refused(EdgetapeError):
    """What was asked for would leave the store without a key that counts, or means nothing."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One key of a store: when it is in force, and the file of its private half, if that is here."""

    term: Term
    file: Path | None


def begin(folder: Path, keys: Path, key: SigningKey | None = None) -> VerifierKey:
    """Makes a store with its first key, a new file unless `key` is given; its public half.

    Raises Refused where there is one, StoreUnusable, KeyUnavailable.
    """
    with contextlib.closing(database.open_for_writing(folder)) as connection, database.explained(folder):
        with database.transaction(connection):
            if founding.founding(connection) is not None:
                raise Refused(
                    f"the store at {database.shown(folder)} has its key",
                    hint="edgetape keys show; edgetape keys rotate",
                )
            signer = founding.begin(connection, keys, _now(), key)
        sealing.sign(connection, signer)
    return signer.keys.current


def show(folder: Path, keys: Path) -> tuple[str, list[Kept]]:
    """A store's origin, and its keys in the order in which they came into force. Raises StoreUnusable."""
    with contextlib.closing(database.open_for_reading(folder)) as connection, database.explained(folder):
        known = founding.keyring(connection)
    if known is None:
        raise database.without_log(folder, "edgetape keys init")
    return known.origin, [Kept(term, _file(keys, term.key)) for term in known.terms]


def rotate(folder: Path, keys: Path, key: SigningKey | None = None) -> VerifierKey:
    """Lets another key sign from here on, a new file unless `key` is given; its public half.

    Raises StoreUnusable, KeyUnavailable (also where one of both keys does not sign).
    """
    fresh = key or signing.new_file_key()
    with _opened(folder, keys) as (connection, signer):
        sealing.sign(connection, signer)
        old, new = signer.keys.current, VerifierKey(signer.origin, fresh.public)
        if signer.keys.term(new) is not None:
            raise Refused(f"{new.label} is, or was, a key of this store", hint="no key comes into force twice")
        statement = keyring.rotation(signer.origin, old, new)
        signed = [keyring.spelled(each.sign(statement)) for each in (signer.private(old), fresh)]
        signing.keep(keys, signer.origin, fresh, new.key_id.hex())
        facts = leaf.KeyRotated(old=str(old), new=str(new), old_signature=signed[0], new_signature=signed[1])
        _enter(connection, signer, old, facts)
    return new


def store_key(folder: Path, keys: Path) -> StoreKey | None:
    """The store key that is in force, if it is here. Raises StoreUnusable."""
    with contextlib.closing(database.open_for_reading(folder)) as connection, database.explained(folder):
        known = founding.founding(connection)
        try:
            return None if known is None else Vault(keys, known.origin).store_key(connection)
        except KeyUnavailable:
            return None


def rotate_store_key(folder: Path, keys: Path) -> tuple[Path, StoreKey]:
    """Wraps the keys of all runs anew under a fresh store key; the file of the old one, which stays, and the fresh one.

    Raises StoreUnusable, KeyUnavailable, Refused where a run's keys cannot be opened.
    """
    database.demand(folder)
    with contextlib.closing(database.open_for_writing(folder)) as connection, database.explained(folder):
        known = founding.founding(connection)
        if known is None:
            raise database.without_log(folder, "edgetape keys init")
        opener = Vault(keys, known.origin)
        old = opener.store_key(connection)
        database.forget_deleted(connection)
        try:
            with database.transaction(connection):
                fresh = vault.rotate(connection, opener)
                annotations.close_anew(connection, known.origin, old, fresh)
                database.note_untidy(connection)
        except Malformed as error:
            raise Refused(f"a key of a run would be lost: {error}", hint="edgetape verify says of which run") from error
        # As far as that can be done now; else the next writer does it.
        database.write_anew(connection)
    return old.file, fresh


def revoke(folder: Path, keys: Path, word: str, reason: RevokeReason) -> VerifierKey:
    """Declares that a retired key is not to be believed any more; `word` is its id, its label or its vkey.

    Raises Refused for the key in force (rotate first) and for an unknown one, StoreUnusable, KeyUnavailable.
    """
    with _opened(folder, keys) as (connection, signer):
        term = _named(signer.keys, word)
        by = signer.keys.current
        statement = keyring.revocation(signer.origin, term.key, by)
        signature = keyring.spelled(signer.private(by).sign(statement))
        facts = leaf.KeyRevoked(key=str(term.key), reason=reason, by=str(by), signature=signature)
        _enter(connection, signer, by, facts)
    return term.key


def _enter(connection: Connection, signer: Signer, by: VerifierKey, facts: leaf.KeyRotated | leaf.KeyRevoked) -> None:
    """Commits a leaf about keys while nobody signs, then signs the log with the key in force after it."""
    with signer.alone(), database.transaction(connection):
        founding.bring_up_to_date(connection, signer.keys)
        if signer.keys.current != by:
            raise KeyUnavailable(f"{by.label} was retired meanwhile", hint="edgetape keys show")
        journal.note_heads(connection, _now())
        log.append(connection, _now(), facts)
    sealing.sign(connection, signer)


def _named(keys: Keyring, word: str) -> Term:
    for term in keys.terms:
        if word in (term.key.key_id.hex(), term.key.label, str(term.key)):
            if term.state == "retired":
                return term
            hint = "edgetape keys rotate" if term.state == "current" else ""
            raise Refused(f"{term.key.label} is {term.state}, and only a retired key can be revoked", hint=hint)
    known = ", ".join(term.key.key_id.hex() for term in keys.terms)
    raise Refused(f"the store has no key {word!r}", hint=f"its keys are {known}")


@contextlib.contextmanager
def _opened(folder: Path, keys: Path) -> Iterator[tuple[Connection, Signer]]:
    database.demand(folder)
    with contextlib.closing(database.open_for_writing(folder)) as connection, database.explained(folder):
        yield connection, founding.signer_of(connection, keys)


def _file(keys: Path, key: VerifierKey) -> Path | None:
    try:
        return signing.find(keys, key)[1]
    except KeyUnavailable:
        return None


def _now() -> str:
    return timestamp(datetime.now(UTC))

"""Attacks with keys: true ones where they do not count, and rotations that nobody made."""

import json

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from store import custody, signing
from store.core import checkpoint, keyring
from store.core.checkpoint import Checkpoint, VerifierKey
from tests.store.verify.attacker import Attacker, encoded
from tests.store.verify.attacks.log import NEW_KEY


def rotate(attacker: Attacker) -> tuple[Ed25519PrivateKey, Ed25519PrivateKey]:
    """The keeper rotates the key; the old one and the new one, both stolen."""
    keys = attacker.folder.parent / "keys"
    old = attacker.stolen_key()
    new, path = signing.find(keys, custody.rotate(attacker.folder, keys))
    loaded = serialization.load_pem_private_key(path.read_bytes(), None)
    assert isinstance(loaded, Ed25519PrivateKey)
    assert loaded.public_key().public_bytes_raw() == new.public
    return old, loaded


def resign(attacker: Attacker, private: Ed25519PrivateKey, size: int) -> None:
    key = checkpoint.verifier_key(attacker.origin, private)
    note = checkpoint.sign(Checkpoint(attacker.origin, size, attacker.root(size)), key, private)
    attacker.db.execute("UPDATE checkpoints SET note = ? WHERE size = ?", (note, size))


def retired(attacker: Attacker) -> None:
    old, _ = rotate(attacker)
    resign(attacker, old, attacker.newest_checkpoint()[0])


def newer(attacker: Attacker) -> None:
    _, new = rotate(attacker)
    ((first,),) = attacker.db.execute("SELECT MIN(size) FROM checkpoints").fetchall()
    resign(attacker, new, first)


def revoked(attacker: Attacker) -> None:
    old, _ = rotate(attacker)
    word = str(checkpoint.verifier_key(attacker.origin, old))
    custody.revoke(attacker.folder, attacker.folder.parent / "keys", word, "compromised")
    resign(attacker, old, attacker.newest_checkpoint()[0])


def forged_rotation(attacker: Attacker) -> None:
    """A rotation to the attacker's key, in the place of one to the keeper's, signed by the attacker alone."""
    rotate(attacker)
    new = checkpoint.verifier_key(attacker.origin, NEW_KEY)

    def change(record: dict[str, object]) -> None:
        signature = keyring.spelled(
            NEW_KEY.sign(keyring.rotation(attacker.origin, VerifierKey.parse(str(record["old"])), new))
        )
        record.update(new=str(new), old_signature=signature, new_signature=signature)

    attacker.leaf(attacker.leaf_of("key.rotate"), change)
    attacker.sign(NEW_KEY)


def unknown_rotation(attacker: Attacker) -> None:
    """A rotation from a key that the store never had, whole in itself."""
    rotate(attacker)
    position = attacker.leaf_of("key.rotate")
    ((raw,),) = attacker.db.execute("SELECT leaf FROM leaves WHERE position = ?", (position,)).fetchall()
    old, new = NEW_KEY, Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
    keys = [checkpoint.verifier_key(attacker.origin, each) for each in (old, new)]
    statement = keyring.rotation(attacker.origin, *keys)
    record = json.loads(raw) | {
        "old": str(keys[0]),
        "new": str(keys[1]),
        "old_signature": keyring.spelled(old.sign(statement)),
        "new_signature": keyring.spelled(new.sign(statement)),
    }
    attacker.leaf(position, encoded(record))
    attacker.sign(new)

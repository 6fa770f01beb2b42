"""Attacks on the store log, its tree and its checkpoints."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.store.verify.attacker import Attacker, flipped

NEW_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def double_checkpoint(attacker: Attacker) -> None:
    attacker.double("checkpoints", "size = ?", attacker.newest_checkpoint()[0])


def leaf_spelling(attacker: Attacker) -> None:
    position = attacker.leaf_of("recorder.start")
    ((raw,),) = attacker.db.execute("SELECT leaf FROM leaves WHERE position = ?", (position,)).fetchall()
    attacker.leaf(position, raw.replace(b",", b", "))


def leaf_type(attacker: Attacker) -> None:
    attacker.leaf(attacker.leaf_of("recorder.start"), lambda record: record.update(type="run.blessed"))


def second_beginning(attacker: Attacker) -> None:
    ((raw,),) = attacker.db.execute("SELECT leaf FROM leaves WHERE position = 0").fetchall()
    attacker.leaf(attacker.leaf_of("recorder.start"), bytes(raw))


def edit_leaf(attacker: Attacker) -> None:
    attacker.leaf(attacker.leaf_of("recorder.start"), lambda record: record.update(version="9"))


def drop_leaf(attacker: Attacker) -> None:
    position = attacker.leaf_of("recorder.start")
    attacker.db.execute("DELETE FROM leaves WHERE position = ?", (position,))


def edit_node(attacker: Attacker) -> None:
    attacker.db.execute("UPDATE nodes SET hash = ? WHERE level = 1 AND position = 0", (bytes(32),))


def drop_node(attacker: Attacker) -> None:
    attacker.db.execute("DELETE FROM nodes WHERE level = 0 AND position = 1")


def cut_log(attacker: Attacker) -> None:
    """The log as it was before the last head was noted, its checkpoint forgotten here but not there."""
    size, _ = attacker.newest_checkpoint()
    attacker.cut_log(size - 1)


def sign_anew(attacker: Attacker) -> None:
    attacker.sign(NEW_KEY)


def flip_signature(attacker: Attacker) -> None:
    size, note = attacker.newest_checkpoint()
    attacker.db.execute("UPDATE checkpoints SET note = ? WHERE size = ?", (flipped(note), size))


def no_note(attacker: Attacker) -> None:
    attacker.db.execute("UPDATE checkpoints SET note = x'00'")


def moved_checkpoint(attacker: Attacker) -> None:
    size, _ = attacker.newest_checkpoint()
    attacker.db.execute("UPDATE checkpoints SET size = size - 1 WHERE size = ?", (size,))


def other_origin(attacker: Attacker) -> None:
    attacker.sign(attacker.stolen_key(), origin="edgetape.local/elsewhere")

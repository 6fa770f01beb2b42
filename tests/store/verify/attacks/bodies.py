"""Attacks on openings and payloads; each on the body of the event in the middle."""

import hashlib

import zstandard

from store import payloads
from tests.store.verify.attacker import MIDDLE, Attacker


def _body(attacker: Attacker, statement: str, *values: object) -> None:
    place = (attacker.run("closed"), MIDDLE, "/body")
    done = attacker.db.execute(f"{statement} WHERE run = ? AND seq = ? AND pointer = ?", (*values, *place))
    assert done.rowcount == 1


def _stored(attacker: Attacker) -> bytes:
    query = "SELECT stored FROM payloads WHERE run = ? AND seq = ? AND pointer = '/body'"
    ((stored,),) = attacker.db.execute(query, (attacker.run("closed"), MIDDLE)).fetchall()
    return bytes(stored)


def _frame(attacker: Attacker, frame: bytes) -> None:
    """Stores a frame with the check that fits it."""
    _body(attacker, "UPDATE payloads SET stored = ?", hashlib.sha256(frame).digest()[:16] + frame)


def erase(attacker: Attacker) -> None:
    _body(attacker, "DELETE FROM payloads")
    _body(attacker, "DELETE FROM openings")


def erase_opening(attacker: Attacker) -> None:
    _body(attacker, "DELETE FROM openings")


def replace_body(attacker: Attacker) -> None:
    attacker.body(attacker.run("closed"), MIDDLE, "/body", b'{"q":9}')
    attacker.open_as(attacker.run("closed"), MIDDLE, "/body", b'{"q":9}')


def swap_bodies(attacker: Attacker) -> None:
    run = attacker.run("closed")
    for table in ("openings", "payloads"):
        for old, new in ((1, -1), (MIDDLE, 1), (-1, MIDDLE)):
            statement = f"UPDATE {table} SET seq = ? WHERE run = ? AND seq = ? AND pointer = '/body'"
            assert attacker.db.execute(statement, (new, run, old)).rowcount == 1


def forge_salt(attacker: Attacker) -> None:
    _body(attacker, "UPDATE openings SET salt = ?", bytes(32))


def forge_length(attacker: Attacker) -> None:
    _body(attacker, "UPDATE openings SET length = length + 1")


def delete_payload(attacker: Attacker) -> None:
    _body(attacker, "DELETE FROM payloads")


def flip_payload(attacker: Attacker) -> None:
    stored = bytearray(_stored(attacker))
    stored[-2] ^= 1
    _body(attacker, "UPDATE payloads SET stored = ?", bytes(stored))


def other_payload(attacker: Attacker) -> None:
    attacker.body(attacker.run("closed"), MIDDLE, "/body", b'{"q":9}')


def cut_payload(attacker: Attacker) -> None:
    _frame(attacker, _stored(attacker)[16:-3])


def unknown_codec(attacker: Attacker) -> None:
    _body(attacker, "UPDATE payloads SET codec = 'plain'")


def trailing_bytes(attacker: Attacker) -> None:
    _frame(attacker, _stored(attacker)[16:] + b"more")


def second_frame(attacker: Attacker) -> None:
    _frame(attacker, _stored(attacker)[16:] + payloads.pack(b"more")[16:])


def bomb(attacker: Attacker) -> None:
    _frame(attacker, zstandard.ZstdCompressor(level=1, write_content_size=True).compress(bytes(1 << 28)))


def longer_payload(attacker: Attacker) -> None:
    attacker.body(attacker.run("closed"), MIDDLE, "/body", b'{"q":2}' + b" " * 100)


def extra_opening(attacker: Attacker) -> None:
    attacker.db.execute(
        "INSERT INTO openings SELECT run, seq, '/extra', salt, sha256, length FROM openings"
        " WHERE run = ? AND seq = ? AND pointer = '/body'",
        (attacker.run("closed"), MIDDLE),
    )


def extra_payload(attacker: Attacker) -> None:
    attacker.db.execute(
        "INSERT INTO payloads SELECT run, seq, '/extra', codec, stored FROM payloads"
        " WHERE run = ? AND seq = ? AND pointer = '/body'",
        (attacker.run("closed"), MIDDLE),
    )

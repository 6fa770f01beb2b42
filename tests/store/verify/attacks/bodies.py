"""Attacks on openings and payloads; each on the body of the event in the middle."""

import zstandard

from store.splices import recipe
from store.splices.recipe import Recipe
from store.splices.stream import Block, Span
from tests.store.verify.attacker import MIDDLE, Attacker


def _body(attacker: Attacker, statement: str, *values: object) -> None:
    place = (attacker.run("closed"), MIDDLE, "/body")
    done = attacker.db.execute(f"{statement} WHERE run = ? AND seq = ? AND pointer = ?", (*values, *place))
    assert done.rowcount == 1


def _place(attacker: Attacker) -> int:
    query = "SELECT place FROM payloads WHERE run = ? AND seq = ? AND pointer = '/body'"
    ((place,),) = attacker.db.execute(query, (attacker.run("closed"), MIDDLE)).fetchall()
    return int(place)


def _put(attacker: Attacker, content: bytes) -> None:
    attacker.put_block(attacker.run("closed"), content, len(attacker.log_of(attacker.run("closed"))))


def double_opening(attacker: Attacker) -> None:
    where = "run = ? AND seq = ? AND pointer = '/body'"
    attacker.double("openings", where, attacker.run("closed"), MIDDLE)


def double_place(attacker: Attacker) -> None:
    where = "run = ? AND seq = ? AND pointer = '/body'"
    attacker.double("payloads", where, attacker.run("closed"), MIDDLE)


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
    """A bit of the block that the body stands in, with all that came later."""
    run, place = attacker.run("closed"), _place(attacker)
    log = attacker.log_of(run)
    attacker.put_log(run, log[:place])
    content = zstandard.ZstdCompressor().compress(log[place:])
    stored = attacker.guard(run).close(Block(Span(1, place, len(log) - place, 1), content))
    attacker.db.execute(
        "INSERT INTO blocks (run, number, start, length, frame, stored) VALUES (?, 1, ?, ?, 1, ?)",
        (run, place, len(log) - place, stored[:-2] + b"~~"),
    )


def other_payload(attacker: Attacker) -> None:
    attacker.body(attacker.run("closed"), MIDDLE, "/body", b'{"q":9}')


def cut_payload(attacker: Attacker) -> None:
    run = attacker.run("closed")
    attacker.put_log(run, attacker.log_of(run)[: _place(attacker) + 3])


def delete_blocks(attacker: Attacker) -> None:
    attacker.db.execute("DELETE FROM blocks WHERE run = ?", (attacker.run("closed"),))


def move_place(attacker: Attacker) -> None:
    _body(attacker, "UPDATE payloads SET place = place + 1")


def coded_piece(attacker: Attacker) -> None:
    """A body stored as a content coding that this version does not undo."""
    run, log, place = attacker.run("closed"), bytearray(attacker.log_of(attacker.run("closed"))), _place(attacker)
    written, literals = recipe.decode(bytes(log), place)
    log[place:literals] = recipe.encode(Recipe(written.distance, written.copies, written.tail, b"?"))
    attacker.put_log(run, bytes(log))


def trailing_bytes(attacker: Attacker) -> None:
    attacker.repack(attacker.run("closed"), {}, b"more")


def extra_block(attacker: Attacker) -> None:
    attacker.db.execute(
        "INSERT INTO blocks (run, number, start, length, frame, stored)"
        " VALUES ('0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b', 0, 0, 4, 0, x'00')"
    )


def bytes_behind_frame(attacker: Attacker) -> None:
    log = attacker.log_of(attacker.run("closed"))
    _put(attacker, zstandard.ZstdCompressor().compress(log) + b"more")


def second_frame(attacker: Attacker) -> None:
    log = attacker.log_of(attacker.run("closed"))
    _put(attacker, zstandard.ZstdCompressor().compress(log) + zstandard.ZstdCompressor().compress(b"more"))


def bomb(attacker: Attacker) -> None:
    _put(attacker, zstandard.ZstdCompressor(level=1).compress(bytes(1 << 28)))


def long_recipe(attacker: Attacker) -> None:
    """A piece that is made of many copies of one small body."""
    run = attacker.run("closed")
    log, place = bytearray(attacker.log_of(run)), _place(attacker)
    base = recipe.encode(Recipe(0, (), 7)) + b"1234567"
    copies = tuple(recipe.Copy(0, 0, 7) for _ in range(1000))
    log[place:] = base + recipe.encode(Recipe(len(base), copies, 0))
    attacker.put_log(run, bytes(log))
    _body(attacker, "UPDATE payloads SET place = place + ?", len(base))


def longer_payload(attacker: Attacker) -> None:
    attacker.body(attacker.run("closed"), MIDDLE, "/body", b'{"q":2}' + b" " * 100)


def recompressed(attacker: Attacker) -> None:
    """What no hash covers: the same log, packed otherwise."""
    attacker.put_log(attacker.run("closed"), attacker.log_of(attacker.run("closed")))


def respliced(attacker: Attacker) -> None:
    """The same bodies, copied from one another otherwise."""
    attacker.repack(attacker.run("closed"), {})


def extra_opening(attacker: Attacker) -> None:
    attacker.db.execute(
        "INSERT INTO openings SELECT run, seq, '/extra', salt, sha256, length FROM openings"
        " WHERE run = ? AND seq = ? AND pointer = '/body'",
        (attacker.run("closed"), MIDDLE),
    )


def extra_payload(attacker: Attacker) -> None:
    attacker.db.execute(
        "INSERT INTO payloads SELECT run, seq, '/extra', place FROM payloads"
        " WHERE run = ? AND seq = ? AND pointer = '/body'",
        (attacker.run("closed"), MIDDLE),
    )

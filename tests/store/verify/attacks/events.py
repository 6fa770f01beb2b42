"""Attacks on the bytes of one event; T-numbers are those of the tamper matrix."""

from store.core import digest
from tests.store.verify.attacker import MIDDLE, Attacker


def _bytes(attacker: Attacker, old: bytes, new: bytes) -> None:
    run = attacker.run("closed")
    raw = attacker.raws(run)[MIDDLE]
    assert old in raw
    attacker.put(run, MIDDLE, raw.replace(old, new, 1))


def white_space(attacker: Attacker) -> None:
    _bytes(attacker, b',"path"', b', "path"')


def duplicate_member(attacker: Attacker) -> None:
    _bytes(attacker, b'"port":443,', b'"port":443,"port":443,')


def fraction(attacker: Attacker) -> None:
    _bytes(attacker, b'"port":443', b'"port":443.0')


def big_number(attacker: Attacker) -> None:
    _bytes(attacker, b'"port":443', b'"port":9007199254740993')


def surrogate(attacker: Attacker) -> None:
    _bytes(attacker, b'"scheme":"https"', b'"scheme":"\\ud800"')


def no_utf8(attacker: Attacker) -> None:
    _bytes(attacker, b'"scheme":"https"', b'"scheme":"\xff"')


def nothing(attacker: Attacker) -> None:
    attacker.put(attacker.run("closed"), MIDDLE, b"")


def edit_field(attacker: Attacker) -> None:
    run = attacker.run("closed")
    raw = attacker.raws(run)[MIDDLE]
    attacker.put(run, MIDDLE, raw.replace(b"POST", b"HEAD"), digest.event_hash(raw))


def edit_hash(attacker: Attacker) -> None:
    run = attacker.run("closed")
    attacker.put(run, MIDDLE, attacker.raws(run)[MIDDLE], bytes(32))


def edit_and_hash(attacker: Attacker) -> None:
    attacker.edit(attacker.run("closed"), MIDDLE, lambda record: record.update(method="HEAD"), rechain=False)


def edit_and_rechain(attacker: Attacker) -> None:
    attacker.edit(attacker.run("closed"), MIDDLE, lambda record: record.update(method="HEAD"))


def clock_back(attacker: Attacker) -> None:
    run = attacker.run("closed")
    attacker.edit(run, MIDDLE - 1, lambda record: record.update(mono_us=10**9))
    attacker.edit(run, MIDDLE, lambda record: record.update(mono_us=1))
    for seq in range(MIDDLE + 1, 8):
        attacker.edit(run, seq, lambda record: record.update(mono_us=10**9))


def unknown_type(attacker: Attacker) -> None:
    attacker.edit(attacker.run("closed"), MIDDLE, lambda record: record.update(type="http.telepathy"))


def unknown_member(attacker: Attacker) -> None:
    attacker.edit(attacker.run("closed"), MIDDLE, lambda record: record.update(approved=True))


def version_zero(attacker: Attacker) -> None:
    attacker.edit(attacker.run("closed"), MIDDLE, lambda record: record.update(v=0))


def oversize(attacker: Attacker) -> None:
    attacker.edit(attacker.run("closed"), MIDDLE, lambda record: record.update(method="x" * 65_536))

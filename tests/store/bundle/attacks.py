"""Attacks on bundles, each with what both verifiers say of it; T-numbers are those of the tamper matrix."""

import hashlib
import json
from collections.abc import Callable

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from store.core import checkpoint
from tests.store.bundle.conftest import SECRET
from tests.store.bundle.parcel import Parcel, Record

MIDDLE = 3  # the second request

type Attack = Callable[[Parcel], object]


def secret_blob(parcel: Parcel) -> str:
    return next(name for name, content in parcel.members.items() if name.startswith("blobs/") and SECRET in content)


def opening(parcel: Parcel, pointer: str, seq: int = MIDDLE) -> int:
    """The number of the line that opens a body."""
    places = [json.loads(line) for line in parcel.lines("openings.ndjson")]
    return next(n for n, each in enumerate(places) if (each["seq"], each["pointer"]) == (seq, pointer))


def t01(parcel: Parcel) -> None:
    parcel.edit("events.ndjson", MIDDLE, lambda record: record.update(port=444))


def t03(parcel: Parcel) -> None:
    name = secret_blob(parcel)
    parcel.members[name] = parcel.members[name].replace(b"confidence", b"confusion!")


def t22(parcel: Parcel) -> None:
    content = b'{"q":"other words"}'
    digest = hashlib.sha256(content).hexdigest()
    parcel.members[f"blobs/{digest}"] = content
    del parcel.members[secret_blob(parcel)]
    change = {"sha256": digest, "length": len(content)}
    parcel.edit("openings.ndjson", opening(parcel, "/body"), lambda line: line.update(change))


def t23(parcel: Parcel) -> None:
    def swap(line: Record) -> None:
        other = json.loads(parcel.lines("openings.ndjson")[opening(parcel, "/body", 1)])
        line.update(sha256=other["sha256"], length=other["length"])

    parcel.edit("openings.ndjson", opening(parcel, "/body"), swap)


def t28(parcel: Parcel) -> None:
    parcel.edit("openings.ndjson", opening(parcel, "/query"), lambda line: line.update(salt="A" * 43))


def without_opening(parcel: Parcel) -> None:
    lines = parcel.lines("openings.ndjson")
    del lines[opening(parcel, "/query")]
    parcel.put_lines("openings.ndjson", lines)


def without_blob(parcel: Parcel) -> None:
    del parcel.members[secret_blob(parcel)]


def t02(parcel: Parcel) -> None:
    t01(parcel)
    parcel.rehash()


def events(change: Callable[[list[bytes]], object]) -> Attack:
    """Changes the list of events, and the list of their hashes with it."""

    def attack(parcel: Parcel) -> None:
        lines = parcel.lines("events.ndjson")
        change(lines)
        parcel.put_lines("events.ndjson", lines)
        parcel.rehash()

    return attack


def reorder(lines: list[bytes]) -> None:
    lines[MIDDLE], lines[MIDDLE + 1] = lines[MIDDLE + 1], lines[MIDDLE]


def spaced(parcel: Parcel) -> None:
    lines = parcel.lines("events.ndjson")
    lines[MIDDLE] = lines[MIDDLE].replace(b",", b", ", 1)
    parcel.put_lines("events.ndjson", lines)


def other_vkey(parcel: Parcel) -> None:
    key = checkpoint.verifier_key(json.loads(parcel.lines("log.ndjson")[0])["origin"], Ed25519PrivateKey.generate())
    parcel.members["vkey"] = f"{key}\n".encode()


def unsigned(parcel: Parcel) -> None:
    other = Ed25519PrivateKey.generate()
    signed = checkpoint.parse(parcel.members["checkpoint"]).checkpoint
    parcel.members["checkpoint"] = checkpoint.sign(signed, checkpoint.verifier_key(signed.origin, other), other)


def leaf_changed(parcel: Parcel) -> None:
    parcel.edit("log.ndjson", 1, lambda leaf: leaf.update(ts="2001-01-01T00:00:00.000000Z"))


def leaf_dropped(parcel: Parcel) -> None:
    parcel.put_lines("log.ndjson", parcel.lines("log.ndjson")[:-1])


SEALED: dict[str, tuple[Attack, set[tuple[str, int | None]]]] = {
    "T01 a field edited": (t01, {("V203", MIDDLE)}),
    "T02 a field and its hash edited": (t02, {("V203", MIDDLE + 1)}),
    "T03 a body changed": (t03, {("V104", None), ("V604", MIDDLE)}),
    "T04 a middle event dropped": (events(lambda each: each.pop(MIDDLE)), {("V202", MIDDLE)}),
    "T05 the last event dropped": (events(lambda each: each.pop()), {("V214", None)}),
    "T08 two events reordered": (events(reorder), {("V202", MIDDLE)}),
    "T09 an event twice": (events(lambda each: each.insert(MIDDLE, each[MIDDLE])), {("V204", MIDDLE)}),
    "T22 body and opening replaced": (t22, {("V602", MIDDLE)}),
    "T23 two bodies swapped": (t23, {("V602", MIDDLE)}),
    "T26 an opening taken out": (without_opening, {("V601", MIDDLE)}),
    "T26 a body taken out": (without_blob, {("V603", MIDDLE)}),
    "T28 a forged opening": (t28, {("V602", MIDDLE)}),
    "T33 an event in another spelling": (spaced, {("V201", MIDDLE)}),
    "T44 another key beside it": (other_vkey, {("V431", None)}),
    "T16 signed with another key": (unsigned, {("V401", None)}),
    "a leaf edited": (leaf_changed, {("V403", None), ("V403", 0)}),
    "the last leaf dropped": (leaf_dropped, {("V402", None)}),
}
EXACT = ("T01", "T03", "T22", "T23", "T28")


def rename(parcel: Parcel) -> None:
    parcel.members["events.txt"] = parcel.members.pop("events.ndjson")


MEMBERS: dict[str, tuple[Attack, str]] = {
    "T41 an extra member": (lambda each: each.members.update({"notes.txt": b"see here"}), "V102"),
    "T41 an extra body": (lambda each: each.members.update({"blobs/" + "0" * 64: b"see here"}), "V102"),
    "a member missing": (lambda each: each.members.pop("log.ndjson"), "V103"),
    "a body missing": (without_blob, "V103"),
    "a member renamed": (rename, "V102"),
    "T43 the report altered": (lambda each: each.members.update({"report.html": b"<p>All is well.</p>"}), "V104"),
    "verify.py altered": (lambda each: each.members.update({"verify.py": b"print('VERIFIED')"}), "V104"),
    "no manifest": (lambda each: each.members.pop("manifest.json"), "V101"),
    "another manifest": (lambda each: each.members.update({"manifest.json": b"{}"}), "V101"),
    "a manifest of 100,000 brackets": (lambda each: each.members.update({"manifest.json": b"[" * 100_000}), "V101"),
}

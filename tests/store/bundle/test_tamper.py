"""Attacks on bundles: each with its code, and the exact event where there is one; from both verifiers alike."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from store.bundle.proof import verify_bundle
from store.core import checkpoint, merkle
from store.core.checkpoint import Checkpoint, VerifierKey
from tests.store.bundle.conftest import SECRET
from tests.store.bundle.parcel import Parcel, Record, both, export, judge
from tests.support.sample import Sample

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
    "t01 a field": (t01, {("V203", MIDDLE)}),
    "t02 a field and its hash": (t02, {("V203", MIDDLE + 1)}),
    "t03 a payload": (t03, {("V104", None), ("V604", MIDDLE)}),
    "t04 a middle event": (events(lambda each: each.pop(MIDDLE)), {("V202", MIDDLE)}),
    "t05 the last event": (events(lambda each: each.pop()), {("V214", None)}),
    "t08 reorder": (events(reorder), {("V202", MIDDLE)}),
    "t09 duplicate": (events(lambda each: each.insert(MIDDLE, each[MIDDLE])), {("V204", MIDDLE)}),
    "t22 payload and opening": (t22, {("V602", MIDDLE)}),
    "t23 bodies swapped": (t23, {("V602", MIDDLE)}),
    "t26 an opening": (without_opening, {("V601", MIDDLE)}),
    "t26 a payload": (without_blob, {("V603", MIDDLE)}),
    "t28 forged opening": (t28, {("V602", MIDDLE)}),
    "t33 not canonical": (spaced, {("V201", MIDDLE)}),
    "t44 another key beside it": (other_vkey, {("V431", None)}),
    "t16 signed with another key": (unsigned, {("V401", None)}),
    "a leaf": (leaf_changed, {("V403", None), ("V403", 0)}),
    "the last leaf": (leaf_dropped, {("V402", None)}),
}
EXACT = ("t01", "t03", "t22", "t23", "t28")


@pytest.mark.parametrize("name", SEALED)
def test_evidence_cannot_be_changed_though_the_manifest_is_made_to_fit(
    name: str, parcel: Parcel, tmp_path: Path
) -> None:
    attack, expected = SEALED[name]
    attack(parcel)
    parcel.seal()
    path = parcel.write(tmp_path / "attacked.zip")
    code, findings = both(path)
    assert code == 20
    assert expected <= set(findings)
    if name.startswith(EXACT):
        for each in (findings, judge(path)[1]):
            assert {seq for _, seq in each if seq is not None} == {MIDDLE}


def rename(parcel: Parcel) -> None:
    parcel.members["events.txt"] = parcel.members.pop("events.ndjson")


MEMBERS: dict[str, tuple[Attack, str]] = {
    "t41 extra": (lambda each: each.members.update({"notes.txt": b"see here"}), "V102"),
    "t41 extra blob": (lambda each: each.members.update({"blobs/" + "0" * 64: b"see here"}), "V102"),
    "missing": (lambda each: each.members.pop("log.ndjson"), "V103"),
    "missing blob": (without_blob, "V103"),
    "renamed": (rename, "V102"),
    "t43 report": (lambda each: each.members.update({"report.html": b"<p>All is well.</p>"}), "V104"),
    "verifier": (lambda each: each.members.update({"verify.py": b"print('VERIFIED')"}), "V104"),
    "no manifest": (lambda each: each.members.pop("manifest.json"), "V101"),
    "manifest": (lambda each: each.members.update({"manifest.json": b"{}"}), "V101"),
    "deep manifest": (lambda each: each.members.update({"manifest.json": b"[" * 100_000}), "V101"),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_members_are_held_against_the_manifest(name: str, parcel: Parcel, tmp_path: Path) -> None:
    attack, code = MEMBERS[name]
    attack(parcel)
    status, findings = both(parcel.write(tmp_path / "attacked.zip"))
    assert status == 20
    assert (code, None) in findings


def test_t41_an_extra_member_stays_one_though_the_manifest_names_it(parcel: Parcel, tmp_path: Path) -> None:
    parcel.members["notes.txt"] = b"see here"
    parcel.seal()
    assert both(parcel.write(tmp_path / "attacked.zip")) == (20, [("V102", None)])


@pytest.mark.parametrize("raw", [b"", b"PK", b"PK\x03\x04" + b"\0" * 40, b"PK\x05\x06" + b"\0" * 18])
def test_t53_what_is_no_bundle_is_refused(raw: bytes, tmp_path: Path) -> None:
    path = tmp_path / "none.zip"
    path.write_bytes(raw)
    assert both(path)[0] == 20


def test_t44_a_bundle_made_anew_with_the_attackers_key_is_not_attributed(
    raw: bytes, parcel: Parcel, tmp_path: Path
) -> None:
    true_key = parcel.members["vkey"].decode().strip()
    private = Ed25519PrivateKey.generate()
    key = checkpoint.verifier_key(VerifierKey.parse(true_key).name, private)
    parcel.edit("log.ndjson", 0, lambda leaf: leaf.update(vkey=str(key)))
    lines = parcel.lines("log.ndjson")
    root = merkle.Tree(lines).root
    parcel.members["checkpoint"] = checkpoint.sign(Checkpoint(key.name, len(lines), root), key, private)
    parcel.members["vkey"] = f"{key}\n".encode()
    parcel.seal()
    path = parcel.write(tmp_path / "forged.zip")
    # Event 0 names the log as it was when the run began: even without a pin this forger has to rewrite the run too.
    assert both(path) == (20, [("V403", 0)])
    assert {("V401", None), ("V431", None)} <= set(both(path, true_key)[1])


def test_any_flipped_byte_of_a_bundle_is_found(raw: bytes, sample: Sample, tmp_path: Path) -> None:
    path, source = tmp_path / "flipped.zip", sample.source()
    places = range(len(raw)) if sample.full else sorted(source.sample(range(len(raw)), 300))
    for at in places:
        changed = bytearray(raw)
        changed[at] ^= 1 << source.randrange(8)
        path.write_bytes(changed)
        assert verify_bundle(path).exit_code == 20, at
        assert judge(path)[0] == 20, at


def test_any_flipped_byte_of_evidence_is_found_though_container_and_manifest_are_made_to_fit(
    raw: bytes, sample: Sample, tmp_path: Path
) -> None:
    path, source = tmp_path / "flipped.zip", sample.source()
    evidence = ("checkpoint", "log.ndjson", "events.ndjson", "openings.ndjson", "vkey")
    places = [(name, at) for name in evidence for at in range(len(Parcel(raw).members[name]))]
    for name, at in places if sample.full else source.sample(places, 200):
        parcel = Parcel(raw)
        changed = bytearray(parcel.members[name])
        changed[at] ^= 1 << source.randrange(8)
        parcel.members[name] = bytes(changed)
        parcel.seal()
        verdict = verify_bundle(parcel.write(path))
        assert verdict.exit_code in (20, 30), (name, at)
        assert judge(path)[0] == verdict.exit_code, (name, at)


@pytest.mark.parametrize("proofs", [False, True])
def test_bytes_in_the_other_kinds_of_bundle_are_held_too(
    proofs: bool, recorded: Path, sample: Sample, tmp_path: Path
) -> None:
    raw = export(recorded, "other", "open", proofs=proofs, bodies=False)
    path, source = tmp_path / "flipped.zip", sample.source()
    names = [name for name in Parcel(raw).members if name.startswith(("proofs/", "log", "events", "checkpoint"))]
    for _ in range(60):
        parcel = Parcel(raw)
        name = source.choice(names)
        changed = bytearray(parcel.members[name])
        changed[source.randrange(len(changed))] ^= 1 << source.randrange(8)
        parcel.members[name] = bytes(changed)
        parcel.seal()
        verdict = verify_bundle(parcel.write(path))
        assert verdict.exit_code in (20, 30), name
        assert judge(path)[0] == verdict.exit_code, name

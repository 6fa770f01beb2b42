"""Attacks on bundles: each with its code, and the exact event where there is one; from both verifiers alike."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from store.bundle.proof import verify_bundle
from store.core import checkpoint, merkle
from store.core.checkpoint import Checkpoint, VerifierKey
from tests.store.bundle.attacks import EXACT, MEMBERS, MIDDLE, SEALED
from tests.store.bundle.parcel import Parcel, both, export, judge
from tests.support.sample import Sample


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


@pytest.mark.parametrize("name", MEMBERS)
def test_members_are_held_against_the_manifest(name: str, parcel: Parcel, tmp_path: Path) -> None:
    attack, code = MEMBERS[name]
    attack(parcel)
    status, findings = both(parcel.write(tmp_path / "attacked.zip"))
    assert status == 20
    assert (code, None) in findings


@pytest.mark.parametrize("name", ["notes.txt", "READMExtxt", "logxndjson", "openingsxndjson"])
def test_t41_an_extra_member_stays_one_though_the_manifest_names_it(name: str, parcel: Parcel, tmp_path: Path) -> None:
    parcel.members[name] = b"see here"
    parcel.seal()
    assert both(parcel.write(tmp_path / "attacked.zip")) == (20, [("V102", None)])


def test_a_proof_begins_as_the_format_says_letter_for_letter(recorded: Path, tmp_path: Path) -> None:
    parcel = Parcel(export(recorded, "other", proofs=True))
    name = next(name for name in parcel.members if name.startswith("proofs/"))
    parcel.members[name] = parcel.members[name].replace(b"c2sp.org", b"c2sp>org")
    parcel.seal()
    status, findings = both(parcel.write(tmp_path / "attacked.zip"))
    assert status == 20
    assert ("V403", None) in findings


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
    places = range(len(raw)) if sample.full else sorted(source.sample(range(len(raw)), 200))
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
    for name, at in places if sample.full else source.sample(places, 120):
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

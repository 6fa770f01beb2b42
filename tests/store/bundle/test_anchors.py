"""The anchors of a bundle: which of the store's belong, what they prove where nothing else is, and what is missed."""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from store.bundle import readme
from store.bundle.export import excerpt
from store.bundle.proof import verify_bundle
from store.core import checkpoint
from store.core.cosignature import WitnessKey
from store.core.errors import StoreUnusable
from store.core.leaf import Anchored
from store.outside import token
from store.outside.token import Authority
from store.verify.policy import Policy
from store.verify.terms import Terms
from tests.store.bundle.parcel import Parcel, both, export, found
from tests.support.anchored import cosign, stamp
from tests.support.tape import Call, tape
from tests.support.time_authority import TimeAuthority
from tests.support.witness import Witness


@dataclass(frozen=True, slots=True)
class Made:
    """A store whose run `one` has anchors on both sides, and what trusts them."""

    folder: Path
    keys: Path
    authority: TimeAuthority
    policy: Policy


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    base = tmp_path_factory.mktemp("anchored")
    authority, witness = TimeAuthority(base / "tsa"), Witness({})
    with tape(base) as one:
        for _ in range(2):
            stamp(one.folder, one.keys, authority)
        one.run([Call()], "one")
        for _ in range(2):
            stamp(one.folder, one.keys, authority)
            cosign(one.folder, one.keys, witness)
        one.run([Call()], "two")
    trusted = (Authority(token.certificates(authority.root.read_bytes())),)
    asked = Policy(witnesses=(WitnessKey.parse(witness.vkey),), quorum=1, authorities=trusted, timed=True)
    return Made(one.folder, one.keys, authority, asked)


@pytest.fixture(params=[False, True], ids=["full log", "proofs"])
def parcel(request: pytest.FixtureRequest, made: Made) -> Parcel:
    return Parcel(export(made.folder, "one", proofs=request.param))


def anchors(parcel: Parcel, suffix: str) -> list[str]:
    return sorted(name for name in parcel.members if name.startswith("anchors/") and name.endswith(f".{suffix}"))


def test_it_holds_the_stamps_around_its_run_and_the_first_cosignature(
    parcel: Parcel, made: Made, tmp_path: Path
) -> None:
    assert [len(anchors(parcel, suffix)) for suffix in ("tsr", "cosignature", "checkpoint")] == [2, 1, 3]
    assert bool(anchors(parcel, "consistency")) == ("log.ndjson" not in parcel.members)
    path = parcel.write(tmp_path / "one.zip")
    verdict = verify_bundle(path, Terms(policy=made.policy))
    assert (verdict.exit_code, found(verdict)) == (0, [])
    assert not {"UNTIMED", "UNWITNESSED"} & set(dict(verdict.flags))
    assert verdict.bounds.no_earlier is not None
    assert verdict.bounds.no_later is not None
    assert verdict.bounds.no_earlier < datetime.now(UTC)
    assert both(path) == (0, [])


def test_it_is_the_same_whatever_is_anchored_later(made: Made, tmp_path: Path) -> None:
    before = [export(made.folder, "one", proofs=proofs) for proofs in (False, True)]
    shutil.copytree(made.folder.parent, tmp_path / "later")
    stamp(tmp_path / "later" / "store", tmp_path / "later" / "keys", made.authority)
    cosign(tmp_path / "later" / "store", tmp_path / "later" / "keys", Witness({}))
    assert [export(tmp_path / "later" / "store", "one", proofs=proofs) for proofs in (False, True)] == before


def test_an_earlier_export_is_given_again_by_its_checkpoint(made: Made, tmp_path: Path) -> None:
    with excerpt(made.folder, made.keys, ["two"]) as taken:
        size = taken.size
    before = export(made.folder, "two")
    shutil.copytree(made.folder.parent, tmp_path / "later")
    folder = tmp_path / "later" / "store"
    stamp(folder, tmp_path / "later" / "keys", made.authority)
    assert export(folder, "two") != before
    assert export(folder, "two", size=size) == before
    for other in (1, 2, 10**9):
        with pytest.raises(StoreUnusable, match=f"no checkpoint over {other} lea(f|ves) shows"):
            export(folder, "two", size=other)


def test_a_run_that_nobody_covers_yet_is_exported_with_what_came_before(made: Made, tmp_path: Path) -> None:
    parcel = Parcel(export(made.folder, "two"))
    assert [len(anchors(parcel, suffix)) for suffix in ("tsr", "cosignature")] == [1, 0]
    verdict = verify_bundle(parcel.write(tmp_path / "two.zip"), Terms(policy=made.policy))
    assert (verdict.exit_code, [code for code, _ in found(verdict)]) == (10, ["V510", "V521"])
    assert verdict.bounds.no_earlier is not None


def test_several_runs_share_what_covers_them(made: Made, tmp_path: Path) -> None:
    path = Parcel(export(made.folder, "one", "two")).write(tmp_path / "both.zip")
    assert both(path) == (0, [])
    assert verify_bundle(path, Terms(policy=made.policy)).events == 8


def lost(suffix: str) -> Callable[[Parcel], None]:
    def lose(parcel: Parcel) -> None:
        del parcel.members[anchors(parcel, suffix)[0]]

    return lose


def swapped(suffix: str) -> Callable[[Parcel], None]:
    def swap(parcel: Parcel) -> None:
        one, other = anchors(parcel, suffix)[:2]
        parcel.members[one], parcel.members[other] = parcel.members[other], parcel.members[one]

    return swap


def added(parcel: Parcel) -> None:
    parcel.members["anchors/77.tsr"] = parcel.members[anchors(parcel, "tsr")[0]]


def junk(suffix: str) -> Callable[[Parcel], None]:
    return lambda parcel: parcel.members.update({anchors(parcel, suffix)[0]: b"junk\n"})


ATTACKS: dict[str, tuple[Callable[[Parcel], None], set[str]]] = {
    "T46 cosignatures stripped": (lost("cosignature"), {"V103"}),
    "T47 time stamps swapped": (swapped("tsr"), {"V520"}),
    "time stamp stripped": (lost("tsr"), {"V103"}),
    "what was stamped stripped": (lost("checkpoint"), {"V103", "V520"}),
    "what was stamped swapped": (swapped("checkpoint"), {"V403"}),
    "one too many": (added, {"V102"}),
    "no cosignature": (junk("cosignature"), {"V511"}),
    "no checkpoint": (junk("checkpoint"), {"V401"}),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_what_is_taken_or_exchanged_is_missed_though_the_manifest_fits(
    name: str, parcel: Parcel, tmp_path: Path
) -> None:
    attack, expected = ATTACKS[name]
    attack(parcel)
    parcel.seal()
    verdict = verify_bundle(parcel.write(tmp_path / "one.zip"))
    assert verdict.exit_code == 20
    assert {code for code, _ in found(verdict)} >= expected


@pytest.mark.parametrize("attack", [lost("consistency"), swapped("consistency"), junk("consistency")])
def test_a_checkpoint_that_nothing_ties_to_the_log_proves_nothing(
    attack: Callable[[Parcel], None], made: Made, tmp_path: Path
) -> None:
    parcel = Parcel(export(made.folder, "one", proofs=True))
    attack(parcel)
    parcel.seal()
    verdict = verify_bundle(parcel.write(tmp_path / "one.zip"), Terms(policy=made.policy))
    assert verdict.exit_code == 20
    assert {"V103", "V520", "V511", "V403"} & {code for code, _ in found(verdict)}


def test_a_stamp_over_another_log_with_the_same_key_proves_nothing(made: Made, tmp_path: Path) -> None:
    """Who has the key has a checkpoint of another log stamped in good time: the proof does not lead there."""
    parcel = Parcel(export(made.folder, "one", proofs=True))
    name = anchors(parcel, "checkpoint")[-1]
    stated = checkpoint.parse(parcel.members[name]).checkpoint
    (path,) = (made.keys).glob("*.pem")
    private = serialization.load_pem_private_key(path.read_bytes(), None)
    assert isinstance(private, Ed25519PrivateKey)
    key = checkpoint.verifier_key(stated.origin, private)
    other = checkpoint.Checkpoint(stated.origin, stated.size, bytes(32))
    parcel.members[name] = checkpoint.sign(other, key, private)
    parcel.seal()
    verdict = verify_bundle(parcel.write(tmp_path / "one.zip"), Terms(policy=made.policy))
    assert (verdict.exit_code, "V403" in {code for code, _ in found(verdict)}) == (20, True)


def test_the_readme_checks_a_stamp_with_openssl(made: Made, tmp_path: Path) -> None:
    parcel = Parcel(export(made.folder, "one"))
    for name, content in parcel.members.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    text = parcel.members["README.txt"].decode()
    commands = [line.strip() for line in text.splitlines() if line.strip().startswith("openssl ts")]
    assert len(commands) == 2
    shutil.copy(made.authority.root, tmp_path / "ROOT.pem")
    for command in commands:
        done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout.strip()) == (0, "Verification: OK"), done.stderr
    name = anchors(parcel, "checkpoint")[0]
    (tmp_path / name).write_bytes(parcel.members[name] + b"\n")
    broken = [subprocess.run(["sh", "-c", each], cwd=tmp_path, capture_output=True, check=False) for each in commands]
    assert any(done.returncode for done in broken)


def test_the_readme_speaks_of_stamps_only_where_there_are_some() -> None:
    cosigned = {5: Anchored("cosignature", 5, "0" * 64, "w")}
    text = readme.text(["r"], proofs=False, bodies=True, anchored=cosigned, verifier="0").decode()
    assert "openssl ts" not in text
    assert "anchors/ " in text
    assert "anchors/" not in readme.text(["r"], proofs=False, bodies=True, anchored={}, verifier="0").decode()

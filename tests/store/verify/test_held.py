"""A checkpoint that somebody else kept: it shows a rollback and a fork, and nothing less takes the flag away."""

import shutil
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from store.bundle.proof import verify_bundle
from store.core import checkpoint, merkle
from store.core.checkpoint import Checkpoint, SignedCheckpoint
from store.memory import Memory, remembered
from store.verify import Terms, verify
from store.verify.verdict import Verdict
from store.writer import Writer
from tests.store.bundle.parcel import export
from tests.store.verify.attacker import Attacker
from tests.support.tape import Call, Tape, tape


def held(folder: Path) -> SignedCheckpoint:
    """The newest checkpoint, as one keeps it elsewhere."""
    attacker = Attacker(folder)
    _, note = attacker.newest_checkpoint()
    attacker.close()
    return checkpoint.parse(note)


def codes(verdict: Verdict) -> list[str]:
    return [finding.code for finding in verdict.findings]


@pytest.fixture
def recorded(tmp_path: Path) -> Tape:
    with tape(tmp_path) as made:
        made.run([Call()], "one")
    return made


def go_on(made: Tape, name: str) -> str:
    writer = Writer.open(made.folder, made.keys)
    run = Tape(made.folder, made.keys, writer).run([Call()], name)
    writer.close()
    return run


def test_a_log_that_leads_to_it_is_witnessed_as_far_as_it_reaches(recorded: Tape) -> None:
    assert ("UNWITNESSED", None) in verify(recorded.folder, recorded.keys).flags
    kept = held(recorded.folder)
    assert "UNWITNESSED" not in dict(verify(recorded.folder, recorded.keys, terms=Terms(held=kept)).flags)
    go_on(recorded, "two")
    verdict = verify(recorded.folder, recorded.keys, terms=Terms(held=kept))
    assert (verdict.exit_code, dict(verdict.flags)["UNWITNESSED"]) == (0, 4)
    assert "UNWITNESSED" not in dict(verify(recorded.folder, recorded.keys, "one", terms=Terms(held=kept)).flags)
    assert dict(verify(recorded.folder, recorded.keys, "two", terms=Terms(held=kept)).flags)["UNWITNESSED"] == 4


def test_t14_an_old_backup_is_rolled_back(recorded: Tape, tmp_path: Path) -> None:
    shutil.copytree(recorded.folder, tmp_path / "backup")
    go_on(recorded, "two")
    kept = held(recorded.folder)
    verdict = verify(tmp_path / "backup", recorded.keys, terms=Terms(held=kept))
    assert (codes(verdict), verdict.exit_code, verdict.word) == (["V501"], 21, "DIVERGED")
    assert ("UNWITNESSED", None) in verdict.flags
    assert verify(tmp_path / "backup", recorded.keys).exit_code == 0


def test_t13_t15_a_log_rebuilt_with_the_true_key_is_found_out(recorded: Tape, tmp_path: Path) -> None:
    shutil.copytree(recorded.folder, tmp_path / "backup")
    go_on(recorded, "two")
    kept = held(recorded.folder)
    shutil.rmtree(recorded.folder)
    shutil.copytree(tmp_path / "backup", recorded.folder)
    (memory,) = recorded.keys.glob("*.signed")
    memory.unlink()
    go_on(recorded, "another two")
    assert verify(recorded.folder, recorded.keys).exit_code == 0
    verdict = verify(recorded.folder, recorded.keys, terms=Terms(held=kept))
    assert (codes(verdict), verdict.exit_code) == (["V502"], 21)


def test_what_is_invalid_outranks_what_has_diverged(recorded: Tape, tmp_path: Path) -> None:
    shutil.copytree(recorded.folder, tmp_path / "backup")
    go_on(recorded, "two")
    kept = held(recorded.folder)
    attacker = Attacker(tmp_path / "backup")
    attacker.edit(attacker.run("one"), 1, lambda record: record.update(port=1))
    attacker.close()
    verdict = verify(tmp_path / "backup", recorded.keys, terms=Terms(held=kept))
    assert "V501" in codes(verdict)
    assert verdict.exit_code == 20


def test_a_note_of_another_log_or_key_vouches_for_nothing(recorded: Tape, tmp_path: Path) -> None:
    with tape(tmp_path / "other") as other:
        other.run([Call()])
    verdict = verify(recorded.folder, recorded.keys, terms=Terms(held=held(other.folder)))
    assert (codes(verdict), verdict.exit_code) == (["V404"], 20)
    stated = held(recorded.folder).checkpoint
    private = Ed25519PrivateKey.from_private_bytes(bytes(32))
    forged = checkpoint.sign(stated, checkpoint.verifier_key(stated.origin, private), private)
    verdict = verify(recorded.folder, recorded.keys, terms=Terms(held=checkpoint.parse(forged)))
    assert (codes(verdict), verdict.exit_code) == (["V401"], 20)
    assert ("UNWITNESSED", None) in verdict.flags


def test_of_a_log_with_holes_it_can_say_nothing(recorded: Tape) -> None:
    kept = held(recorded.folder)
    attacker = Attacker(recorded.folder)
    attacker.db.execute("DELETE FROM leaves WHERE position = 2")
    attacker.close()
    verdict = verify(recorded.folder, recorded.keys, terms=Terms(held=kept))
    assert "V502" not in codes(verdict)
    assert ("UNWITNESSED", None) in verdict.flags
    assert verdict.exit_code == 20


def test_the_beginning_of_every_log_vouches_for_no_event(recorded: Tape) -> None:
    attacker = Attacker(recorded.folder)
    key = attacker.stolen_key()
    attacker.close()
    note = checkpoint.sign(Checkpoint(attacker.origin, 0, merkle.Tree().root), attacker.key, key)
    verdict = verify(recorded.folder, recorded.keys, terms=Terms(held=checkpoint.parse(note)))
    assert (verdict.exit_code, dict(verdict.flags)["UNWITNESSED"]) == (0, 4)


def test_t14_t15_a_store_that_was_put_back_is_found_by_what_its_signer_remembers(
    recorded: Tape, tmp_path: Path
) -> None:
    shutil.copytree(recorded.folder, tmp_path / "backup")
    go_on(recorded, "two")
    signed = remembered(recorded.keys)
    assert verify(recorded.folder, recorded.keys, terms=Terms(signed=signed)).exit_code == 0
    for run in (None, "one"):
        verdict = verify(tmp_path / "backup", recorded.keys, run, Terms(signed=signed))
        assert [each.code for each in verdict.findings] == ["V501"]
        assert (verdict.word, verdict.exit_code) == ("DIVERGED", 21)


def test_a_log_of_the_same_length_that_is_another_is_found_by_it_too(recorded: Tape) -> None:
    ((name, known),) = remembered(recorded.keys).items()
    verdict = verify(recorded.folder, recorded.keys, terms=Terms(signed={name: Memory(known.size, bytes(32))}))
    assert [each.code for each in verdict.findings] == ["V502"]
    assert verdict.exit_code == 21


def test_it_says_nothing_of_another_store_nor_of_a_bundle(recorded: Tape, tmp_path: Path) -> None:
    ((name, known),) = remembered(recorded.keys).items()
    assert (
        verify(recorded.folder, recorded.keys, terms=Terms(signed={"other": Memory(10**6, bytes(32))})).exit_code == 0
    )
    assert verify(recorded.folder, recorded.keys, terms=Terms(signed={name: Memory()})).exit_code == 0
    (tmp_path / "one.zip").write_bytes(export(recorded.folder, "one"))
    later = Memory(known.size + 100, bytes(32))
    assert verify_bundle(tmp_path / "one.zip", Terms(signed={name: later})).exit_code == 0

"""Checkpoints outside of the store: carried out unchanged, and held against each other by the store's own tree."""

import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from store import anchor, log, sealing
from store.core import checkpoint, merkle, proof
from store.core.checkpoint import Checkpoint
from store.core.errors import Malformed, StoreUnusable
from store.database import open_for_reading
from tests.store.verify.attacker import Attacker
from tests.support.tape import Call, Tape, tape


@pytest.fixture
def notes(tmp_path: Path) -> tuple[Tape, list[bytes]]:
    """A store that was signed after each of three runs, and the notes."""
    found = []
    with tape(tmp_path) as made:
        for _ in range(3):
            made.run([Call()])
            found.append(sealing.seal(made.folder, made.keys)[1])
    return made, found


def fork(made: Tape, base: Path) -> bytes:
    """What the holder of the key signs for somebody else: the same size, another leaf."""
    shutil.copytree(made.folder.parent, base)
    attacker = Attacker(base / "store")
    attacker.leaf(attacker.leaf_of("recorder.start"), lambda record: record.update(version="9"))
    attacker.sign(attacker.stolen_key())
    _, note = attacker.newest_checkpoint()
    attacker.close()
    return note


def test_a_later_note_extends_an_earlier_one_and_the_proof_says_so(notes: tuple[Tape, list[bytes]]) -> None:
    made, (one, two, _) = notes
    found = anchor.compare(made.folder, one, two)
    assert (found.relation, found.code) == ("extends", None)
    old, new = (checkpoint.parse(note).checkpoint for note in (one, two))
    assert proof.is_extension(old.size, old.root, new.size, new.root, found.path)
    assert anchor.compare(made.folder, one, one).relation == "same"
    back = anchor.compare(made.folder, two, one)
    assert (back.relation, back.code) == ("rolled back", "V501")


def test_t45_two_forms_of_one_log_are_a_fork(notes: tuple[Tape, list[bytes]], tmp_path: Path) -> None:
    made, (one, _, _) = notes
    _, true = anchor.newest(made.folder)
    false = fork(made, tmp_path / "copy")
    for first, second in ((true, false), (false, true), (one, false), (false, one)):
        found = anchor.compare(made.folder, first, second)
        assert (found.relation, found.code) == ("forked", "V502")


def test_a_store_that_was_rolled_back_cannot_prove_what_was_later(
    notes: tuple[Tape, list[bytes]], tmp_path: Path
) -> None:
    made, (one, two, _) = notes
    shutil.copytree(made.folder.parent, tmp_path / "copy")
    attacker = Attacker(tmp_path / "copy" / "store")
    attacker.cut_log(checkpoint.parse(one).checkpoint.size)
    attacker.close()
    found = anchor.compare(tmp_path / "copy" / "store", one, two)
    assert (found.relation, found.code) == ("rolled back", "V501")


def test_a_note_of_another_key_or_log_is_not_compared(notes: tuple[Tape, list[bytes]], tmp_path: Path) -> None:
    made, (one, _, _) = notes
    stated = checkpoint.parse(one).checkpoint
    private = Ed25519PrivateKey.from_private_bytes(bytes(32))
    key = checkpoint.verifier_key(stated.origin, private)
    with pytest.raises(anchor.ForeignNote, match="V401"):
        anchor.compare(made.folder, one, checkpoint.sign(stated, key, private))
    other = Checkpoint("edgetape.local/other", stated.size, stated.root)
    with pytest.raises(anchor.ForeignNote, match="V404"):
        anchor.compare(made.folder, checkpoint.sign(other, key, private), one)
    with pytest.raises(Malformed):
        anchor.compare(made.folder, one, b"no note")


def test_every_leaf_is_proved_to_be_in_the_log_and_every_size_to_extend_the_others(
    notes: tuple[Tape, list[bytes]],
) -> None:
    made, _ = notes
    connection = open_for_reading(made.folder)
    leaves = [bytes(raw) for (raw,) in connection.execute("SELECT leaf FROM leaves ORDER BY position")]
    roots = [merkle.Tree(leaves[:size]).root for size in range(len(leaves) + 1)]
    for new in range(1, len(leaves) + 1):
        for index in range(new):
            path = log.inclusion(connection, index, new)
            assert proof.root_of(merkle.leaf_hash(leaves[index]), index, new, path) == roots[new]
        for old in range(new + 1):
            assert proof.is_extension(old, roots[old], new, roots[new], log.consistency(connection, old, new))
    with pytest.raises(ValueError, match="fewer"):
        log.inclusion(connection, 0, len(leaves) + 1)
    with pytest.raises(ValueError, match="fewer"):
        log.consistency(connection, 1, len(leaves) + 1)
    connection.close()


def test_a_note_is_laid_into_a_folder_once_and_never_changed(notes: tuple[Tape, list[bytes]], tmp_path: Path) -> None:
    made, (one, _, _) = notes
    kept = tmp_path / "kept"
    with pytest.raises(anchor.AnchorFailed, match="No such file"):
        anchor.export_to_folder(kept, *anchor.newest(made.folder))
    kept.mkdir()
    stated, note = anchor.newest(made.folder)
    path = anchor.export_to_folder(kept, stated, note)
    assert path.name == f"{stated.origin.removeprefix('edgetape.local/')}-{stated.size:012}.checkpoint"
    assert path.read_bytes() == note
    assert anchor.export_to_folder(kept, stated, note) == path
    with pytest.raises(anchor.AnchorFailed, match="another checkpoint of the same size"):
        anchor.export_to_folder(kept, stated, one)
    assert path.read_bytes() == note


def git(repository: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", repository, *arguments], check=True, capture_output=True, text=True)
    return done.stdout


def test_a_note_is_committed_into_a_repository_alone(notes: tuple[Tape, list[bytes]], tmp_path: Path) -> None:
    made, _ = notes
    kept = tmp_path / "kept"
    kept.mkdir()
    stated, note = anchor.newest(made.folder)
    with pytest.raises(anchor.AnchorFailed, match="git rev-parse failed"):
        anchor.export_to_git(kept, stated, note)
    assert list(kept.iterdir()) == []
    (tmp_path / "bare").mkdir()
    git(tmp_path / "bare", "init", "-q", "--bare")
    with pytest.raises(anchor.AnchorFailed, match="no work tree"):
        anchor.export_to_git(tmp_path / "bare", stated, note)
    git(kept, "init", "-q")
    git(kept, "config", "user.name", "Keeper")
    git(kept, "config", "user.email", "keeper@example.test")
    (kept / "unfinished").touch()
    git(kept, "add", "unfinished")
    path = anchor.export_to_git(kept, stated, note)
    for _ in range(2):
        assert anchor.export_to_git(kept, stated, note) == path
        assert git(kept, "log", "--format=%s").splitlines() == [f"checkpoint {stated.size} of {stated.origin}"]
        assert git(kept, "show", "--name-only", "--format=", "HEAD").split() == [path.name]
    assert git(kept, "show", f"HEAD:{path.name}").encode() == note


def test_a_store_without_a_checkpoint_has_none_to_carry_out(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        made.run([Call()])
    attacker = Attacker(made.folder)
    attacker.db.execute("DELETE FROM checkpoints")
    attacker.close()
    with pytest.raises(StoreUnusable, match="nothing is signed"):
        anchor.newest(made.folder)

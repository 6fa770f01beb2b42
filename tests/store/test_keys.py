"""The signing key: made with its store and never again, and it signs no log but the one that it knows."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from store.core.errors import KeyUnavailable
from store.keys import Signer
from store.verify import verify
from store.writer import Writer
from tests.support.tape import Call, Tape, tape


@pytest.fixture
def recorded(tmp_path: Path) -> Tape:
    """A store with one run, closed."""
    with tape(tmp_path) as made:
        made.run([Call()])
    return made


def key_file(made: Tape) -> Path:
    (path,) = made.keys.glob("*.pem")
    return path


def memory(made: Tape) -> Path:
    (path,) = made.keys.glob("*.signed")
    return path


def pem(private: Ed25519PrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    return private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


@pytest.mark.parametrize(
    "spoil, said",
    [
        (Path.unlink, "missing"),
        (lambda path: path.write_bytes(pem(Ed25519PrivateKey.generate())), "not the one of this store"),
        (lambda path: path.write_bytes(pem(ec.generate_private_key(ec.SECP256R1()))), "no Ed25519 key"),
        (lambda path: path.write_bytes(b""), "cannot be read"),
        (lambda path: path.write_bytes(path.read_bytes()[:60]), "cannot be read"),
        (lambda path: path.write_bytes(b"\xff" * 200), "cannot be read"),
    ],
    ids=["missing", "foreign", "other kind", "empty", "cut off", "bytes"],
)
def test_a_key_that_is_not_the_stores_own_is_refused_and_none_is_made(
    recorded: Tape, spoil: Callable[[Path], object], said: str
) -> None:
    path = key_file(recorded)
    spoil(path)
    with pytest.raises(KeyUnavailable, match=said) as caught:
        Writer.open(recorded.folder, recorded.keys)
    assert "restore it" in caught.value.hint
    assert [found for found in recorded.keys.glob("*.pem") if found != path] == []
    assert verify(recorded.folder, recorded.keys).exit_code == 0


def test_two_stores_have_two_keys_in_one_folder(tmp_path: Path) -> None:
    origins = set()
    for name in ("one", "two"):
        writer = Writer.open(tmp_path / name, tmp_path / "keys")
        origins.add(writer.origin)
        writer.close()
    assert len(origins) == len(list((tmp_path / "keys").glob("*.pem"))) == 2


def signing(made: Tape) -> Writer:
    """A writer that has written a run, and has tried to sign it."""
    writer = Writer.open(made.folder, made.keys)
    Tape(made.folder, made.keys, writer).run([Call()])
    writer.close()
    return writer


@pytest.mark.parametrize("content", [b"garbage", b"\xff\xfe", b"12 not-hex\n", b"x" * 300, b"00012\n"])
def test_with_a_damaged_memory_it_records_on_and_signs_nothing(recorded: Tape, content: bytes) -> None:
    memory(recorded).write_bytes(content)
    before = verify(recorded.folder, recorded.keys).checkpoint
    failure = signing(recorded).signing_failure
    assert isinstance(failure, KeyUnavailable)
    assert failure.hint
    verdict = verify(recorded.folder, recorded.keys)
    assert verdict.exit_code == 0
    assert verdict.checkpoint == before
    assert dict(verdict.flags)["UNSEALED_TAIL"] == 4
    assert memory(recorded).read_bytes() == content


def test_t14_t15_a_restored_backup_is_not_signed_over(recorded: Tape, tmp_path: Path) -> None:
    shutil.copytree(recorded.folder, tmp_path / "backup")
    assert signing(recorded).signing_failure is None
    shutil.rmtree(recorded.folder)
    shutil.copytree(tmp_path / "backup", recorded.folder)
    failure = signing(recorded).signing_failure
    assert isinstance(failure, KeyUnavailable)
    assert "rolled back" in str(failure)
    assert "UNSEALED_TAIL" in dict(verify(recorded.folder, recorded.keys).flags)


def test_a_signature_that_never_got_into_the_store_is_made_up_for(recorded: Tape) -> None:
    """As after a crash between the signer's memory and the checkpoint's row."""
    size, _, _ = memory(recorded).read_bytes().partition(b" ")
    assert int(size) == verify(recorded.folder, recorded.keys).checkpoint[0]  # type: ignore[index]
    memory(recorded).unlink()
    assert signing(recorded).signing_failure is None
    assert verify(recorded.folder, recorded.keys).exit_code == 0


def test_a_folder_for_keys_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "keys").touch()
    with pytest.raises(KeyUnavailable):
        Signer.make(tmp_path / "keys", "origin")
    with pytest.raises(KeyUnavailable):
        Writer.open(tmp_path / "store", tmp_path / "keys")
    (tmp_path / "keys").unlink()
    Writer.open(tmp_path / "store", tmp_path / "keys").close()
    assert {finding.code for finding in verify(tmp_path / "store", tmp_path / "keys").findings} == {"V001"}


def test_a_key_is_never_written_over(tmp_path: Path) -> None:
    Signer.make(tmp_path, "origin")
    before = (tmp_path / "origin.pem").read_bytes()
    with pytest.raises(KeyUnavailable):
        Signer.make(tmp_path, "origin")
    assert (tmp_path / "origin.pem").read_bytes() == before

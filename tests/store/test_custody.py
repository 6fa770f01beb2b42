"""The keys of a store over its life: rotated while others write, revoked, held by a command; never made silently."""

import base64
import stat
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from store import custody, founding, sealing, signing
from store.core.errors import KeyUnavailable, StoreUnusable
from store.database import open_for_reading
from store.verify import Terms, verify
from store.writer import Writer
from tests.store.verify.attacker import Attacker
from tests.support.tape import Call, Tape, tape

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
SIGNS = """
import base64, sys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
text = sys.stdin.buffer.read()
signature = Ed25519PrivateKey.from_private_bytes(bytes(range(32))).sign(text)
"""
ENDINGS = {
    "raw": "sys.stdout.buffer.write(signature)",
    "base64": "print(base64.b64encode(signature).decode())",
}


def command(ending: str) -> list[str]:
    return [sys.executable, "-c", SIGNS + ending]


@pytest.fixture
def recorded(tmp_path: Path) -> Tape:
    with tape(tmp_path) as made:
        made.run([Call()], "one")
    return made


def go_on(made: Tape, name: str) -> None:
    writer = Writer.open(made.folder, made.keys)
    Tape(made.folder, made.keys, writer).run([Call()], name)
    writer.close()
    assert writer.signing_failure is None


def test_a_rotated_key_signs_and_every_pin_follows(recorded: Tape) -> None:
    pins = [custody.show(recorded.folder, recorded.keys)[1][0].term.key]
    for number in range(2):
        pins.append(custody.rotate(recorded.folder, recorded.keys))
        go_on(recorded, str(number))
    _, kept = custody.show(recorded.folder, recorded.keys)
    assert [each.term.key for each in kept] == pins
    assert [each.term.state for each in kept] == ["retired", "retired", "current"]
    assert len({each.file for each in kept}) == 3
    for pin in (None, *pins):
        verdict = verify(recorded.folder, recorded.keys, terms=Terms(pin=pin))
        assert (verdict.exit_code, verdict.key) == (0, pins[-1]), [str(each) for each in verdict.findings]
        assert ("UNATTRIBUTED" in dict(verdict.flags)) is (pin is None)


def test_recorders_that_run_go_over_to_the_new_key(recorded: Tape) -> None:
    writer = Writer.open(recorded.folder, recorded.keys)
    new = custody.rotate(recorded.folder, recorded.keys)
    Tape(recorded.folder, recorded.keys, writer).run([Call()], "meanwhile")
    writer.close()
    assert writer.signing_failure is None
    verdict = verify(recorded.folder, recorded.keys, terms=Terms(pin=new))
    assert verdict.exit_code == 0, [str(each) for each in verdict.findings]


def test_without_its_new_key_the_store_is_not_signed_by_the_old_one(recorded: Tape) -> None:
    new = custody.rotate(recorded.folder, recorded.keys)
    _, path = signing.find(recorded.keys, new)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.unlink()
    with pytest.raises(KeyUnavailable, match="not the one of this store"):
        Writer.open(recorded.folder, recorded.keys)
    with pytest.raises(KeyUnavailable, match="not the one of this store"):
        custody.rotate(recorded.folder, recorded.keys)
    assert custody.show(recorded.folder, recorded.keys)[1][1].file is None


def test_a_rotation_that_was_cut_off_leaves_the_old_key_in_force(
    recorded: Tape, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(custody, "_enter", cut_off)
        with pytest.raises(KeyboardInterrupt):
            custody.rotate(recorded.folder, recorded.keys)
    go_on(recorded, "two")
    with monkeypatch.context() as patched:
        patched.setattr(sealing, "sign", cut_off)
        with pytest.raises(KeyboardInterrupt):
            custody.rotate(recorded.folder, recorded.keys)
    custody.rotate(recorded.folder, recorded.keys)
    go_on(recorded, "three")
    assert verify(recorded.folder, recorded.keys).exit_code == 0


def test_a_retired_key_is_revoked_and_the_one_in_force_is_not(recorded: Tape) -> None:
    _, (first,) = custody.show(recorded.folder, recorded.keys)
    word = first.term.key.key_id.hex()
    with pytest.raises(custody.Refused, match="is current"):
        custody.revoke(recorded.folder, recorded.keys, word, "lost")
    custody.rotate(recorded.folder, recorded.keys)
    with pytest.raises(custody.Refused, match="no key"):
        custody.revoke(recorded.folder, recorded.keys, "00000000", "lost")
    assert custody.revoke(recorded.folder, recorded.keys, word, "compromised") == first.term.key
    with pytest.raises(custody.Refused, match="is revoked"):
        custody.revoke(recorded.folder, recorded.keys, word, "lost")
    go_on(recorded, "two")
    assert verify(recorded.folder, recorded.keys).exit_code == 0
    assert [each.term.state for each in custody.show(recorded.folder, recorded.keys)[1]] == ["revoked", "current"]


def test_no_key_comes_into_force_twice(recorded: Tape) -> None:
    old, _ = signing.find(recorded.keys, custody.show(recorded.folder, recorded.keys)[1][0].term.key)
    custody.rotate(recorded.folder, recorded.keys)
    with pytest.raises(custody.Refused, match="is, or was"):
        custody.rotate(recorded.folder, recorded.keys, old)


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_a_command_may_hold_the_key_from_the_beginning_or_after_a_rotation(tmp_path: Path, ending: str) -> None:
    key = signing.command_key(command(ending), PRIVATE.public_key().public_bytes_raw())
    for name, founded in (("one", True), ("two", False)):
        folder, keys = tmp_path / name / "store", tmp_path / name / "keys"
        pin = custody.begin(folder, keys, key if founded else None)
        if not founded:
            custody.rotate(folder, keys, key)
        go_on(Tape(folder, keys, None), "run")  # type: ignore[arg-type]
        assert verify(folder, folder.parent / "keys", terms=Terms(pin=pin)).exit_code == 0
        _, kept = custody.show(folder, keys)
        assert kept[-1].term.key.public == key.public
        assert kept[-1].file is not None
        assert kept[-1].file.suffix == ".json"
        assert sorted(path.suffix for path in keys.iterdir()) == sorted(
            [".json", ".signed", ".storekey", *[".pem"] * (not founded)]
        )


@pytest.mark.parametrize(
    "ending, said",
    [
        ("print('nonsense')", "no true signature"),
        ("sys.stdout.buffer.write(bytes(64))", "no true signature"),
        ("sys.exit('the token is away')", "the token is away"),
        ("sys.exit(7)", "exit 7"),
    ],
)
def test_a_command_that_does_not_sign_is_no_key(ending: str, said: str) -> None:
    with pytest.raises(KeyUnavailable, match=said):
        signing.command_key(command(ending), PRIVATE.public_key().public_bytes_raw())


def test_a_command_that_cannot_be_run_is_named() -> None:
    with pytest.raises(KeyUnavailable, match="no-such-program"):
        signing.command_key(["no-such-program"], bytes(32))
    with pytest.raises(KeyUnavailable, match="empty"):
        signing.command_key([], bytes(32))


def test_a_command_that_stops_signing_stops_no_recording(tmp_path: Path) -> None:
    switch = tmp_path / "away"
    ending = f"import pathlib\nif pathlib.Path({str(switch)!r}).exists(): sys.exit('away')\n{ENDINGS['raw']}"
    key = signing.command_key(command(ending), PRIVATE.public_key().public_bytes_raw())
    custody.begin(tmp_path / "store", tmp_path / "keys", key)
    switch.touch()
    writer = Writer.open(tmp_path / "store", tmp_path / "keys")
    Tape(tmp_path / "store", tmp_path / "keys", writer).run([Call()])
    writer.close()
    assert isinstance(writer.signing_failure, KeyUnavailable)
    assert dict(verify(tmp_path / "store", tmp_path / "keys").flags)["UNSEALED_TAIL"] == 4
    switch.unlink()
    go_on(Tape(tmp_path / "store", tmp_path / "keys", writer), "two")
    assert "UNSEALED_TAIL" not in dict(verify(tmp_path / "store", tmp_path / "keys").flags)


def test_public_keys_are_read_as_pem_and_base64() -> None:
    public = PRIVATE.public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    for text in (pem, base64.b64encode(public.public_bytes_raw()) + b"\n"):
        assert signing.public_key(text) == public.public_bytes_raw()
    other = ec.generate_private_key(ec.SECP256R1()).public_key()
    for text in (
        b"",
        b"nonsense",
        base64.b64encode(bytes(31)),
        pem[:60],
        other.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
    ):
        with pytest.raises(KeyUnavailable):
            signing.public_key(text)


def test_a_store_is_begun_once_and_keys_belong_to_one(tmp_path: Path, recorded: Tape) -> None:
    with pytest.raises(custody.Refused, match="has its key"):
        custody.begin(recorded.folder, recorded.keys)
    for call in (custody.show, custody.rotate):
        with pytest.raises(StoreUnusable, match="no store"):
            call(tmp_path / "nowhere", recorded.keys)
    assert not (tmp_path / "nowhere").exists()


def test_a_forged_rotation_is_no_key_of_the_signer(recorded: Tape) -> None:
    attacker = Attacker(recorded.folder)
    size = attacker.db.execute("SELECT COUNT(*) FROM leaves").fetchone()[0]
    forged = b'{"new":"x","new_signature":"","old":"y","old_signature":"","ts":"2026-01-01T00:00:00.000000Z",'
    attacker.db.execute("INSERT INTO leaves VALUES (?, ?)", (size, forged + b'"type":"key.rotate","v":1}'))
    attacker.regrow()
    attacker.close()
    connection = open_for_reading(recorded.folder)
    known = founding.keyring(connection)
    connection.close()
    assert known is not None
    assert len(known.terms) == 1
    assert [finding.code for finding in verify(recorded.folder, recorded.keys).findings] == ["V401"]

"""Which key counts where: a rotation needs both keys, and every checkpoint the key in force at its size."""

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from store.core import checkpoint, keyring
from store.core.checkpoint import Checkpoint, SignedCheckpoint, VerifierKey
from store.core.errors import Malformed
from store.core.keyring import Keyring, Unproven
from store.core.leaf import KeyRevoked, KeyRotated, RecorderStop

ORIGIN = "edgetape.local/test"
PRIVATE = [Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in range(4)]
KEYS = [checkpoint.verifier_key(ORIGIN, private) for private in PRIVATE]


def rotated(old: int, new: int, *, signers: tuple[int, int] | None = None) -> KeyRotated:
    statement = keyring.rotation(ORIGIN, KEYS[old], KEYS[new])
    one, other = (keyring.spelled(PRIVATE[number].sign(statement)) for number in signers or (old, new))
    return KeyRotated(old=str(KEYS[old]), new=str(KEYS[new]), old_signature=one, new_signature=other)


def revoked(key: int, by: int, *, signer: int | None = None) -> KeyRevoked:
    statement = keyring.revocation(ORIGIN, KEYS[key], KEYS[by])
    signature = keyring.spelled(PRIVATE[by if signer is None else signer].sign(statement))
    return KeyRevoked(key=str(KEYS[key]), reason="compromised", by=str(KEYS[by]), signature=signature)


def note(size: int, *signers: int) -> SignedCheckpoint:
    stated = Checkpoint(ORIGIN, size, bytes(32))
    lines = [checkpoint.sign(stated, KEYS[number], PRIVATE[number]).partition(b"\n\n")[2] for number in signers]
    return checkpoint.parse(stated.text + b"\n" + b"".join(lines))


@pytest.fixture
def keys() -> Keyring:
    """Key 0 up to leaf 10, key 1 up to leaf 20, then key 2; leaf 25 revokes key 0."""
    keys = Keyring.of(KEYS[0])
    for position, facts in ((10, rotated(0, 1)), (12, RecorderStop(recorder="x")), (20, rotated(1, 2))):
        keys.take(position, facts)
    keys.take(25, revoked(0, 2))
    return keys


@pytest.mark.parametrize(
    "size, signers, code",
    [
        (0, [0], None),
        (10, [0], None),
        (11, [1], None),
        (20, [1], None),
        (21, [2], None),
        (10**9, [2], None),
        (11, [0], "V432"),
        (25, [0], "V432"),
        (26, [0], "V434"),
        (26, [1], "V432"),
        (10, [1], "V433"),
        (20, [2], "V433"),
        (5, [3], "V401"),
        (21, [3], "V401"),
        (10, [0, 1], None),
        (11, [0, 1], None),
        (11, [0, 2], "V433"),
        (26, [0, 3], "V434"),
    ],
)
def test_a_checkpoint_is_signed_by_the_key_in_force_at_its_size(
    keys: Keyring, size: int, signers: list[int], code: str | None
) -> None:
    found = keys.judge(note(size, *signers))
    assert (found and found[0]) == code


def test_one_false_signature_of_a_key_of_the_log_spoils_the_true_one(keys: Keyring) -> None:
    signed = note(21, 2)
    false = checkpoint.Signature(ORIGIN, KEYS[0].key_id, bytes(64))
    spoiled = SignedCheckpoint(signed.checkpoint, (*signed.signatures, false))
    assert keys.judge(spoiled) is not None
    assert keys.judge(spoiled)[0] == "V401"  # type: ignore[index]


def test_the_terms_say_what_each_key_may_sign(keys: Keyring) -> None:
    assert [(term.first, term.last, term.revoked, term.state) for term in keys.terms] == [
        (0, 10, 25, "revoked"),
        (11, 20, None, "retired"),
        (21, None, None, "current"),
    ]
    assert keys.current == KEYS[2]
    assert keys.term(KEYS[3]) is None


STRANGER = VerifierKey("edgetape.local/other", KEYS[3].public)


@pytest.mark.parametrize(
    "facts",
    [
        rotated(0, 3, signers=(3, 3)),
        rotated(0, 3, signers=(0, 0)),
        rotated(1, 3),
        rotated(0, 0),
        msgspec.structs.replace(rotated(0, 3), new=str(STRANGER)),
        msgspec.structs.replace(rotated(0, 3), new=str(KEYS[2])),
        msgspec.structs.replace(rotated(0, 3), old="nonsense"),
        msgspec.structs.replace(rotated(0, 3), old_signature="!"),
        msgspec.structs.replace(rotated(0, 3), old_signature=rotated(0, 3).old_signature + "=="),
        revoked(0, 0),
        revoked(1, 0),
        revoked(0, 3),
    ],
)
def test_t51_a_leaf_that_is_not_rightly_signed_changes_nothing(facts: KeyRotated | KeyRevoked) -> None:
    keys = Keyring.of(KEYS[0])
    with pytest.raises(Malformed):
        keys.take(5, facts)
    assert keys == Keyring.of(KEYS[0])


@pytest.mark.parametrize("facts", [revoked(0, 2, signer=1), revoked(0, 1), revoked(2, 2), revoked(3, 2), rotated(2, 0)])
def test_only_the_key_in_force_revokes_and_only_a_retired_one_once(
    keys: Keyring, facts: KeyRotated | KeyRevoked
) -> None:
    before = [str(term) for term in keys.terms]
    with pytest.raises(Unproven):
        keys.take(30, facts)
    assert [str(term) for term in keys.terms] == before

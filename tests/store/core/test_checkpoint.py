"""Checkpoints: published notes are read, what is signed verifies, and one statement has one spelling."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from store.bundle import verifier
from store.core.checkpoint import Checkpoint, VerifierKey, parse, sign, verifier_key
from store.core.errors import Malformed
from tests.support.verifier import notes as second

# The example of C2SP signed-note.
NOTE_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
NOTE_TEXT = b"If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
NOTE_SIGNATURE = "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="

# The example of C2SP tlog-checkpoint.
CHECKPOINT = (
    "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
    "— example.com/behind-the-sofa "
    "Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
)

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY = verifier_key("edgetape.local/test", PRIVATE)
STATED = Checkpoint("edgetape.local/test", 12, bytes(range(32)))
NOTE = sign(STATED, KEY, PRIVATE)


def test_the_published_key_verifies_the_published_note() -> None:
    key = VerifierKey.parse(NOTE_KEY)
    signature = base64.b64decode(NOTE_SIGNATURE)
    assert signature[:4] == key.key_id
    assert key.verifies(NOTE_TEXT, signature[4:])
    assert not key.verifies(NOTE_TEXT + b"x", signature[4:])
    assert str(key) == NOTE_KEY


def test_the_published_checkpoint_is_read_and_spelled_the_same() -> None:
    signed = parse(CHECKPOINT.encode())
    assert signed.checkpoint.origin == "example.com/behind-the-sofa"
    assert signed.checkpoint.size == 20852163
    assert signed.checkpoint.text == CHECKPOINT.partition("\n\n")[0].encode() + b"\n"
    assert [line.key_id.hex() for line in signed.signatures] == ["033de0ae"]


@given(size=st.integers(0, 2**53 - 1), root=st.binary(min_size=32, max_size=32))
def test_what_is_signed_is_read_and_verifies(size: int, root: bytes) -> None:
    stated = Checkpoint(KEY.name, size, root)
    signed = parse(sign(stated, KEY, PRIVATE))
    assert signed.checkpoint == stated
    assert signed.signed_by(KEY)


def test_a_signature_of_another_key_or_over_another_text_is_none() -> None:
    other = Ed25519PrivateKey.from_private_bytes(bytes(32))
    assert not parse(NOTE).signed_by(verifier_key(KEY.name, other))
    assert not parse(NOTE).signed_by(VerifierKey("edgetape.local/other", KEY.public))
    assert not parse(sign(STATED, KEY, other)).signed_by(KEY)


def test_a_cosignature_beside_it_does_not_matter() -> None:
    cosigner = Ed25519PrivateKey.from_private_bytes(bytes(32))
    line = sign(STATED, verifier_key("witness", cosigner), cosigner).partition(b"\n\n")[2]
    signed = parse(NOTE + line)
    assert signed.signed_by(KEY)
    assert [each.name for each in signed.signatures] == ["edgetape.local/test", "witness"]


@given(mask=st.integers(1, 255))
def test_any_changed_byte_of_a_note_is_refused_or_no_longer_verifies(mask: int) -> None:
    for at in range(len(NOTE)):
        changed = NOTE[:at] + bytes([NOTE[at] ^ mask]) + NOTE[at + 1 :]
        try:
            signed = parse(changed)
        except Malformed:
            continue
        assert not signed.signed_by(KEY), at


ROOT = base64.b64encode(STATED.root).decode()
LINE = NOTE.decode().partition("\n\n")[2]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        f"o\n12\n{ROOT}\n",
        f"o\n012\n{ROOT}\n\n{LINE}",
        f"o\n+12\n{ROOT}\n\n{LINE}",
        f"o\n-1\n{ROOT}\n\n{LINE}",
        f"o\n١٢\n{ROOT}\n\n{LINE}",
        f"o\n12345678901234567890\n{ROOT}\n\n{LINE}",
        f"\n12\n{ROOT}\n\n{LINE}",
        f"o\r\n12\n{ROOT}\n\n{LINE}",
        f"o\0\n12\n{ROOT}\n\n{LINE}",
        f"o\n12\n{ROOT}\nextension\n\n{LINE}",
        f"o\n12\n{ROOT[:-1]}\n\n{LINE}",
        f"o\n12\n{ROOT[:-4]}\n\n{LINE}",
        f"o\n12\n {ROOT}\n\n{LINE}",
        f"o\n12\n{ROOT}\n\n{LINE[:-1]}",
        f"o\n12\n{ROOT}\n\n-{LINE[1:]}",
        f"o\n12\n{ROOT}\n\n— name AAAA\n",
        f"o\n12\n{ROOT}\n\n— na+me {NOTE_SIGNATURE}\n",
        f"o\n12\n{ROOT}\n\n—  {NOTE_SIGNATURE}\n",
        f"o\n12\n{ROOT}\n\n{LINE}\n",
        f"o\n12\n{ROOT}\n\n{LINE}x",
    ],
)
def test_a_note_in_another_spelling_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        parse(text.encode())


def test_one_false_signature_of_the_key_spoils_the_true_one() -> None:
    false = sign(Checkpoint(STATED.origin, 13, STATED.root), KEY, PRIVATE).partition(b"\n\n")[2]
    assert parse(NOTE + LINE.encode()).signed_by(KEY)
    assert not parse(NOTE + false).signed_by(KEY)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(Malformed):
        parse(NOTE.replace(b"edgetape", b"edge\xfftape"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PeterNeumann",
        NOTE_KEY.replace("c74f20a3", "C74F20A3"),
        NOTE_KEY.replace("c74f20a3", "c74f20a4"),
        NOTE_KEY.replace("PeterNeumann", "Peter Neumann"),
        NOTE_KEY.replace("PeterNeumann", ""),
        NOTE_KEY.replace("+ARpc", "+AhpC"),
        NOTE_KEY[:-4],
        NOTE_KEY + "\n",
        NOTE_KEY + "=",
    ],
)
def test_a_key_in_another_spelling_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        VerifierKey.parse(text)


WEAK = (0, 1, 2**255 - 20, 2**255 - 19, 2**255 - 18, 0x5FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826)


@pytest.mark.parametrize("sign", [0, 1])
@pytest.mark.parametrize("y", [*WEAK, 2**255 - 19 - WEAK[-1]])
def test_a_key_under_which_anybody_can_sign_is_refused(y: int, sign: int) -> None:
    key = VerifierKey("edgetape.local/weak", (y | sign << 255).to_bytes(32, "little"))
    with pytest.raises(Malformed, match="vkey"):
        VerifierKey.parse(str(key))
    assert second.Key.read(str(key)) is None
    with pytest.raises(ValueError, match=r"Ed25519|curve"):
        verifier.Key(str(key))


@pytest.mark.parametrize("signature", [b"", b"x", bytes(63), bytes(64), bytes(65), b"\xff" * 64])
def test_a_signature_that_is_none_does_not_verify(signature: bytes) -> None:
    assert not KEY.verifies(b"text", signature)

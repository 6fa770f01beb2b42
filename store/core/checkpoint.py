"""Checkpoints: signed statements of a log's size and root (C2SP tlog-checkpoint, signed-note; Ed25519 of RFC 8032)."""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from store.core.errors import Malformed

_ED25519 = b"\x01"
_SIGNATURE = "\N{EM DASH} "
_KEY_ID_BYTES = 4
_P = 2**255 - 19
# The y of the points whose order divides 8 (RFC 8032, section 5.1, has cofactor 8): under such a key anybody can sign.
_Y_OF_ORDER_8 = 0x5FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_WEAK = frozenset((0, 1, _P - 1, _Y_OF_ORDER_8, _P - _Y_OF_ORDER_8))
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")  # all but the line feed


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A name and an Ed25519 public key; its text is a vkey `name+id+key` of C2SP signed-note."""

    name: str
    public: bytes

    @property
    def key_id(self) -> bytes:
        """The first 4 bytes of SHA-256(name | 0x0A | 0x01 | public key)."""
        return key_id(self.name, _ED25519, self.public)

    @property
    def label(self) -> str:
        """`name+id`, enough to tell keys apart."""
        return f"{self.name}+{self.key_id.hex()}"

    def __str__(self) -> str:
        return spell_key(self.name, _ED25519, self.public)

    @classmethod
    def parse(cls, text: str) -> "VerifierKey":
        """Raises Malformed unless `text` is the vkey of an Ed25519 key whose id fits."""
        return cls(*read_key(text, _ED25519))

    def verifies(self, text: bytes, signature: bytes) -> bool:
        """Whether `signature` is this key's over `text`."""
        return verifies(self.public, text, signature)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a checkpoint states: the log `origin` had `size` leaves, and their root was `root` (32 bytes)."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> bytes:
        """The signed bytes: three lines."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n".encode()


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature line of a note."""

    name: str
    key_id: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class SignedCheckpoint:
    """A checkpoint with its signature lines, not yet verified."""

    checkpoint: Checkpoint
    signatures: tuple[Signature, ...]

    def signed_by(self, key: VerifierKey) -> bool:
        """Whether there are lines of `key`, and all of them are true; those of others are passed over."""
        own = self._own(key)
        return bool(own) and all(key.verifies(self.checkpoint.text, signature) for signature in own)

    def names(self, key: VerifierKey) -> bool:
        """Whether a line says that it is of `key`, be it true or not."""
        return bool(self._own(key))

    def _own(self, key: VerifierKey) -> list[bytes]:
        return [line.signature for line in self.signatures if (line.name, line.key_id) == (key.name, key.key_id)]


def key_id(name: str, kind: bytes, public: bytes) -> bytes:
    """What tells a key from others in a signature line; `kind` is the byte of its signature type (C2SP signed-note)."""
    return hashlib.sha256(name.encode() + b"\n" + kind + public).digest()[:_KEY_ID_BYTES]


def spell_key(name: str, kind: bytes, public: bytes) -> str:
    """The vkey `name+id+key` of a key."""
    return f"{name}+{key_id(name, kind, public).hex()}+{base64.b64encode(kind + public).decode()}"


def read_key(text: str, kind: bytes) -> tuple[str, bytes]:
    """Name and public key of a vkey. Raises Malformed unless it is of an Ed25519 key of this kind whose id fits."""
    name, _, rest = text.partition("+")
    given_id, _, encoded = rest.partition("+")
    raw = _base64(encoded, "vkey")
    if len(raw) != 33 or raw[:1] != kind:
        raise Malformed(f"malformed vkey: not an Ed25519 key of the kind {kind.hex()}")
    y = int.from_bytes(raw[1:], "little") & (1 << 255) - 1
    if y >= _P or y in _WEAK:
        raise Malformed("malformed vkey: a key under which anybody can sign")
    if key_id(_key_name(name), kind, raw[1:]).hex() != given_id:
        raise Malformed("malformed vkey: its id is not the one of its key")
    return name, raw[1:]


def verifies(public: bytes, text: bytes, signature: bytes) -> bool:
    """Whether `signature` is that of the Ed25519 key `public` over `text`."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, text)
    except InvalidSignature:
        return False
    return True


def verifier_key(name: str, private: Ed25519PrivateKey) -> VerifierKey:
    """The public half of `private` under `name`."""
    return VerifierKey(_key_name(name), private.public_key().public_bytes_raw())


def sign(checkpoint: Checkpoint, key: VerifierKey, private: Ed25519PrivateKey) -> bytes:
    """The note that `private` signs."""
    return note(checkpoint, key, private.sign(checkpoint.text))


def note(checkpoint: Checkpoint, key: VerifierKey, signature: bytes) -> bytes:
    """The note: the checkpoint's text, an empty line, one signature line."""
    encoded = base64.b64encode(key.key_id + signature).decode()
    return checkpoint.text + f"\n{_SIGNATURE}{key.name} {encoded}\n".encode()


def parse(raw: bytes) -> SignedCheckpoint:
    """Raises Malformed unless `raw` is a checkpoint of three lines in a signed note, spelled canonically."""
    try:
        decoded = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed("malformed checkpoint: not UTF-8") from None
    if _CONTROL.search(decoded):
        raise Malformed("malformed checkpoint: a control character in it")
    text, separator, lines = decoded.rpartition("\n\n")
    body = text.split("\n")
    if not separator or len(body) != 3:
        raise Malformed("malformed checkpoint: not three lines and an empty one")
    origin, size, root = body
    if not origin or not re.fullmatch(r"0|[1-9][0-9]{0,18}", size):
        raise Malformed("malformed checkpoint: size is not canonical")
    raw_root = _base64(root, "checkpoint")
    if len(raw_root) != 32:
        raise Malformed("malformed checkpoint: the root is not 32 bytes")
    return SignedCheckpoint(Checkpoint(origin, int(size), raw_root), signature_lines(lines))


def signature_lines(lines: str) -> tuple[Signature, ...]:
    """The signature lines of a note, each with its line feed. Raises Malformed; there is at least one."""
    if not lines.endswith("\n"):
        raise Malformed("malformed checkpoint: the last line does not end")
    return tuple(_signature(line) for line in lines[:-1].split("\n"))


def _signature(line: str) -> Signature:
    name, _, encoded = line.removeprefix(_SIGNATURE).partition(" ")
    raw = _base64(encoded, "checkpoint")
    if not line.startswith(_SIGNATURE) or len(raw) <= _KEY_ID_BYTES:
        raise Malformed("malformed checkpoint: not a signature line")
    return Signature(_key_name(name), raw[:_KEY_ID_BYTES], raw[_KEY_ID_BYTES:])


def _key_name(name: str) -> str:
    if not name or "+" in name or any(character.isspace() for character in name):
        raise Malformed("malformed key name: empty, or with a plus sign or white space")
    return name


def _base64(text: str, where: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Malformed(f"malformed {where}: not base64") from None
    if base64.b64encode(raw).decode() != text:
        raise Malformed(f"malformed {where}: base64 in another spelling")
    return raw

"""Section 5: the store key out of its file, the keys of a run out of their rows, and what they open."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from tests.support.verifier.rows import Block, Opening

NONCE = 12
SUFFIX = ".storekey"
BLOCK = b"edgetape/block/v1\n"


class ShutError(Exception):
    """Bytes are not what this key closed for that place."""


def opened(key: bytes, stored: bytes, about: bytes) -> bytes:
    """Undo AES-256-GCM."""
    try:
        return AESGCM(key).decrypt(stored[:NONCE], stored[NONCE:], about)
    except (InvalidTag, ValueError) as error:
        raise ShutError from error


def _about_key(origin: str, run: str, kind: str) -> bytes:
    return f"edgetape/wrapped-key/v1\n{origin}\n{run}\n{kind}".encode(errors="surrogateescape")


def _about_block(origin: str, run: str, block: Block) -> bytes:
    numbers = (block.number, block.start, block.length, block.frame)
    text = f"{origin}\n{run}\n".encode(errors="surrogateescape")
    return BLOCK + text + b"".join(number.to_bytes(8, "big") for number in numbers)


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


@dataclass(frozen=True)
class RunKeys:
    """The two keys of a run."""

    origin: str
    run: str
    payload: bytes
    salt: bytes

    def content(self, block: Block) -> bytes:
        """Open a block."""
        return opened(self.payload, block.stored, _about_block(self.origin, self.run, block))

    def stored(self, block: Block, content: bytes) -> bytes:
        """Close a block, with a nonce that is nobody's secret here."""
        about = _about_block(self.origin, self.run, block)
        nonce = sha256(about + content).digest()[:NONCE]
        return nonce + AESGCM(self.payload).encrypt(nonce, content, about)

    def shown(self, seq: int, pointer: str, opening: Opening) -> Opening:
        """Give an opening with its salt and digest."""
        if not 0 <= seq < 1 << 63:
            return opening
        salt = self._unmasked(opening.salt, "kept-salt", seq, pointer)
        if not opening.salt:
            salt = self._derived("salt", seq, pointer)
        return Opening(
            salt, self._unmasked(opening.digest, "kept-digest", seq, pointer), opening.length, opening.damaged
        )

    def _unmasked(self, kept: bytes, label: str, seq: int, pointer: str) -> bytes:
        return _xor(kept, self._derived(label, seq, pointer)) if len(kept) == 32 else kept

    def _derived(self, label: str, seq: int, pointer: str) -> bytes:
        info = f"edgetape/{label}/v1\n".encode() + seq.to_bytes(8, "big") + pointer.encode(errors="surrogateescape")
        return HKDFExpand(SHA256(), 32, info).derive(self.salt)


@dataclass(frozen=True)
class Opener:
    """The store key, if it is there."""

    origin: str
    key: bytes | None

    @staticmethod
    def of(keys: Path, origin: str, wrapped: Mapping[str, bytes]) -> "Opener":
        """Look for the key that opens what shows the store's own."""
        for path in sorted(keys.iterdir()) if keys.is_dir() else []:
            if path.name.startswith(f"{origin.replace('/', '_')}.") and path.name.endswith(SUFFIX):
                key = path.read_bytes()
                try:
                    opened(key, wrapped.get("store", b""), _about_key(origin, "", "store"))
                except ShutError:
                    continue
                return Opener(origin, key)
        return Opener(origin, None)

    def text(self, run: str, number: int, stored: bytes) -> tuple[bytes, bytes]:
        """Open the salt and the text of an annotation. ShutError, also without the store key."""
        if self.key is None:
            raise ShutError
        content = opened(self.key, stored, _about_key(self.origin, run, f"annotation/{number}"))
        return content[:32], content[32:]

    def run(self, run: str, wrapped: Mapping[str, bytes]) -> RunKeys | None:
        """Open the keys of a run; none without the store key. ShutError where they are not two that it wrapped."""
        if set(wrapped) != {"payload", "salt"}:
            raise ShutError
        if self.key is None:
            return None
        payload, salt = (
            opened(self.key, wrapped[kind], _about_key(self.origin, run, kind)) for kind in sorted(wrapped)
        )
        if len(payload) != 32 or len(salt) != 32:
            raise ShutError
        return RunKeys(self.origin, run, payload, salt)

"""Reads verifier keys and checkpoints as C2SP signed-note and tlog-checkpoint have them."""

import base64
import binascii
import re
from dataclasses import dataclass
from hashlib import sha256

from tests.support.verifier import ed25519

ED25519 = b"\x01"
ORIGIN = re.compile(r"edgetape\.local/[a-z2-7]{26}", re.ASCII)
SIZE = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
NOTE = re.compile(r"(([^\n]+)\n([^\n]+)\n([^\n]+)\n)\n((?:\u2014 [^\n]+\n)+)")


def is_name(text: str) -> bool:
    """Say whether a key may have this name: no white space and no plus."""
    return text != "" and "+" not in text and not any(c.isspace() for c in text)


def unbase64(text: str) -> bytes | None:
    """Decode padded base64 that is spelled in the one proper way."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64.b64encode(data).decode() == text else None


@dataclass(frozen=True)
class Key:
    name: str
    id: bytes
    public: bytes

    @staticmethod
    def read(vkey: str) -> "Key | None":
        """Parse `name+id+key`; none when it is malformed or its id is not that of the key."""
        parts = vkey.split("+", 2)
        if len(parts) != 3 or not is_name(parts[0]):
            return None
        name, hexadecimal, encoded = parts
        data = unbase64(encoded)
        if data is None or len(data) != 33 or data[:1] != ED25519 or ed25519.is_weak(data[1:]):
            return None
        identity = sha256(name.encode() + b"\n" + data).digest()[:4]
        return Key(name, identity, data[1:]) if identity.hex() == hexadecimal else None


@dataclass(frozen=True)
class Checkpoint:
    origin: str
    size: int
    root: bytes
    signed: bytes
    signatures: list[tuple[str, bytes]]

    @staticmethod
    def read(data: bytes) -> "Checkpoint | None":
        """Parse a signed note of three lines; none when it is malformed."""
        try:
            match = NOTE.fullmatch(data.decode())
        except UnicodeDecodeError:
            return None
        if match is None or any(ord(c) < 32 and c != "\n" for c in match[0]):
            return None
        signed, origin, size, encoded, lines = match.groups()
        root = unbase64(encoded)
        if not SIZE.fullmatch(size) or root is None or len(root) != 32:
            return None
        signatures: list[tuple[str, bytes]] = []
        for line in lines.removesuffix("\n").split("\n"):
            name, _, text = line[2:].partition(" ")
            signature = unbase64(text)
            if not is_name(name) or signature is None or len(signature) < 5:
                return None
            signatures.append((name, signature))
        return Checkpoint(origin, int(size), root, signed.encode(), signatures)

    def is_signed_by(self, key: Key) -> bool:
        """Say whether one of the signatures is the key's and true, and none of the key's is false."""
        of_key = [data[4:] for name, data in self.signatures if name == key.name and data[:4] == key.id]
        return bool(of_key) and all(ed25519.verify(key.public, self.signed, one) for one in of_key)

    def names(self, key: Key) -> bool:
        """Say whether a signature claims to be the key's."""
        return any(name == key.name and data[:4] == key.id for name, data in self.signatures)

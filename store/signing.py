"""The private half of a store's key: an Ed25519 file, or a command that signs what it gets on stdin.

Rules kept here:
- A key lies outside the store's folder, 0600, in a file named for the store's origin (and, but for the first one, for
  the key). No file is ever written over.
- What a command answers is believed only after it was verified with the public key: a KMS, a token or an agent behind
  it may be wrong, slow or away.
"""

import base64
import binascii
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from store.core.checkpoint import VerifierKey
from store.core.errors import KeyUnavailable
from store.memory import stem

COMMAND_TIMEOUT_S = 30.0

_LOST = "restore it from where you keep it; a new key is never made for a store that has one"
_SIGNATURE_BYTES = 64


class SigningKey(Protocol):
    """What signs: a file or a command."""

    @property
    def public(self) -> bytes:
        """The public key, 32 bytes."""

    def sign(self, text: bytes) -> bytes:
        """The Ed25519 signature over `text`, 64 bytes. Raises KeyUnavailable."""

    @property
    def content(self) -> bytes:
        """What its file holds."""

    @property
    def suffix(self) -> str:
        """What its file is called at its end."""


@dataclass(frozen=True, slots=True)
class FileKey:
    """An Ed25519 key in a PEM file (PKCS 8)."""

    private: Ed25519PrivateKey
    suffix: str = ".pem"

    @property
    def public(self) -> bytes:
        """See SigningKey."""
        return self.private.public_key().public_bytes_raw()

    def sign(self, text: bytes) -> bytes:
        """See SigningKey."""
        return self.private.sign(text)

    @property
    def content(self) -> bytes:
        """See SigningKey."""
        return self.private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


class _Named(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: list[str]
    public: str


@dataclass(frozen=True, slots=True)
class CommandKey:
    """A command that reads a text on stdin and writes its signature: 64 bytes, or their base64."""

    command: tuple[str, ...]
    public: bytes
    suffix: str = ".json"

    def sign(self, text: bytes) -> bytes:
        """See SigningKey."""
        try:
            done = subprocess.run(self.command, input=text, capture_output=True, timeout=COMMAND_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise KeyUnavailable(f"{self.command[0]} did not sign within {COMMAND_TIMEOUT_S:.0f} s") from None
        except (OSError, ValueError) as error:
            raise KeyUnavailable(f"{self.command[0]} cannot be run to sign: {error}") from error
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise KeyUnavailable(f"{self.command[0]} did not sign: {said[-1] if said else f'exit {done.returncode}'}")
        signature = _signature(done.stdout)
        if not VerifierKey("edgetape", self.public).verifies(text, signature):
            raise KeyUnavailable(
                f"{self.command[0]} gave no true signature of its public key",
                hint="it must sign stdin with that Ed25519 key, and print 64 bytes or their base64",
            )
        return signature

    @property
    def content(self) -> bytes:
        """See SigningKey."""
        named = _Named(list(self.command), base64.b64encode(self.public).decode())
        return msgspec.json.format(msgspec.json.encode(named), indent=1) + b"\n"


def new_file_key() -> FileKey:
    """A fresh key."""
    return FileKey(Ed25519PrivateKey.generate())


def keep(folder: Path, origin: str, key: SigningKey, label: str = "") -> Path:
    """Writes a key's file; `label` tells later keys of a store apart. Raises KeyUnavailable if it is there."""
    path = folder / f"{stem(origin)}{label and f'.{label}'}{key.suffix}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_new(path, key.content)
    except OSError as error:
        raise KeyUnavailable(f"no signing key can be made in {folder}: {error.strerror}") from error
    return path


def find(folder: Path, key: VerifierKey) -> tuple[SigningKey, Path]:
    """The private half of `key`, and its file. Raises KeyUnavailable unless it is that very key."""
    found = [path for path in _files(folder, key) if path.exists()]
    if not found:
        raise KeyUnavailable(f"the signing key {key.label} of this store is missing from {folder}", hint=_LOST)
    for path in found:
        private = _read(path)
        if private.public == key.public:
            return private, path
    raise KeyUnavailable(f"the signing key {found[0]} is not the one of this store ({key})", hint=_LOST)


def command_key(command: Sequence[str], public: bytes) -> CommandKey:
    """A key that a command holds. Raises KeyUnavailable unless it signs a test text with that key."""
    key = CommandKey(tuple(command), public)
    if not command:
        raise KeyUnavailable("an empty command signs nothing")
    key.sign(b"edgetape/key-test/v1\n")
    return key


def public_key(text: bytes) -> bytes:
    """The 32 bytes of an Ed25519 public key: PEM or base64. Raises KeyUnavailable."""
    text = text.strip()
    if text.startswith(b"-----BEGIN"):
        try:
            loaded = serialization.load_pem_public_key(text)
        except ValueError as error:
            raise KeyUnavailable(f"the public key cannot be read: {error}") from error
        raw = loaded.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        # RFC 8410: the prefix of an Ed25519 key, then its 32 bytes.
        if len(raw) == 44 and raw[:12] == bytes.fromhex("302a300506032b6570032100"):
            return raw[12:]
        raise KeyUnavailable("the public key is no Ed25519 key")
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != 32:
        raise KeyUnavailable("the public key is neither PEM nor the base64 of 32 bytes")
    return raw


def _files(folder: Path, key: VerifierKey) -> Iterator[Path]:
    first = stem(key.name)
    for name in (f"{first}.{key.key_id.hex()}", first):
        yield folder / f"{name}.pem"
        yield folder / f"{name}.json"


def _read(path: Path) -> SigningKey:
    try:
        content = path.read_bytes()
        if path.suffix == ".json":
            named = msgspec.json.decode(content, type=_Named)
            return CommandKey(tuple(named.command), base64.b64decode(named.public, validate=True))
        private = serialization.load_pem_private_key(content, None)
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise KeyUnavailable(f"the signing key {path} cannot be read: {error}", hint=_LOST) from None
    if not isinstance(private, Ed25519PrivateKey):
        raise KeyUnavailable(f"the signing key {path} is no Ed25519 key", hint=_LOST)
    return FileKey(private)


def _signature(said: bytes) -> bytes:
    if len(said) == _SIGNATURE_BYTES:
        return said
    try:
        return base64.b64decode(said.strip(), validate=True)
    except (binascii.Error, ValueError):
        return b""


def write_new(path: Path, content: bytes) -> None:
    """Writes a file (0600) that was not there; it is on disk then. Raises OSError."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    # A power cut must not take the file's name away once the store is there that needs it.
    parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(parent)
    finally:
        os.close(parent)

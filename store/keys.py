"""The signing key of a store, a file outside the store's folder, and what it signed last.

Rules kept here:
- One key a store, found by the store's origin: two stores never share a signer's memory.
- The key is made together with its store, never later: a missing or foreign key is an error, not an occasion for a
  new one.
- The signer keeps the (size, root) that it signed last beside the key, outside the store, and signs nothing
  inconsistent with it, so a restored backup is not signed over unseen.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from store.core import checkpoint
from store.core.checkpoint import Checkpoint, VerifierKey
from store.core.errors import KeyUnavailable

_LOST = "restore it from where you keep it; a new key is never made for a store that has one"


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs checkpoints of one store."""

    key: VerifierKey
    _private: Ed25519PrivateKey
    _memory: Path

    @classmethod
    def make(cls, folder: Path, origin: str) -> "Signer":
        """A new key for a new store. Raises KeyUnavailable when the folder cannot take it, or has one for this
        origin.
        """
        private = Ed25519PrivateKey.generate()
        pem = private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_new(_key_path(folder, origin), pem)
        except OSError as error:
            raise KeyUnavailable(f"no signing key can be made in {folder}: {error.strerror}") from error
        return cls._of(folder, origin, private)

    @classmethod
    def load(cls, folder: Path, origin: str, vkey: str) -> "Signer":
        """The key of the store `origin`, whose first leaf names `vkey`. Raises KeyUnavailable unless it is that very
        key.
        """
        path = _key_path(folder, origin)
        try:
            private = serialization.load_pem_private_key(path.read_bytes(), None)
        except FileNotFoundError:
            raise KeyUnavailable(f"the signing key {path} of this store is missing", hint=_LOST) from None
        except (OSError, ValueError) as error:
            raise KeyUnavailable(f"the signing key {path} cannot be read: {error}", hint=_LOST) from None
        if not isinstance(private, Ed25519PrivateKey):
            raise KeyUnavailable(f"the signing key {path} is no Ed25519 key", hint=_LOST)
        signer = cls._of(folder, origin, private)
        if str(signer.key) != vkey:
            raise KeyUnavailable(f"the signing key {path} is not the one of this store ({vkey})", hint=_LOST)
        return signer

    def sign(self, state: Callable[[], Checkpoint], root_at: Callable[[int], bytes | None]) -> tuple[Checkpoint, bytes]:
        """The checkpoint that `state` gives while no other process signs, and its signed note.

        `root_at(size)` gives the log's root when it had that size, None beyond its end. Raises KeyUnavailable when
        the log is shorter than, or other than, what was signed last.
        """
        with self._memory_locked() as descriptor:
            size, root = self._recall(descriptor)
            statement = state()
            if size > statement.size or (size and root_at(size) != root):
                raise KeyUnavailable(
                    f"the log is not the one of which {size} leaves were signed before: it was rolled back or changed",
                    hint=f"run `edgetape verify`; if you restored a backup on purpose, move {self._memory} away",
                )
            os.pwrite(descriptor, f"{statement.size:020} {statement.root.hex()}\n".encode(), 0)
            os.fsync(descriptor)
            return statement, checkpoint.sign(statement, self.key, self._private)

    @classmethod
    def _of(cls, folder: Path, origin: str, private: Ed25519PrivateKey) -> "Signer":
        return cls(checkpoint.verifier_key(origin, private), private, _key_path(folder, origin).with_suffix(".signed"))

    @contextmanager
    def _memory_locked(self) -> Iterator[int]:
        try:
            descriptor = os.open(self._memory, os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            raise KeyUnavailable(f"the signer's memory {self._memory} cannot be used: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    def _recall(self, descriptor: int) -> tuple[int, bytes]:
        line = os.pread(descriptor, 200, 0)
        if not line:
            return 0, b""
        size, _, root = line.decode("ascii", "replace").strip().partition(" ")
        try:
            return int(size), bytes.fromhex(root)
        except ValueError:
            raise KeyUnavailable(f"the signer's memory {self._memory} is damaged", hint=_LOST) from None


def _key_path(folder: Path, origin: str) -> Path:
    return folder / f"{origin.replace('/', '_')}.pem"


def _write_new(path: Path, content: bytes) -> None:
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

"""What a store's signer does: it signs checkpoints with the key in force, and remembers what it signed last.

Rules kept here:
- One memory a store, found by the store's origin: two stores never share one, and all keys of a store do.
- The key is made together with its store, and changed by a rotation that both keys sign; a missing or foreign key is
  an error, not an occasion for a new one.
- The signer keeps the (size, root) that it signed last beside the key, outside the store, and signs nothing
  inconsistent with it, so a restored backup is not signed over unseen.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from store import memory, signing
from store.core import checkpoint
from store.core.checkpoint import Checkpoint, VerifierKey
from store.core.errors import KeyUnavailable, Malformed
from store.core.keyring import Keyring
from store.memory import Memory
from store.signing import SigningKey

_DAMAGED = "run `edgetape verify`; if that finds nothing wrong, move the file away"


@dataclass(slots=True)
class Signer:
    """Signs checkpoints of one store; `keys` are those of its log, as far as it was read."""

    keys: Keyring
    folder: Path
    _private: dict[VerifierKey, SigningKey] = field(default_factory=dict)

    @classmethod
    def make(cls, folder: Path, origin: str, key: SigningKey | None = None) -> "Signer":
        """A new store's first key. Raises KeyUnavailable when the folder cannot take it, or has one for this
        origin.
        """
        private = key or signing.new_file_key()
        signing.keep(folder, origin, private)
        first = VerifierKey(origin, private.public)
        return cls(Keyring.of(first), folder, {first: private})

    @classmethod
    def load(cls, folder: Path, keys: Keyring) -> "Signer":
        """The signer of a store whose log has these keys. Raises KeyUnavailable unless the current one is there."""
        signer = cls(keys, folder)
        signer.private(keys.current)
        return signer

    @property
    def origin(self) -> str:
        """The store's origin."""
        return self.keys.origin

    def private(self, key: VerifierKey) -> SigningKey:
        """The private half of one of the store's keys. Raises KeyUnavailable."""
        if key not in self._private:
            self._private[key], _ = signing.find(self.folder, key)
        return self._private[key]

    def sign(self, state: Callable[[], Checkpoint], root_at: Callable[[int], bytes | None]) -> tuple[Checkpoint, bytes]:
        """The checkpoint that `state` gives while no other process signs, and its signed note.

        `state` brings `keys` up to date; `root_at(size)` gives the log's root when it had that size, None beyond its
        end. Raises KeyUnavailable when the log is shorter than, or other than, what was signed last.
        """
        with self.alone() as descriptor:
            known = self._recall(descriptor)
            statement = state()
            if known.size > statement.size or (known.size and root_at(known.size) != known.root):
                raise KeyUnavailable(
                    f"another log is signed already, of {known.size} leaves: this one was rolled back or changed",
                    hint=f"run `edgetape verify`; if you restored a backup on purpose, move {self._memory} away",
                )
            key = self.keys.current
            private = self.private(key)
            os.pwrite(descriptor, Memory(statement.size, statement.root).line, 0)
            os.fsync(descriptor)
            return statement, checkpoint.note(statement, key, private.sign(statement.text))

    @contextmanager
    def alone(self) -> Iterator[int]:
        """While it lasts no other process signs for this store; the open file of the memory. Raises KeyUnavailable."""
        try:
            descriptor = os.open(self._memory, os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            raise KeyUnavailable(f"the signer's memory {self._memory} cannot be used: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    @property
    def _memory(self) -> Path:
        return memory.path(self.folder, self.origin)

    def _recall(self, descriptor: int) -> Memory:
        try:
            return Memory.parse(os.pread(descriptor, 200, 0))
        except Malformed:
            raise KeyUnavailable(f"the signer's memory {self._memory} is damaged", hint=_DAMAGED) from None

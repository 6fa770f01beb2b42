"""What a store's signer remembers beside its key: how long the log was that it signed last, and its root.

docs/format.md, section 6. It lies out of the store's folder, so it is older or newer than a store only if one of both
was put back.
"""

from dataclasses import dataclass
from pathlib import Path

from store.core.errors import Malformed

SUFFIX = ".signed"
_HASH_BYTES = 32


@dataclass(frozen=True, slots=True)
class Memory:
    """The first `size` leaves of a log had this root (32 bytes; none of no leaves) when they were signed."""

    size: int = 0
    root: bytes = b""

    @classmethod
    def parse(cls, line: bytes) -> "Memory":
        """What a file holds; one that is empty remembers nothing. Raises Malformed."""
        if not line:
            return cls()
        size, _, root = line.decode("ascii", "replace").strip().partition(" ")
        try:
            memory = cls(int(size), bytes.fromhex(root))
        except ValueError:
            raise Malformed("not what a signer remembers") from None
        if memory.size < 0 or len(memory.root) != _HASH_BYTES:
            raise Malformed("not what a signer remembers")
        return memory

    @property
    def line(self) -> bytes:
        """What its file holds: always as long as before, so that it is written over at once."""
        return f"{self.size:020} {self.root.hex()}\n".encode()


def path(folder: Path, origin: str) -> Path:
    """Where the signer of a store remembers."""
    return folder / f"{stem(origin)}{SUFFIX}"


def stem(origin: str) -> str:
    """How the files of a store's keeper begin."""
    return origin.replace("/", "_")


def remembered(folder: Path) -> dict[str, Memory]:
    """All that signers remember in a folder of keys, by `stem`. What cannot be read says nothing here: it stops the
    signer.
    """
    found: dict[str, Memory] = {}
    for file in folder.glob(f"*{SUFFIX}"):
        try:
            found[file.name.removesuffix(SUFFIX)] = Memory.parse(file.read_bytes()[:200])
        except (OSError, Malformed):
            continue
    return found

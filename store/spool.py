"""Where the copy of a long body waits until it is recorded: in memory at first, then in a file without a name.

Rules kept here:
- What is in the file is encrypted under a key that exists in memory only; the file goes with whoever has it open.
- A file that cannot be written to is a failure of the store, and is treated like one.
- What was `taken` out of it can be read in any thread, and after it was closed.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from store.core.aead import KEY_BYTES, NONCE_BYTES, TAG_BYTES, Aead
from store.core.errors import StoreUnusable

MEMORY_BYTES_MAX = 1 << 20
BLOCK_BYTES = 1 << 18


class Spool:
    """Bytes in, and all of them out again; a file is made in `folder` once there are many."""

    def __init__(self, folder: Path | None = None) -> None:
        self.length = 0
        self._folder = folder
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._blocks: list[int] = []
        self._file: BinaryIO | None = None
        self._closed = False
        self._key = os.urandom(KEY_BYTES)
        self._aead = Aead(self._key, _nonce)

    def add(self, piece: bytes) -> None:
        """Takes a piece. Raises StoreUnusable."""
        if self._closed:
            return
        self.length += len(piece)
        self._waiting.append(piece)
        self._waiting_bytes += len(piece)
        if self._waiting_bytes >= (BLOCK_BYTES if self._file is not None else MEMORY_BYTES_MAX):
            self._write()

    def pieces(self) -> Iterator[bytes]:
        """All that came, a block at a time. Raises StoreUnusable."""
        return self.taken().pieces()

    @property
    def is_in_memory(self) -> bool:
        """Whether no file was needed."""
        return self._file is None

    def taken(self) -> "Taken":
        """All that has come by now. Raises StoreUnusable."""
        return Taken.of(self._file, Inside(self._key, tuple(self._blocks), tuple(self._waiting)))

    @property
    def content(self) -> bytes:
        """All that came, in one. Raises StoreUnusable."""
        return self.taken().content

    def close(self) -> None:
        """Forgets it, and takes nothing more."""
        self._closed = True
        self._waiting.clear()
        self._blocks.clear()
        if self._file is not None:
            self._file.close()
            self._file = None

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def _write(self) -> None:
        content, number = b"".join(self._waiting), len(self._blocks)
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115  # kept open as long as its Spool
            assert self._file is not None
            _write_all(self._file, self._aead.close(content, bytes(str(number), "ascii")))
        except OSError as error:
            raise _unusable(error) from error
        self._blocks.append(len(content))
        self._waiting.clear()
        self._waiting_bytes = 0


class Inside(msgspec.Struct, frozen=True, array_like=True):
    """What makes the file of a spool readable: its key, the lengths of its blocks, and what is not in it yet."""

    key: bytes
    blocks: tuple[int, ...]
    waiting: tuple[bytes, ...]


class Taken:
    """What a spool held at some moment. It has the file for itself, and leaves the place where more is written."""

    def __init__(self, descriptor: int, inside: Inside) -> None:
        """`descriptor` is that of the file, -1 for none; it is closed with this."""
        self.descriptor = descriptor
        self.inside = inside

    @classmethod
    def of(cls, file: BinaryIO | None, inside: Inside) -> "Taken":
        """The same of a file that stays somebody else's. Raises StoreUnusable."""
        try:
            return cls(-1 if file is None else os.dup(file.fileno()), inside)
        except OSError as error:
            raise _unusable(error) from error

    def __del__(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)

    def pieces(self) -> Iterator[bytes]:
        """A block at a time. Raises StoreUnusable."""
        at, aead = 0, Aead(self.inside.key, _nonce)
        for number, length in enumerate(self.inside.blocks):
            size = length + NONCE_BYTES + TAG_BYTES
            try:
                closed = os.pread(self.descriptor, size, at)
            except OSError as error:
                raise _unusable(error) from error
            yield aead.open(closed, bytes(str(number), "ascii"))
            at += size
        yield from self.inside.waiting

    @property
    def content(self) -> bytes:
        """All of it, in one. Raises StoreUnusable."""
        return b"".join(self.pieces())


def _nonce() -> bytes:
    return os.urandom(NONCE_BYTES)


def _write_all(file: BinaryIO, content: bytes) -> None:
    """A file without a buffer may take less than it is given."""
    left = memoryview(content)
    while left:
        left = left[file.write(left) :]


def _unusable(error: OSError) -> StoreUnusable:
    return StoreUnusable(f"a long body has no room to wait in: {error.strerror or error}")

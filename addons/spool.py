"""Where the copy of a long body waits until it is recorded: in memory at first, then in a file without a name.

Rules kept here:
- What is in the file is encrypted under a key that exists in this process only, and the file goes with it.
- A file that cannot be written to is a failure of the store, and is treated like one.
"""

import os
import tempfile
from pathlib import Path
from typing import BinaryIO

from store.core.aead import KEY_BYTES, NONCE_BYTES, TAG_BYTES, Aead
from store.core.errors import StoreUnusable

MEMORY_BYTES_MAX = 1 << 20
BLOCK_BYTES = 1 << 18


class Spool:
    """Bytes in, and all of them out again; a file is made in `folder` once there are many."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._blocks: list[int] = []
        self._file: BinaryIO | None = None
        self._closed = False
        self._aead = Aead(os.urandom(KEY_BYTES), lambda: os.urandom(NONCE_BYTES))

    def add(self, piece: bytes) -> None:
        """Takes a piece. Raises StoreUnusable."""
        if self._closed:
            return
        self._waiting.append(piece)
        self._waiting_bytes += len(piece)
        if self._waiting_bytes >= (BLOCK_BYTES if self._file is not None else MEMORY_BYTES_MAX):
            self._write()

    @property
    def content(self) -> bytes:
        """All that came. Raises StoreUnusable."""
        if self._file is None:
            return b"".join(self._waiting)
        try:
            self._file.seek(0)
            blocks = [
                self._aead.open(self._file.read(length + NONCE_BYTES + TAG_BYTES), bytes(str(number), "ascii"))
                for number, length in enumerate(self._blocks)
            ]
            self._file.seek(0, os.SEEK_END)
        except OSError as error:
            raise _unusable(error) from error
        return b"".join((*blocks, *self._waiting))

    def close(self) -> None:
        """Forgets it, and takes nothing more."""
        self._closed = True
        self._waiting.clear()
        self._blocks.clear()
        if self._file is not None:
            self._file.close()
            self._file = None

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


def _write_all(file: BinaryIO, content: bytes) -> None:
    """A file without a buffer may take less than it is given."""
    left = memoryview(content)
    while left:
        left = left[file.write(left) :]


def _unusable(error: OSError) -> StoreUnusable:
    return StoreUnusable(f"a long body has no room to wait in: {error.strerror or error}")

"""Where the copy of a long body waits until it is recorded: in memory at first, then in a file without a name.

Rules kept here:
- What is in the file is encrypted under a key that exists in this process only, and the file goes with it.
- A file that cannot be written to is a failure of the store, and is treated like one.
- What was taken out of it (`pieces`) can be read in any thread, and after it was closed.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

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
        self._aead = Aead(os.urandom(KEY_BYTES), lambda: os.urandom(NONCE_BYTES))

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
        return self.taken()()

    def taken(self) -> Callable[[], Iterator[bytes]]:
        """What gives all that has come by now, as often as it is called."""
        return _Taken(self._file, self._aead, tuple(self._blocks), tuple(self._waiting)).pieces

    @property
    def content(self) -> bytes:
        """All that came, in one. Raises StoreUnusable."""
        return b"".join(self.pieces())

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


@dataclass(slots=True)
class _Taken:
    """What a spool held at some moment. It has the file for itself, and leaves the place where more is written."""

    file: BinaryIO | None
    aead: Aead
    blocks: Sequence[int]
    waiting: Sequence[bytes]
    _descriptor: int = field(init=False, default=-1)

    def __post_init__(self) -> None:
        if self.file is not None:
            try:
                self._descriptor = os.dup(self.file.fileno())
            except OSError as error:
                raise _unusable(error) from error
        self.file = None

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def pieces(self) -> Iterator[bytes]:
        """A block at a time. Raises StoreUnusable."""
        at = 0
        for number, length in enumerate(self.blocks):
            size = length + NONCE_BYTES + TAG_BYTES
            try:
                closed = os.pread(self._descriptor, size, at)
            except OSError as error:
                raise _unusable(error) from error
            yield self.aead.open(closed, bytes(str(number), "ascii"))
            at += size
        yield from self.waiting


def _write_all(file: BinaryIO, content: bytes) -> None:
    """A file without a buffer may take less than it is given."""
    left = memoryview(content)
    while left:
        left = left[file.write(left) :]


def _unusable(error: OSError) -> StoreUnusable:
    return StoreUnusable(f"a long body has no room to wait in: {error.strerror or error}")

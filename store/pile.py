"""Blocks that wait to be stored: in memory at first, then in a file without a name.

They are closed under the key of their run already, so the file tells no more than the store does.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from store.core.errors import StoreUnusable
from store.splices.livelog import Stored
from store.splices.stream import Span

MEMORY_BYTES_MAX = 8 << 20


class Pile:
    """Blocks in, and the same out again, as often as wanted; a file is made in `folder` once they are many."""

    def __init__(self, blocks: Iterable[Stored], folder: Path) -> None:
        """Raises StoreUnusable."""
        self.stored_bytes = 0
        self._spans: list[tuple[Span, int]] = []
        self._file = tempfile.SpooledTemporaryFile(MEMORY_BYTES_MAX, dir=str(folder))  # noqa: SIM115  # open as this is
        for each in blocks:
            try:
                self._file.write(each.stored)
            except OSError as error:
                raise StoreUnusable(f"there is no room to pack a run in: {error.strerror or error}") from error
            self._spans.append((each.span, len(each.stored)))
            self.stored_bytes += len(each.stored)

    def __del__(self) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._spans)

    def __iter__(self) -> Iterator[Stored]:
        self._file.seek(0, os.SEEK_SET)
        return (Stored(span, self._file.read(length)) for span, length in self._spans)

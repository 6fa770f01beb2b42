"""Watches what a long verification costs a store in use: its write-ahead log cannot begin anew while it is read."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from store import database

NOTICE_BYTES = 1 << 30

type Progress = Callable[[int, int], None]


@dataclass(slots=True)
class Backlog:
    """Says so, in a sentence, when the log has grown by another gibibyte, by two, by four ..."""

    folder: Path
    say: Callable[[str], None]
    notice_bytes: int = NOTICE_BYTES
    _begun_bytes: int = field(init=False)

    def __post_init__(self) -> None:
        self._begun_bytes = self._size()

    def watched(self, progress: Progress | None) -> Progress:
        """What looks at it at every progress, and tells that on."""

        def told(done: int, total: int) -> None:
            self._look()
            if progress is not None:
                progress(done, total)

        return told

    def _look(self) -> None:
        grown = self._size() - self._begun_bytes
        if grown >= self.notice_bytes:
            self.notice_bytes = 2 * grown
            self.say(
                f"the write-ahead log has grown by {grown >> 20} MiB: it begins anew when this verification is over"
            )

    def _size(self) -> int:
        path = self.folder / f"{database.FILE_NAME}-wal"
        try:
            return path.stat().st_size
        except OSError:
            return 0

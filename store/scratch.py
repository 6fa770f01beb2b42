"""Temporary folders that go with their process: what a killed one left is removed by the next that needs one.

Whose a folder is says a lock on a file in it, which the system gives up when its holder dies (see `store.lease`).
"""

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "edgetape-"
_OWNER = ".owner"


class Scratch:
    """One folder (0700), there until `remove`."""

    def __init__(self) -> None:
        sweep(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = os.open(self.path / _OWNER, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Takes it away, with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for as long as a block lasts."""
    made = Scratch()
    try:
        yield made.path
    finally:
        made.remove()


def sweep(base: Path) -> None:
    """Removes our own user's folders whose processes are dead; whatever is not certain stays."""
    for folder in base.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            said = folder.lstat()
            if stat.S_ISDIR(said.st_mode) and said.st_uid == os.getuid():
                _remove_if_dead(folder)


def _remove_if_dead(folder: Path) -> None:
    """Raises OSError where it is not ours to remove: without an owner's file it is just being made, or another's."""
    lock = os.open(folder / _OWNER, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)

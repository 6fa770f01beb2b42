"""A file that is written for somebody: it stands whole, or what stood there before does.

Rules kept here:
- What is written is put together beside its place, and takes that in one step (rename(2)).
- A link is followed. What is no plain file (a device, a pipe), or lies in a folder that takes no new file, is written
  as it is once all is there: nothing else can be done.
"""

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from store.core.errors import EdgetapeError
from store.reasons import reason

_ELSEWHERE = "check the permissions of the folder and the space on its disk, or name another file"


class NotWritten(EdgetapeError):
    """A file that was asked for cannot be written."""


@contextlib.contextmanager
def written(what: str, path: Path) -> Iterator[None]:
    """Whatever the system says in the block is said of `what` and its file. Raises NotWritten."""
    try:
        yield
    except OSError as error:
        raise NotWritten(f"{what} cannot be written to {path}: {reason(error)}", hint=_ELSEWHERE) from error


@contextlib.contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """An empty file that takes the place of `path` when the block ends well, and is gone when it does not.

    Folders on the way are made. It has the mode of what it replaces, else the usual one. Raises OSError.
    """
    place = Path(os.path.realpath(path))
    place.parent.mkdir(parents=True, exist_ok=True)
    with _made(place) as draft:
        yield draft
        if draft.parent == place.parent:
            draft.replace(place)
        else:
            with draft.open("rb") as whole, place.open("wb") as file:
                shutil.copyfileobj(whole, file)


def put(path: Path, content: bytes) -> None:
    """Writes a file. Raises OSError."""
    with drafted(path) as draft:
        draft.write_bytes(content)


@contextlib.contextmanager
def _made(place: Path) -> Iterator[Path]:
    is_plain = place.is_file()
    if place.exists() and (not is_plain or not os.access(place.parent, os.W_OK | os.X_OK)):
        import tempfile  # which takes time to load, and is hardly ever needed

        with tempfile.TemporaryDirectory(prefix="edgetape-") as folder:
            yield Path(folder, "draft")
        return
    draft = place.with_name(f".{secrets.token_hex(8)}.draft")
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    try:
        if is_plain:
            draft.chmod(place.stat().st_mode & 0o777)
        yield draft
    finally:
        draft.unlink(missing_ok=True)

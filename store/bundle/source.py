"""Opens a bundle where it lies: the one ZIP form, a folder, or a tar of the same tree. Nothing is ever extracted.

Rules kept here:
- Only plain files under names that a bundle has; no link is followed, no name is joined to a path that was not listed.
- Raises Unsafe or TooMuch for what no bundle looks like, StoreUnusable where nothing can be read.
"""

import contextlib
import mmap
import os
import stat
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from store.bundle import container
from store.bundle.container import TooMuch, Unsafe
from store.core.errors import StoreUnusable

_ZIP_MARK = b"PK\x03\x04"
_TAR_MARK, _TAR_MARK_AT = b"ustar", 257
_SUFFIXES = (".zip", ".tar", ".tape")

type Members = dict[str, memoryview]


def names_bundle(word: str) -> bool:
    """Whether a word of a command line is the place of a bundle and not a run: it ends in .zip, .tar or .tape, has a
    slash, or has a dot and is a file.
    """
    return word.endswith(_SUFFIXES) or os.sep in word or ("." in word and Path(word).is_file())


@contextmanager
def opened(path: Path) -> Iterator[Members]:
    """The members of the bundle at `path`; views that live until the end of the block."""
    try:
        if path.is_dir():
            yield _folder(path)
            return
        with path.open("rb") as file, _mapped(file.fileno()) as view:
            yield dict(_tar(view, path) if _is_tar(view) else container.unpack(view))
    except OSError as error:
        raise StoreUnusable(f"the bundle {path} cannot be read: {error.strerror or error}") from error


@contextmanager
def _mapped(descriptor: int) -> Iterator[memoryview]:
    if not os.fstat(descriptor).st_size:
        yield memoryview(b"")  # nothing cannot be mapped
        return
    mapped = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    yield memoryview(mapped)
    with contextlib.suppress(BufferError):  # views that a caller still holds keep it open
        mapped.close()


def _is_tar(view: memoryview) -> bool:
    return view[:4] != _ZIP_MARK and view[_TAR_MARK_AT:][: len(_TAR_MARK)] == _TAR_MARK


def _folder(path: Path) -> Members:
    found: Members = {}
    total = 0
    for base, folders, files in os.walk(path, onerror=_raise):
        for name in files + folders:
            place = Path(base) / name
            mode = place.lstat().st_mode
            if stat.S_ISDIR(mode):
                continue
            inside = container.checked_name(place.relative_to(path).as_posix())
            if not stat.S_ISREG(mode):
                raise Unsafe(f"{inside} is no plain file")
            content = place.read_bytes()
            total += len(content)
            if len(found) >= container.MEMBERS_MAX or total > container.FILE_BYTES_MAX:
                raise TooMuch(f"more than {container.MEMBERS_MAX} members, or 4 GiB")
            found[inside] = memoryview(content)
    return found


def _raise(error: OSError) -> None:
    raise error


def _tar(view: memoryview, path: Path) -> Iterator[tuple[str, memoryview]]:
    """The plain files of a tar; its headers beside name and length say nothing that a bundle needs."""
    seen: set[str] = set()
    end = 0
    try:
        with tarfile.open(path, "r:") as archive:
            for entry in archive:
                end = entry.offset_data + (entry.size if entry.type in (tarfile.REGTYPE, tarfile.AREGTYPE) else 0)
                if entry.type == tarfile.DIRTYPE and not entry.size:
                    continue
                name = container.checked_name(entry.name.removeprefix("./"))
                if entry.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or entry.issparse() or name in seen:
                    raise Unsafe(f"{name} is no plain file, or occurs twice")
                if len(seen) >= container.MEMBERS_MAX or len(view) > container.FILE_BYTES_MAX:
                    raise TooMuch(f"more than {container.MEMBERS_MAX} members, or 4 GiB")
                seen.add(name)
                if end > len(view):
                    raise Unsafe(f"the member {name} ends beyond the file")
                yield name, view[entry.offset_data : end]
    except (tarfile.TarError, ValueError, EOFError) as error:
        raise Unsafe(f"not a tar: {error}") from None
    if any(view[end:]):
        raise Unsafe("something stands behind the last member")

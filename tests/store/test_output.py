"""A file that is written for somebody stands whole, or what stood there before does."""

import os
from pathlib import Path

import pytest

from store.output import NotWritten, drafted, put, written

OLD, NEW = b"the old one", b"the new one"


def test_a_new_file_gets_its_folders_and_the_usual_mode(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    put(path, NEW)
    (tmp_path / "plain").touch()
    assert path.read_bytes() == NEW
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert list(path.parent.iterdir()) == [path]


def test_an_older_file_is_replaced_with_its_mode_through_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "page", tmp_path / "link"
    path.write_bytes(OLD)
    path.chmod(0o640)
    link.symlink_to(path)
    put(link, NEW)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (NEW, 0o640)
    assert link.is_symlink()


def test_what_fails_midway_leaves_the_older_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "page"
    path.write_bytes(OLD)
    full = f"the page cannot be written to {path}: No space left on device"
    with pytest.raises(NotWritten, match=full):
        _fill(path)
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path]


def _fill(path: Path) -> None:
    with written("the page", path), drafted(path) as draft:
        draft.write_bytes(NEW[:3])
        Path("/dev/full").write_bytes(NEW)


def test_a_pipe_is_written_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        put(pipe, NEW)
        assert os.read(end, 100) == NEW
    finally:
        os.close(end)
    assert pipe.is_fifo()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is refused to root")
def test_a_file_in_a_folder_that_takes_no_other_is_written_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "page"
    path.write_bytes(OLD)
    tmp_path.chmod(0o500)
    try:
        put(path, NEW)
    finally:
        tmp_path.chmod(0o700)
    assert path.read_bytes() == NEW

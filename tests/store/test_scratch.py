"""Temporary folders: gone with their block, gone after a kill, and nobody else's are touched."""

import subprocess
import sys
from pathlib import Path

import pytest

from store.scratch import Scratch, scratch, sweep
from tests.support.processes import ROOT


@pytest.fixture(autouse=True)
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def folders(base: Path) -> list[str]:
    return sorted(path.name for path in base.iterdir())


def test_a_folder_is_there_while_its_block_lasts(base: Path) -> None:
    with scratch() as folder:
        (folder / "roots.pem").write_text("x")
        assert folder.parent == base
        assert folder.stat().st_mode & 0o777 == 0o700
    assert folders(base) == []


def test_what_a_killed_process_left_is_removed_by_the_next_one(base: Path) -> None:
    program = "import os, signal, tempfile; from store.scratch import Scratch; s = Scratch();"
    program += "(s.path / 'inner').mkdir(); print(s.path, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={"TMPDIR": str(base)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    left = Path(done.stdout.strip())
    assert left.is_dir()
    with scratch() as folder:
        assert folders(base) == [folder.name]


def test_a_living_owner_and_whatever_is_not_ours_is_left_alone(base: Path) -> None:
    living = Scratch()
    (base / "edgetape-being-made").mkdir()
    (base / "edgetape-file").write_text("x")
    elsewhere = base / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ".owner").write_text("")
    (base / "edgetape-link").symlink_to(elsewhere)
    (base / "edgetape-odd").mkdir()
    (base / "edgetape-odd" / ".owner").symlink_to(elsewhere / ".owner")
    before = folders(base)
    sweep(base)
    assert folders(base) == before
    living.remove()
    assert folders(base) == [name for name in before if name != living.path.name]

"""The Makefile finds a Python that runs, and says in one sentence when there is none."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.layout.tree import ROOT


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the Makefile, and a bin folder that comes first on the PATH."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "bin").mkdir()
    return tmp_path


def program(path: Path, script: str) -> Path:
    """An executable shell script."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def make(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make there, as somebody whose home is empty."""
    path = f"{checkout / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        ["make", *arguments],
        cwd=checkout,
        env={"PATH": path, "HOME": str(checkout)},
        check=False,
        capture_output=True,
        text=True,
    )


def test_a_named_python_that_does_not_fit_is_refused_in_one_sentence(checkout: Path) -> None:
    old = program(checkout / "bin/python-old", "exit 1")
    made = make(checkout, ".venv/.stamps/venv", f"PYTHON={old}")
    assert made.returncode != 0
    first, *rest = made.stderr.splitlines()
    assert first.startswith("edgetape needs Python 3.12 or newer")
    assert all(line.startswith("make: ***") for line in rest)
    assert not (checkout / ".venv").exists()


def test_a_shim_that_fails_when_run_is_passed_over(checkout: Path) -> None:
    shim = "echo 'command not found' >&2; exit 127"
    program(checkout / "bin/python3.14", shim)
    program(checkout / "bin/python3.13", f'exec "{sys.executable}" "$@"')
    made = make(checkout, ".venv/.stamps/venv")
    assert made.returncode == 0, made.stderr
    assert made.stderr == ""
    assert (checkout / ".venv/bin/python").exists()


def test_an_environment_that_runs_is_kept(checkout: Path) -> None:
    made = make(checkout, ".venv/.stamps/venv", f"PYTHON={sys.executable}")
    assert made.returncode == 0, made.stderr
    (checkout / ".venv/kept").touch()
    (checkout / ".venv/.stamps/venv").unlink()
    made = make(checkout, ".venv/.stamps/venv")
    assert made.returncode == 0, made.stderr
    assert (checkout / ".venv/kept").exists()


def test_help_lists_every_target(checkout: Path) -> None:
    listed = make(checkout).stdout
    for target in ("setup", "test", "lint", "format", "demo", "soak", "bench", "lock", "clean"):
        assert f"make {target} " in listed

"""What the checkout holds: its files as git would publish them, and its Python modules."""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FLOORS = ("proxy", "addons", "store", "replay_server", "audit")
UNPUBLISHED = {".git", ".venv", "__pycache__", "build", "dist", ".mypy_cache", ".pytest_cache", ".ruff_cache"}


@cache
def files() -> tuple[Path, ...]:
    """Every file that is or would be committed, relative to the root (without git: every file)."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        found = [Path(name) for name in listed.split("\0") if name]
    else:
        found = [path.relative_to(ROOT) for path in ROOT.rglob("*")]
    return tuple(sorted(path for path in found if (ROOT / path).is_file() and UNPUBLISHED.isdisjoint(path.parts)))


def python_files() -> tuple[Path, ...]:
    """Every Python file of the checkout."""
    return tuple(path for path in files() if path.suffix == ".py")


def source_files() -> tuple[Path, ...]:
    """Every Python file of the program itself."""
    return tuple(path for path in python_files() if path.parts[0] in FLOORS)

"""Programs of coding agents, no dependency of ours: looked up in a folder, installed into it where they are not.

EDGETAPE_TEST_AGENTS_FOLDER names one that lasts; without it every test session makes its own.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

SECONDS_MAX = 300.0


@dataclass(frozen=True, slots=True)
class Program:
    """One agent: where its package comes from (`npm` or `pip`), and the executable that it brings (a pattern)."""

    source: str
    package: str
    executable: str

    def at(self, folder: Path) -> str:
        """The path of the executable under `folder`; skips the test where it cannot be had."""
        if self.source == "npm" and shutil.which("npm") is None:
            pytest.skip("there is no npm here")
        if not self._found(folder):
            for line in self._lines(folder):
                _attempt(line, folder)
        found = self._found(folder)
        if not found:
            pytest.skip(f"{self.package} cannot be had here")
        return str(found[0])

    def _found(self, folder: Path) -> list[Path]:
        return sorted(folder.glob(self.executable))

    def _lines(self, folder: Path) -> list[Sequence[str]]:
        if self.source == "npm":
            return [["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", ".", self.package]]
        uv, python = str(Path(sys.executable).with_name("uv")), str(folder / "python" / "bin" / "python")
        return [
            [uv, "venv", "-q", "--allow-existing", "-p", sys.executable, str(folder / "python")],
            [uv, "pip", "install", "-q", "-p", python, self.package],
        ]


def _attempt(line: Sequence[str], folder: Path) -> None:
    """Run an installer; whether it did its work is seen by what is there afterwards."""
    subprocess.run(line, cwd=folder, stdout=subprocess.DEVNULL, timeout=SECONDS_MAX, check=False)


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the agents' programs."""
    named = os.environ.get("EDGETAPE_TEST_AGENTS_FOLDER")
    folder = Path(named) if named else tmp_path_factory.mktemp("programs")
    folder.mkdir(parents=True, exist_ok=True)
    return folder

"""The floors hold, and each contract bites: broken once on purpose in a copy, it is named."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.layout.tree import FLOORS, ROOT

# For each contract: the files whose imports break it.
BREACHES = {
    "floors": {"store/breach.py": "import audit"},
    "wings": {"addons/breach.py": "import audit"},
    "roof": {"audit/breach.py": "import proxy"},
    "ground": {"store/above.py": "", "store/core/breach.py": "import store.above"},
    "mezzanine": {"store/above.py": "", "store/labels/breach.py": "import store.above"},
    "pure": {"store/core/breach.py": "import socket"},
    "mitmproxy": {"proxy/breach.py": "from mitmproxy import http"},
    "aiohttp": {"proxy/breach.py": "from aiohttp import web"},
    "rfc3161": {"proxy/breach.py": "import rfc3161_client"},
    "replay": {"store/breach.py": "import mitmproxy", "replay_server/breach.py": "import store.breach"},
}


def contracts() -> dict[str, str]:
    """The identifier and name of each contract."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return {each["id"]: each["name"] for each in settings["tool"]["importlinter"]["contracts"]}


def lint_imports(tree: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Check the contracts of a tree."""
    return subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo", *options],
        cwd=tree,
        env=os.environ | {"NO_COLOR": "1", "COLUMNS": "200", "PYTHONPATH": str(tree)},
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The floors and their contracts, copied to where they can be broken."""
    for floor in FLOORS:
        shutil.copytree(ROOT / floor, tmp_path / floor, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_floors_hold(copy: Path) -> None:
    checked = lint_imports(copy)
    assert checked.returncode == 0, checked.stdout
    assert f"{len(contracts())} kept, 0 broken" in checked.stdout


def test_every_contract_has_its_breach() -> None:
    assert BREACHES.keys() == contracts().keys()


@pytest.mark.parametrize("contract", BREACHES)
def test_a_broken_contract_is_named(contract: str, copy: Path) -> None:
    for name, text in BREACHES[contract].items():
        (copy / name).write_text(f'"""Made to break a floor."""\n\n{text}\n')
    checked = lint_imports(copy, "--contract", contract)
    assert checked.returncode == 1, checked.stdout + checked.stderr
    assert f"{contracts()[contract]} BROKEN" in checked.stdout

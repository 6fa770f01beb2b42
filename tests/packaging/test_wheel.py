"""The built package: folded away in site-packages, complete, and the same program as the checkout."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import store
from tests.layout.tree import FLOORS, ROOT, source_files

VERSION = store.__version__
HASHED = [f"tests/store/core/test_{name}.py" for name in ("canonical", "digest", "event", "leaf", "merkle")]


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """The output of a command that must succeed, in an environment of PATH, HOME and what is given."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(cwd), **variables},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel made from that sdist; no network is used."""
    folder = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel installed, which finds everything else where these tests do."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, symlinks=True)
    wheel = next(built.glob("*.whl"))
    options = ("--quiet", "--no-deps", "--no-index", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "--python", folder, "install", *options, wheel, cwd=folder)
    (site_packages(folder) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def site_packages(environment: Path) -> Path:
    """Where an environment keeps its packages."""
    return next(environment.glob("lib/python*/site-packages"))


def test_the_wheel_holds_the_program_in_one_folder(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
        launcher = wheel.read("edgetape/__init__.py")
    assert {name.split("/")[0] for name in names} == {"edgetape", f"edgetape-{VERSION}.dist-info"}
    assert launcher == (ROOT / "proxy/launcher.py").read_bytes()
    moved = {Path("proxy/launcher.py"), Path("proxy/plugin.py")}
    assert {f"edgetape/{path}" for path in source_files() if path not in moved} <= names
    assert "edgetape/proxy/agent/preload/node/proxy.cjs" in names
    assert f"edgetape-{VERSION}.dist-info/licenses/LICENSE" in names


def test_the_wheel_holds_nothing_but_the_program(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        inside = {name.split("/")[1] for name in wheel.namelist() if name.startswith("edgetape/")}
    assert inside == {"__init__.py", "plugin.py", *FLOORS}


def test_the_sdist_holds_what_builds_and_tests_it(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "Makefile", "requirements/dev.lock"} <= names
    assert {"tests/conftest.py", "store/core/errors.py"} <= names


def test_the_installed_command_runs(installed: Path, tmp_path: Path) -> None:
    said = run(installed / "bin/edgetape", "--version", cwd=tmp_path)
    assert VERSION in said


def test_the_command_finds_its_own_folders_first(installed: Path, tmp_path: Path) -> None:
    for name in ("store", "proxy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('somebody else was imported')\n")
    command = installed / "bin/edgetape"
    assert VERSION in run(command, "--version", cwd=tmp_path, PYTHONPATH=str(tmp_path))


@pytest.mark.parametrize("floor", FLOORS)
def test_installing_it_hides_nobodys_package(floor: str, installed: Path, tmp_path: Path) -> None:
    (tmp_path / floor).mkdir()
    (tmp_path / floor / "__init__.py").write_text("owner = 'somebody else'\n")
    (site_packages(installed) / "after.pth").write_text(f"{tmp_path}\n")
    say = f"import edgetape, {floor}; print({floor}.owner)"
    assert run(installed / "bin/python", "-c", say, cwd=installed) == "somebody else\n"


def test_pytest_finds_the_plugin_and_no_package_of_ours(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(
        "import importlib.util, sys\n"
        "def test_one(edgetape):\n"
        "    assert edgetape.mode == 'off'\n"
        "    assert 'edgetape.plugin' in sys.modules\n"
        "    assert not {'proxy', 'store', 'addons', 'replay_server'} & set(sys.modules)\n"
    )
    options = ("-q", "-p", "no:cacheprovider", "--edgetape=off")
    assert "1 passed" in run(installed / "bin/python", "-m", "pytest", *options, cwd=tmp_path)


def test_what_all_is_hashed_by_passes_its_tests_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "tests", tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    fold = site_packages(installed) / "edgetape"
    options = ("-q", "-p", "no:cacheprovider", "-o", f"pythonpath={fold} .", *HASHED)
    said = run(installed / "bin/python", "-m", "pytest", *options, cwd=tmp_path)
    assert " passed" in said
    assert not (tmp_path / "store").exists()

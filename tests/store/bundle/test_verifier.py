"""The stand-alone verifier and README.txt: what an auditor has who has nothing of ours."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from store.bundle import packing
from store.core.checkpoint import VerifierKey
from tests.layout.tree import ROOT
from tests.store.bundle.parcel import Parcel

SOURCE = packing.VERIFIER.read_text()
INDENT = "    "


@pytest.fixture
def tree(raw: bytes, tmp_path: Path) -> Path:
    """The bundle, unpacked by a tool of the system."""
    (tmp_path / "bundle.zip").write_bytes(raw)
    shutil.unpack_archive(tmp_path / "bundle.zip", tmp_path / "tree")
    return tmp_path / "tree"


def run(folder: Path, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, cwd=folder, input=text, check=False, capture_output=True, text=True)


def test_it_imports_the_standard_library_and_nothing_else() -> None:
    tops = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(SOURCE))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert tops <= set(sys.stdlib_module_names)


def test_the_one_in_the_bundle_runs_alone_and_says_what_the_program_says(tree: Path) -> None:
    done = run(tree, sys.executable, "-I", "-S", "verify.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("VERIFIED (UNATTRIBUTED, UNWITNESSED, UNTIMED) run ")
    beside = run(tree.parent, sys.executable, "-I", "-S", "tree/verify.py", "bundle.zip")
    assert (beside.returncode, beside.stdout) == (0, done.stdout)


def test_it_takes_a_pin_as_a_text_or_a_file(tree: Path) -> None:
    vkey = (tree / "vkey").read_text().strip()
    for pin in (vkey, "vkey"):
        done = run(tree, sys.executable, "verify.py", ".", "--pin", pin)
        assert (done.returncode, "UNATTRIBUTED" in done.stdout) == (0, False)
    other = VerifierKey(VerifierKey.parse(vkey).name, bytes(range(32)))
    assert run(tree, sys.executable, "verify.py", "--pin", str(other)).returncode == 20


@pytest.mark.parametrize(
    "arguments, code", [(["no-such-file"], 3), (["--pin", "nonsense"], 2), (["--no-such-option"], 2)]
)
def test_what_cannot_be_done_has_its_own_exit_status(arguments: list[str], code: int, tree: Path) -> None:
    done = run(tree, sys.executable, "verify.py", *arguments)
    assert done.returncode == code
    assert "Traceback" not in done.stderr


def test_it_also_runs_on_an_old_python(tree: Path) -> None:
    candidates = (shutil.which(f"python3.{minor}") for minor in (9, 10, 11))
    old = next((each for each in candidates if each and run(tree, each, "-c", "").returncode == 0), None)
    if old is None:
        pytest.skip("no older Python is here")
    done = run(tree, old, "verify.py")
    assert done.returncode == 0, done.stderr


def commands(readme: str) -> str:
    """What README.txt tells to type under its third heading."""
    part = readme.split("3. The same by hand")[1].split("4. What is what", maxsplit=1)[0]
    return "\n".join(line for line in part.splitlines() if line.startswith(INDENT))


def test_the_commands_of_the_readme_check_signature_and_bodies(tree: Path, parcel: Parcel) -> None:
    assert shutil.which("openssl")
    script = commands((tree / "README.txt").read_text())
    done = run(tree, "sh", "-eu", text=script)
    assert done.returncode == 0, done.stderr
    assert "Signature Verified Successfully" in done.stdout
    assert run(tree, sys.executable, "verify.py").returncode == 0  # they leave nothing behind in the folder


def test_they_fail_where_a_body_or_the_checkpoint_was_changed(tree: Path) -> None:
    script = commands((tree / "README.txt").read_text())
    blob = next((tree / "blobs").iterdir())
    content = blob.read_bytes()
    blob.write_bytes(content + b"!")
    assert run(tree, "sh", "-eu", text=script).returncode != 0
    blob.write_bytes(content)
    note = (tree / "checkpoint").read_text().split("\n")
    (tree / "checkpoint").write_text("\n".join([note[0], note[1] + "0", *note[2:]]))
    assert run(tree, "sh", "-eu", text=script).returncode != 0


def test_it_lies_in_the_repository_as_it_lies_in_bundles(parcel: Parcel) -> None:
    assert parcel.members["verify.py"] == (ROOT / "store/bundle/verifier.py").read_bytes()

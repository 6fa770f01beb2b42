"""The installed command's first lines."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_ctrl_c_while_modules_load_ends_it_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "edgetape" / "proxy").mkdir(parents=True)
    shutil.copy(ROOT / "proxy/launcher.py", tmp_path / "edgetape/__init__.py")
    (tmp_path / "edgetape/proxy/__init__.py").touch()
    shutil.copy(ROOT / "proxy/pace.py", tmp_path / "edgetape/proxy/pace.py")
    (tmp_path / "edgetape/proxy/cli.py").write_text("raise KeyboardInterrupt")
    command = [sys.executable, "-c", "import edgetape; edgetape.main()"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")

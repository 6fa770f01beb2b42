"""Leases: they are held as long as their writer lives, and given up by the system when it dies."""

import subprocess
import sys
from pathlib import Path

from store.lease import Lease, inherited

ROOT = Path(__file__).parents[2]
HOLDER = """
import sys
from pathlib import Path
from store.lease import Lease
lease = Lease(Path(sys.argv[1]), "owner")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_lease_is_inherited_only_when_its_holder_is_dead(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with inherited(tmp_path, "owner") as dead:
            assert not dead
        assert (tmp_path / "owner.lock").exists()
        holder.kill()
    with inherited(tmp_path, "owner") as dead:
        assert dead
    assert not (tmp_path / "owner.lock").exists()


def test_one_that_was_given_up_leaves_nothing_behind(tmp_path: Path) -> None:
    lease = Lease(tmp_path / "leases", "owner")
    lease.release()
    lease.release()
    with inherited(tmp_path / "leases", "owner") as dead:
        assert dead
    assert list((tmp_path / "leases").iterdir()) == []


def test_two_heirs_do_not_inherit_at_once(tmp_path: Path) -> None:
    Lease(tmp_path, "owner")
    path = tmp_path / "owner.lock"
    other = Lease(tmp_path, "other")
    path.unlink()
    path.touch()
    with inherited(tmp_path, "owner") as first, inherited(tmp_path, "owner") as second:
        assert (first, second) == (True, False)
    other.release()

"""Leases: they are held as long as their writer lives, and given up by the system when it dies."""

import subprocess
import sys
from pathlib import Path

import pytest

from store.core.errors import InvalidEvent
from store.lease import Lease, inherited
from store.reader import Reader
from store.verify import verify
from tests.support.tape import tape
from tests.support.verifier import verify as second

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


def test_t57_c118_two_writers_on_one_run_never_fork_its_chain(tmp_path: Path) -> None:
    """The head is read inside the transaction that appends; whoever closes the run ends it for both."""
    with tape(tmp_path) as one, tape(tmp_path) as other:
        run = one.open("shared")
        one.writer.checkpoint().result(30)
        bodies = [b"%d:" % number * 300 for number in range(60)]
        tickets = [(one, other)[number % 2].note(run, body) for number, body in enumerate(bodies)]
        seqs = []
        for ticket in tickets:
            ticket.result(60)
            seqs.append(ticket.seq)
        other.writer.close_run(run, "normal").result(60)
        with pytest.raises(InvalidEvent, match="closed: nothing may follow"):
            one.note(run, b"too late").result(60)
    assert sorted(seqs) == list(range(1, len(bodies) + 1))
    assert (
        verify(tmp_path / "store", tmp_path / "keys").exit_code
        == second(tmp_path / "store", tmp_path / "keys").exit_status
        == 0
    )
    with Reader.open(tmp_path / "store", tmp_path / "keys") as reader:
        told = {event.seq: event for event in reader.events(run)}
        assert [reader.body(told[seq], getattr(told[seq].facts, "body", None)) for seq in seqs] == bodies

"""A confined command keeps its exit code, terminal and signals, and an allowed local port is carried in."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from proxy.confined.confinement import ConfinementError, enter
from tests.proxy.agent.wrapper import COUNTS_INTERRUPTS, python
from tests.proxy.confined.inside import ROOT, UNCONFINED, Outcome, command, confined
from tests.proxy.confined.outside import WAIT_S_MAX, connect, needs_namespaces, outside_listener
from tests.support.ports import closed_port
from tests.support.screen import on_a_terminal


@needs_namespaces
def test_an_allowed_local_port_is_carried_in_and_others_are_not() -> None:
    program = (
        "import socket, sys\nwith socket.create_connection(('127.0.0.1', int(sys.argv[1])), 10) as client:\n"
        "    client.sendall(b'x' * 300_000); client.shutdown(socket.SHUT_WR)\n"
        "    print(len(b''.join(iter(lambda: client.recv(65536), b''))))\n"
    )
    with outside_listener() as (port, seen), outside_listener() as (other, not_seen):
        carried = confined([*python(program), str(port)], [port])
        refused = confined(connect("127.0.0.1", other), [port])
    assert carried.out == "300000\n", carried.err
    assert [len(piece) for piece in seen] == [300_000]
    assert carried.attempts == {}
    assert refused.out == "ConnectionRefusedError\n"
    assert not_seen == []


@needs_namespaces
def test_an_allowed_port_where_nothing_listens_is_refused_soon() -> None:
    with closed_port() as port:
        program = (
            f"import socket\ntry: print(socket.create_connection(('127.0.0.1', {port}), 10).recv(1))\n"
            "except ConnectionResetError: print('reset')"
        )
        outcome = confined(python(program), [port])
    assert outcome.out == "reset\n", outcome.err


@needs_namespaces
@pytest.mark.parametrize("bridged", [False, True])
def test_the_exit_code_is_the_agents(bridged: bool) -> None:
    allow = [5432] if bridged else []
    assert confined(["sh", "-c", "exit 6"], allow).code == 6
    assert confined(["sh", "-c", "kill -KILL $$"], allow).code == 137


@needs_namespaces
@pytest.mark.parametrize("bridged", [False, True])
def test_ctrl_c_on_a_terminal_arrives_once(bridged: bool, tmp_path: Path) -> None:
    words = command(tmp_path / "report", python(COUNTS_INTERRUPTS), [5432] if bridged else [])
    with on_a_terminal(words) as screen:
        screen.wait_for(b"ready")
        screen.type(b"\x03")
        assert screen.exit_code() == 7
    assert b"interrupts: 1\r\n" in screen.shown
    assert (tmp_path / "report").exists()


@needs_namespaces
@pytest.mark.parametrize("bridged", [False, True])
def test_term_reaches_the_agent_and_the_report_is_still_written(bridged: bool, tmp_path: Path) -> None:
    agent = ["sh", "-c", "trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done"]
    process = subprocess.Popen(
        command(tmp_path / "report", agent, [5432] if bridged else []), stdout=subprocess.PIPE, cwd=ROOT
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=WAIT_S_MAX)
    assert process.returncode == 5
    assert (tmp_path / "report").exists()


@needs_namespaces
def test_path_and_home_are_all_the_environment_it_needs() -> None:
    bare = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    outcome = confined(connect("203.0.113.7", 443), environment=bare)
    assert outcome.attempts == {"TCP to 203.0.113.7:443": 1}


AS_NOBODY = """
import os, sys
from pathlib import Path
from proxy.confined import kernel
base, words = sys.argv[1], sys.argv[2:]
kernel.bind(Path(sys.base_prefix), Path(base))  # it may lie where only root may look
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LD_LIBRARY_PATH": base + "/lib"}
python = base + "/bin/" + os.path.basename(os.path.realpath(words[0]))
os.execve(python, [python, "-B", *words[1:]], environment)
"""


@needs_namespaces
@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run as an ordinary user already")
@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare is not installed")
@pytest.mark.parametrize("bridged", [False, True])
def test_it_works_for_an_ordinary_user(bridged: bool) -> None:
    connect_in_bash = "id -u; grep CapEff /proc/self/status; exec 3<>/dev/tcp/203.0.113.7/443"
    agent = ["bash", "-c", connect_in_bash]
    with tempfile.TemporaryDirectory(prefix="edgetape-test-") as base:  # pytest's own folders are closed to others
        Path(base).chmod(0o755)
        start = ["unshare", "--mount", sys.executable, "-c", AS_NOBODY, base]  # its mounts stay its own
        outcome = confined(agent, [5432] if bridged else [], start=start)
    assert outcome.out == f"65534\nCapEff:\t{'0' * 16}\n", outcome.err
    assert outcome.attempts == {"TCP to 203.0.113.7:443": 1}


@needs_namespaces
@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare is not installed")
def test_a_system_that_refuses_gives_the_reason_and_changes_nothing() -> None:
    refuse = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    start = ["unshare", "--user", "--map-root-user", "sh", "-c", refuse, "sh"]
    outcome: Outcome = confined(["true"], start=start)
    assert outcome.code == UNCONFINED
    assert "lets no program make a network of its own (ENOSPC)" in outcome.unconfined


def test_a_port_that_is_none_is_refused() -> None:
    with pytest.raises(ConfinementError, match="1 to 65535"):
        enter([70000])


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is nothing to be late for")
def test_a_call_after_threads_were_started_is_refused() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        with pytest.raises(ConfinementError, match="after threads"):
            enter()
    finally:
        stop.set()
        thread.join()

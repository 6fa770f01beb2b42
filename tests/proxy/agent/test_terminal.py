"""On a terminal the agent is the one in front: keys, size and settings are its own."""

import fcntl
import os
import shlex
import shutil
import struct
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.proxy.agent.wrapper import COUNTS_INTERRUPTS, WRAPPER, python, wrapped
from tests.support.screen import WAIT_S_MAX, Screen, on_a_terminal


def test_ctrl_c_arrives_once_and_the_run_is_closed() -> None:
    with on_a_terminal(wrapped(*python(COUNTS_INTERRUPTS))) as screen:
        screen.wait_for(b"ready")
        screen.type(b"\x03")
        assert screen.exit_code() == 7
    assert b"interrupts: 1\r\n" in screen.shown
    assert b"closed after ['SIGINT'] 7" in screen.shown


def test_ctrl_backslash_ends_the_agent_and_the_run_is_closed() -> None:
    with on_a_terminal(wrapped(*python("print('ready', flush=True); input()"))) as screen:
        screen.wait_for(b"ready")
        screen.type(b"\x1c")
        assert screen.exit_code() == 131
    assert b"closed after ['SIGQUIT'] 131" in screen.shown


def test_the_agent_has_the_terminal_and_hears_of_its_size() -> None:
    program = (
        "import os, signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGWINCH})\n"
        "print(sys.stdin.isatty(), os.tcgetpgrp(0) == os.getpgrp(), flush=True)\n"
        "signal.sigwait({signal.SIGWINCH})\n"
        "print('now', *os.get_terminal_size(), flush=True)\n"
        "print('typed', input(), flush=True)\n"
    )
    with on_a_terminal(wrapped(*python(program))) as screen:
        screen.wait_for(b"True True")
        fcntl.ioctl(screen.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))
        screen.wait_for(b"now 99 33")
        screen.type(b"hello\n")
        screen.wait_for(b"typed hello")
        assert screen.exit_code() == 0


@pytest.mark.skipif(shutil.which("bash") is None or sys.platform != "linux", reason="needs bash and /proc")
def test_ctrl_z_stops_agent_and_wrapper_and_both_go_on() -> None:
    program = "import os; print('rea' + 'dy', os.getpid(), '.', flush=True); print('typed', input(), flush=True)"
    with on_a_terminal(["/bin/bash", "--norc", "--noprofile", "-i"]) as screen:
        screen.type(f"PS1=next: W={shlex.quote(WRAPPER)}\n".encode())
        screen.type(f'{sys.executable} -c "$W" {sys.executable} -c {shlex.quote(program)}\n'.encode())
        screen.wait_for(b" .", after=b"ready ")
        screen.type(b"\x1a")
        screen.wait_for(b"next:", after=b"Stopped")
        _wait_until_stopped(int(screen.shown.partition(b"ready ")[2].split()[0]))
        screen.type(b"fg\n")
        screen.wait_for_foreground(lambda group: group != screen.pid)
        screen.type(b"again\n")
        screen.wait_for(b"typed again")
        screen.wait_for(b"closed after")
        screen.type(b"exit 0\n")
        assert screen.exit_code() == 0


def _wait_until_stopped(pid: int) -> None:
    """The shell says Stopped when the wrapper is; until the agent is too, it may still take a key."""
    deadline = time.monotonic() + WAIT_S_MAX
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_interactive_shell_as_agent_controls_its_own_jobs() -> None:
    with on_a_terminal(wrapped("/bin/sh", "-i")) as screen:
        screen.type(b"sh -c 'echo up $((40 + 1)); exec sleep 100'\n")
        screen.wait_for(b"up 41")
        screen.type(b"\x03")
        screen.type(b"echo still $((40 + 2))\n")
        screen.wait_for(b"still 42")
        screen.type(b"exit 4\n")
        assert screen.exit_code() == 4
    assert b"closed after" in screen.shown


def test_a_terminal_that_is_closed_ends_the_agent_and_the_run_is_closed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with on_a_terminal(
        ["/bin/sh", "-c", f'exec "$@" 2> {log}', "sh", *wrapped("sh", "-c", "echo up; sleep 100")]
    ) as it:
        it.wait_for(b"up")
    assert os.waitstatus_to_exitcode(os.waitpid(it.pid, 0)[1]) == 129
    assert log.read_text() == "closed after ['SIGHUP'] 129\n"


def test_a_terminal_that_a_killed_agent_left_raw_is_set_back() -> None:
    program = "import os, tty, signal; tty.setraw(0); print('raw', flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    with on_a_terminal(["/bin/sh", "-c", 'W="$0"; "$@"; stty -a', "", *wrapped(*python(program))]) as screen:
        assert screen.exit_code() == 0
    assert b" icanon" in screen.shown
    assert b" echo " in screen.shown
    assert _flags_after_raw(screen) == []


def _flags_after_raw(screen: Screen) -> list[bytes]:
    """The settings that raw mode takes away and that are still away."""
    return [flag for flag in (b"-icanon", b"-echo ", b"-isig", b"-opost") if flag in screen.shown]

"""The agent's process keeps its streams, terminal, signals and exit code, and its whole tree can be ended."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from proxy.agent.process import AgentNotStarted, running_agent
from tests.proxy.agent.wrapper import COUNTS_INTERRUPTS, python, wrapped

ROOT = Path(__file__).resolve().parents[3]
WAIT_S_MAX = 60.0


def run(command: Sequence[str], stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(wrapped(*command), input=stdin, capture_output=True, timeout=60, check=False, cwd=ROOT)


@pytest.mark.parametrize("code", [0, 1, 7, 255])
def test_the_exit_code_is_the_agents(code: int) -> None:
    assert run(["sh", "-c", f"exit {code}"]).returncode == code


def test_an_agent_that_a_signal_ended_gives_128_and_its_number() -> None:
    assert run(["sh", "-c", "kill -KILL $$"]).returncode == 137


def test_streams_pass_untouched_in_both_directions() -> None:
    every_byte = bytes(range(256)) * 300
    done = run(["sh", "-c", "cat; printf 'to stderr' >&2"], stdin=every_byte)
    assert done.stdout == every_byte
    assert done.stderr.startswith(b"to stderr")


def test_a_descriptor_that_the_caller_opened_reaches_the_agent() -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, b"from the caller")
    os.close(write_end)
    try:
        done = subprocess.run(
            wrapped("cat", f"/dev/fd/{read_end}"),
            pass_fds=[read_end],
            capture_output=True,
            timeout=60,
            check=False,
            cwd=ROOT,
        )
    finally:
        os.close(read_end)
    assert done.stdout == b"from the caller"


def test_a_script_without_a_first_line_runs_as_shells_run_it(tmp_path: Path) -> None:
    script = tmp_path / "agent"
    script.write_text('echo "$1"\n')
    script.chmod(0o755)
    assert run([str(script), "argument"]).stdout == b"argument\n"


@pytest.mark.parametrize(
    "content, mode, code",
    [
        (None, 0o755, 127),
        ("#!/nowhere/interpreter\n", 0o755, 126),
        ("#!/bin/sh\n", 0o644, 126),
        ("\x7fELF\0\0\0", 0o755, 126),
    ],
)
def test_a_command_that_cannot_be_started_says_why(content: str | None, mode: int, code: int, tmp_path: Path) -> None:
    program = tmp_path / "agent"
    if content is not None:
        program.write_text(content)
        program.chmod(mode)
    named = re.escape(str(program))
    with pytest.raises(AgentNotStarted, match=named) as caught, running_agent([str(program)], {}):
        pytest.fail("it was started")
    assert caught.value.exit_code == code
    assert caught.value.hint


@pytest.mark.parametrize("command", [[], ["echo", "zero\0byte"], ["echo", "x" * 40_000_000]])
def test_a_command_that_no_system_takes_is_an_error_in_words(command: list[str]) -> None:
    with pytest.raises(AgentNotStarted), running_agent(command, os.environ):
        pytest.fail("it was started")


@pytest.mark.parametrize("told", ["", "gone", "link"])
async def test_an_agent_is_told_the_folder_that_it_starts_in_and_a_link_to_it_stays(told: str, tmp_path: Path) -> None:
    folder, link = tmp_path / "work", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    command = [sys.executable, "-Ic", "import os; open('seen', 'w').write(os.environ['PWD'])"]
    with running_agent(command, {"PWD": told and str(tmp_path / told)}, folder) as agent:
        assert (await agent.wait()).code == 0
    assert (folder / "seen").read_text() == str(link if told == "link" else folder)


def test_a_folder_that_is_not_there_is_not_taken_for_a_missing_program(tmp_path: Path) -> None:
    with (
        pytest.raises(AgentNotStarted, match="folder to run the agent in"),
        running_agent(["true"], os.environ, tmp_path / "gone"),
    ):
        pytest.fail("it was started")


WAITS_FOR_A_FILE = ["sh", "-c", 'until [ -e "$0" ]; do sleep 0.05; done; exit 3']


async def test_the_event_loop_goes_on_while_the_agent_runs(tmp_path: Path) -> None:
    with running_agent([*WAITS_FOR_A_FILE, str(tmp_path / "go")], os.environ) as agent:
        end = asyncio.ensure_future(agent.wait())
        for _ in range(5):
            await asyncio.sleep(0.01)
        assert not end.done()
        (tmp_path / "go").touch()
        assert (await end).code == 3


async def test_a_wait_that_is_cancelled_leaves_the_agent_to_be_waited_for_again(tmp_path: Path) -> None:
    with running_agent([*WAITS_FOR_A_FILE, str(tmp_path / "go")], os.environ) as agent:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(agent.wait(), 0.05)
        assert agent.ended() is None
        (tmp_path / "go").touch()
        assert (await agent.wait()).code == 3


async def test_terminate_ends_the_whole_tree_also_what_ignores_term_or_lost_its_parent(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    program = (
        f"(setsid sh -c 'echo $$ >> {pids}; exec sleep 100' &) ; "  # its parent ends at once
        f"sh -c 'trap \"\" TERM; echo $$ >> {pids}; sleep 100; sleep 100' & "
        f"echo $$ >> {pids}; wait"
    )
    with running_agent(["sh", "-c", program], os.environ) as agent:
        await until(lambda: pids.exists() and len(pids.read_text().split()) == 3)
        started = {int(pid) for pid in pids.read_text().split()}
        assert started <= agent.tree.members()
        await agent.terminate(grace_seconds=0.3)
        assert (await agent.wait()).signal == signal.SIGTERM
        assert agent.tree.members() == frozenset()
    assert not [pid for pid in started if is_running(pid)]


async def test_an_agent_left_behind_by_a_failure_gets_term() -> None:
    with pytest.raises(RuntimeError), running_agent(["sleep", "100"], os.environ) as agent:
        raise RuntimeError("ours")
    assert (await agent.wait()).signal == signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2])
def test_a_signal_sent_to_us_reaches_the_agent_and_the_run_is_closed(number: signal.Signals) -> None:
    program = (
        "import signal, sys\n"
        f"signal.signal({int(number)}, lambda *_: (print('got it', flush=True), sys.exit(5)))\n"
        "print('ready', flush=True)\nwhile True: signal.pause()\n"
    )
    process = subprocess.Popen(wrapped(*python(program)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    out, err = process.communicate(timeout=WAIT_S_MAX)
    assert out == b"got it\n"
    assert f"closed after ['{number.name}'] 5".encode() in err
    assert process.returncode == 5


def test_an_interrupt_without_a_terminal_is_passed_on_once() -> None:
    process = subprocess.Popen(
        wrapped(*python(COUNTS_INTERRUPTS)), stdout=subprocess.PIPE, cwd=ROOT, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=WAIT_S_MAX)
    assert out == b"interrupts: 1\n"
    assert process.returncode == 7


def test_a_signal_that_was_ignored_before_us_stays_ignored_by_the_agent() -> None:
    ask = "import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)"
    done = subprocess.run(
        ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh", *wrapped(*python(ask))],
        capture_output=True,
        timeout=60,
        check=False,
        cwd=ROOT,
    )
    assert done.stdout == b"True\n"


def test_the_agent_gets_the_default_handling_of_every_signal() -> None:
    ask = (
        "import signal; print([n.name for n in signal.valid_signals() if signal.getsignal(n) == signal.SIG_IGN],"
        "signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    )
    plain = subprocess.run(python(ask), capture_output=True, timeout=60, check=True)
    assert run(python(ask)).stdout == plain.stdout


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S_MAX
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"

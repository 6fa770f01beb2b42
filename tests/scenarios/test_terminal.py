"""An interactive program under `record` and `replay` has its terminal as without us, and its run is closed."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import sys
import termios
from pathlib import Path

import pytest

from tests.scenarios.kept import proven
from tests.support.command import Command
from tests.support.provider import Provider
from tests.support.screen import Screen, on_a_terminal

INTERACTIVE = """
import os, signal, sys, time, urllib.request
interrupts, sizes = [], []
signal.signal(signal.SIGINT, lambda *_: interrupts.append(1))
signal.signal(signal.SIGWINCH, lambda *_: sizes.append(os.get_terminal_size()))
print("at", os.isatty(0), os.isatty(1), os.isatty(2), *os.get_terminal_size(), flush=True)
while not sizes:
    time.sleep(0.05)
print("size", *sizes[0], flush=True)
name = input("who? ")
print("got", len(urllib.request.urlopen(sys.argv[1] + "/" + name, timeout=30).read()), flush=True)
while not interrupts:
    time.sleep(0.05)
time.sleep(0.5)
print("interrupts", len(interrupts), flush=True)
sys.exit(5)
"""


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    made = Command(tmp_path)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)  # a command on a terminal inherits ours
    return made


def resize(screen: Screen, columns: int, rows: int) -> None:
    fcntl.ioctl(screen.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def talk(screen: Screen) -> None:
    """Resizes, types a name, presses Ctrl-C once."""
    screen.wait_for(b"at True True True ")
    resize(screen, 101, 37)
    screen.wait_for(b"size 101 37")
    screen.wait_for(b"who? ")
    screen.type(b"somebody\n")
    screen.wait_for(b"got ")
    screen.type(b"\x03")
    assert screen.exit_code() == 5
    assert b"interrupts 1\r\n" in screen.shown


def test_an_interactive_agent_keeps_its_terminal_recorded_and_replayed(command: Command, provider: Provider) -> None:
    agent = [sys.executable, "-c", INTERACTIVE, provider.url]
    with on_a_terminal(command.line("record", "--name", "talk", "--", *agent)) as screen:
        talk(screen)
    assert b"recorded run talk " in screen.shown
    with on_a_terminal(command.line("replay", "talk")) as screen:
        talk(screen)
    assert b"REPLAYED: the one recorded exchange was asked for and answered; the agent ended with 5" in screen.shown
    runs = command.json("runs")
    assert isinstance(runs, list)
    assert [(run["mode"], run["reason"], run["exit_code"]) for run in runs] == [
        ("replay", "agent_exit", 5),
        ("record", "agent_exit", 5),
    ]
    proven(command.store)


@pytest.mark.parametrize("ends, code", [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_to_the_recorder_reaches_the_agent_and_closes_the_run(
    ends: signal.Signals, code: int, command: Command
) -> None:
    agent = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"]
    with on_a_terminal(command.line("record", "--", *agent)) as screen:
        screen.wait_for(b"up\r\n")
        os.kill(screen.pid, ends)
        assert screen.exit_code() == code
    runs = command.json("runs")
    assert isinstance(runs, list)
    assert [(run["reason"], run["exit_code"]) for run in runs] == [("agent_exit", code)]
    proven(command.store)

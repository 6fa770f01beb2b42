"""A replay that a person attends at the terminal, and one that a program attends by HTTP."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Command
from tests.support.processes import running_module
from tests.support.screen import on_a_terminal

AGENT = """
import os, sys, urllib.request
for number in (1, 2, 3):
    print(urllib.request.urlopen(f"{sys.argv[1]}/{number}", timeout=60).read()[:40], flush=True)
"""


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """A recording of three look-ups; the server is gone."""
    command = Command(tmp_path)
    for name, value in command.environment.items():
        monkeypatch.setenv(name, value)
    with running_module("tests.support.provider") as provider:
        recorded = command.run("record", "--name", "three", "--", sys.executable, "-c", AGENT, provider.url)
        assert recorded.code == 0, recorded.err
    return command


def test_a_person_looks_changes_and_goes_on(command: Command) -> None:
    with on_a_terminal([sys.executable, "-m", "proxy", "replay", "three", "--until", "2"]) as screen:
        screen.wait_for(b"step 2 waits: GET ")
        screen.type(b"set nonsense\n")
        screen.wait_for(b"no place and value")
        screen.type(b"set =changed\n")
        screen.wait_for(b"the whole body set")
        screen.type(b"n\n")
        screen.wait_for(b"step 3 waits: GET ")
        screen.type(b"c\n")
        assert screen.exit_code() == 0, screen.shown
    assert b"b'\"changed\"'" in screen.shown
    assert b"answered otherwise by hand: step 2" in screen.shown
    assert b"REPLAYED: all 3" in screen.shown


def test_a_person_ends_it(command: Command) -> None:
    with on_a_terminal([sys.executable, "-m", "proxy", "replay", "three", "--step"]) as screen:
        screen.wait_for(b"step 1 waits: GET ")
        screen.type(b"q\n")
        assert screen.exit_code() != 0, screen.shown
    assert b"STOPPED by hand at step 1" in screen.shown


def test_a_program_attends_by_http_though_the_agent_has_no_network(command: Command) -> None:
    line = command.line("replay", "three", "--step", "--control", "0")
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=command.environment) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        said = process.stderr.readline().decode()
        found = re.search(r"control API on (http://[\d.:]+), token (\S+)", said)
        assert found, said
        call = caller(found[1], found[2])
        for number in (1, 2, 3):
            assert call("/v1/paused?wait=30", None)["paused"]["step"] == number
            assert call("/v1/go", {"action": "next", "body": f"by hand {number}"}) == {"gone": number}
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err.decode()
    assert out.decode().splitlines() == [f"b'by hand {number}'" for number in (1, 2, 3)]


def caller(url: str, token: str) -> Callable[[str, object], Any]:
    """Asks the API past any proxy."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def call(path: str, asked: object) -> Any:  # noqa: ANN401  # JSON
        content = None if asked is None else json.dumps(asked).encode()
        asking = urllib.request.Request(url + path, content, {"Authorization": f"Bearer {token}"})
        with direct.open(asking, timeout=60) as answer:
            return json.load(answer)

    return call


def test_without_anybody_to_ask_it_does_not_start(command: Command) -> None:
    done = subprocess.run(
        command.line("replay", "three", "--step"),
        env=command.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    assert (done.returncode, "no terminal to ask at" in done.stderr) == (2, True), done.stderr
    assert command.run("replay", "three", "--control", "0").code == 2

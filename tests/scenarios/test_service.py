"""`edgetape proxy` as a process: many agents on one recorder, and who may use it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.processes import Running
from tests.support.provider import Provider

PYTHON = sys.executable


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


def fetch(url: str) -> str:
    """A Python program that fetches a URL with the standard library and prints its length."""
    return f"import urllib.request; print(len(urllib.request.urlopen('{url}', timeout=30).read()))"


@pytest.fixture
def service(command: Command) -> Iterator[Running]:
    with command.serving("--port", "0", "--idle", "600") as running:
        yield running


def through(service: Running, name: str, url: str) -> str:
    """Fetch a URL with curl through the service, as the run NAME."""
    proxy = f"http://{name}:x@127.0.0.1:{service.port}"
    done = subprocess.run(
        ["curl", "-sS", "--noproxy", "", "-x", proxy, url], capture_output=True, text=True, timeout=30, check=True
    )
    return done.stdout


def test_one_service_records_many_agents_and_closes_their_runs_at_its_end(
    command: Command, service: Running, provider: Provider
) -> None:
    assert "/a1" in through(service, "alpha", provider.url + "/a1")
    assert "/b1" in through(service, "beta", provider.url + "/b1")
    assert "/a2" in through(service, "alpha", provider.url + "/a2")
    assert service.stop() == 0
    assert {run["name"]: (run["steps"], run["closed"] is not None) for run in command.runs()} == {
        "alpha": (2, True),
        "beta": (1, True),
    }
    assert command.run("verify").code == 0


def test_the_service_takes_what_env_says(command: Command, service: Running, provider: Provider) -> None:
    script = command.run("env", "--name", "mine", "--port", str(service.port)).out
    done = subprocess.run(
        ["sh", "-c", f'{script}\n"{PYTHON}" -c "{fetch(provider.url)}"'],
        capture_output=True,
        text=True,
        env=command.environment,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert service.stop() == 0
    assert command.run("show", "mine").code == 0


def test_a_busy_port_is_one_clear_sentence(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = command.run("proxy", "--port", str(port))
        assert said.code == 3
        assert said.err.startswith("edgetape: ")
        assert str(port) in said.err.splitlines()[0]
        said = command.run("record", "--port", str(port), "--", "true")
        assert said.code == 125
        assert str(port) in said.err.splitlines()[0]


def test_an_address_that_others_reach_wants_a_token(command: Command) -> None:
    said = command.run("proxy", "--host", "0.0.0.0", "--port", "0")
    assert said.code == 2
    assert "--token" in said.err
    assert not command.store.exists()


def test_a_wrong_token_is_refused_and_not_recorded(command: Command, provider: Provider) -> None:
    with command.serving("--port", "0", "--token", "the-right-one") as service:
        proxy = f"http://me:wrong@127.0.0.1:{service.port}"
        done = subprocess.run(
            ["curl", "-s", "-o", os.devnull, "-w", "%{http_code}", "--noproxy", "", "-x", proxy, provider.url],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert done.stdout == "407"
    assert provider.seen() == ()
    assert command.runs() == []


def test_a_run_is_closed_when_nothing_came_for_long(command: Command, provider: Provider) -> None:
    with command.serving("--port", "0", "--idle", "0.2") as service:
        through(service, "short", provider.url)
        deadline = time.monotonic() + 60
        while command.runs()[0]["closed"] is None and time.monotonic() < deadline:
            time.sleep(0.2)
        assert [run["reason"] for run in command.runs()] == ["idle"]
        through(service, "short", provider.url)
    assert [run["name"] for run in command.runs()] == ["short", "short"]

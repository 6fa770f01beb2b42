"""`edgetape record` and `edgetape proxy` with real processes: what passes through, and what goes wrong in words."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.command import SECONDS_MAX, Command
from tests.support.provider import Provider

PYTHON = sys.executable


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


def fetch(url: str) -> str:
    """A Python program that fetches a URL with the standard library and prints its length."""
    return f"import urllib.request; print(len(urllib.request.urlopen('{url}', timeout=30).read()))"


def test_stdin_stdout_stderr_and_exit_code_pass_through(command: Command) -> None:
    program = "import sys; sys.stdout.write(sys.stdin.read().upper()); sys.stderr.write('oops'); sys.exit(7)"
    said = command.run("-q", "record", "--", PYTHON, "-c", program, given="as it is\n")
    assert (said.code, said.out) == (7, "AS IT IS\n")
    assert said.err.startswith("oops")


@pytest.mark.parametrize(
    "argv, code, sentence",
    [
        (["no-such-program"], 127, "no-such-program was not found"),
        (["/"], 126, "it may not be executed"),
        ([], 2, "no command to record"),
    ],
)
def test_a_command_that_cannot_run_is_told_as_env_does(
    argv: list[str], code: int, sentence: str, command: Command
) -> None:
    said = command.run("record", "--", *argv)
    assert (said.code, said.out) == (code, "")
    assert sentence in said.err
    assert "Traceback" not in said.err


def test_c097_a_record_that_saw_nothing_says_so_with_the_likely_cause(command: Command) -> None:
    said = command.run("record", "--", "true")
    assert said.code == 0
    assert "warning: no exchange was recorded: nothing connected to the recorder" in said.err
    assert "hint: some clients ignore HTTPS_PROXY" in said.err


def test_a_client_that_distrusts_us_is_named_by_host(
    command: Command, tls_provider: Provider, upstream_root: Path
) -> None:
    url = f"https://localhost:{tls_provider.port}/"
    said = command.run(
        "record", "--upstream-ca", str(upstream_root), "--", "curl", "-s", "--cacert", str(upstream_root), url
    )
    assert said.code == 60  # curl: the peer's certificate cannot be verified
    assert "no exchange was recorded: a client does not trust edgetape's authority for localhost" in said.err


def test_a_server_with_a_bad_certificate_is_recorded_as_a_failure(command: Command, tls_provider: Provider) -> None:
    url = f"https://localhost:{tls_provider.port}/"
    command.run("record", "--", "curl", "-s", "-o", os.devnull, url)
    shown = command.run("show", "last").out
    assert "no trusted TLS connection came about" in shown
    assert tls_provider.seen() == ()


@pytest.mark.parametrize("client, plain", [("curl", ""), ("requests", ""), ("urllib", "1")])
def test_clients_are_recorded_unchanged(
    client: str, plain: str, command: Command, tls_provider: Provider, upstream_root: Path
) -> None:
    command = replace(command, variables={"EDGETAPE_PLAIN": plain})  # and with none of what makes a recorder fast
    url = f"https://localhost:{tls_provider.port}/rules?jurisdiction=GB"
    programs = {
        "curl": ["curl", "-s", url],
        "requests": [PYTHON, "-c", f"import requests; print(requests.get('{url}', timeout=30).text)"],
        "urllib": [PYTHON, "-c", fetch(url)],
    }
    said = command.run("record", "--upstream-ca", str(upstream_root), "--", *programs[client])
    assert said.code == 0, said.err
    assert "1 exchange" in said.err
    (seen,) = tls_provider.seen()
    assert seen.header("proxy-authorization") is None
    replayed = command.run("replay", "last")
    assert (replayed.code, replayed.out) == (0, said.out), replayed.err


def test_a_record_within_a_record_is_its_child(command: Command, provider: Provider) -> None:
    inner = command.line("record", "--name", "inner", "--", PYTHON, "-c", fetch(provider.url + "/inner"))
    said = command.run("record", "--name", "outer", "--", *inner)
    assert said.code == 0, said.err
    by_name = {run["name"]: run for run in command.runs()}
    assert by_name["inner"]["steps"] == 1
    assert by_name["inner"]["parent"]["run"] == by_name["outer"]["id"]
    assert command.run("verify").code == 0


def test_the_same_name_twice_is_two_runs_and_the_name_means_the_newer(command: Command, provider: Provider) -> None:
    for path in ("/one", "/two"):
        assert command.run("record", "--name", "same", "--", PYTHON, "-c", fetch(provider.url + path)).code == 0
    assert [run["name"] for run in command.runs()] == ["same", "same"]
    assert "/two" in command.run("show", "same").out


def test_two_recordings_and_a_replay_share_one_store(command: Command, provider: Provider) -> None:
    first = ["record", "--name", "first", "--", PYTHON, "-c", fetch(provider.url + "/first")]
    assert command.run(*first).code == 0
    lines = [
        ["record", "--name", "left", "--", PYTHON, "-c", fetch(provider.url + "/left")],
        ["record", "--durability", "group", "--name", "right", "--", PYTHON, "-c", fetch(provider.url + "/right")],
        ["replay", "first"],
    ]
    started = [
        subprocess.Popen(
            command.line(*line),
            cwd=command.folder,
            env=command.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for line in lines
    ]
    ended = [(process.communicate(timeout=SECONDS_MAX)[1], process.returncode) for process in started]
    assert [code for _, code in ended] == [0, 0, 0], ended
    assert {run["name"]: run["steps"] for run in command.runs()} == {"first": 1, "left": 1, "right": 1, None: 1}
    assert command.run("verify").code == 0


def test_a_full_disk_is_our_failure_and_nothing_goes_unrecorded(command: Command, provider: Provider) -> None:
    program = (
        "import urllib.error, urllib.request, random\n"
        "codes = []\n"
        "for number in range(60):\n"
        f"    request = urllib.request.Request('{provider.url}/echo', random.randbytes(100_000))\n"
        "    try:\n"
        "        codes.append(urllib.request.urlopen(request, timeout=30).status)\n"
        "    except urllib.error.HTTPError as error:\n"
        "        codes.append(error.code)\n"
        "        break\n"
        "print(len(codes), codes[-1])\n"
    )
    limit = 2_000_000

    def full_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        command.line("record", "--", PYTHON, "-c", program),
        cwd=command.folder,
        env=command.environment,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        preexec_fn=full_disk,
        check=False,
    )
    assert done.returncode == 125, done.stderr
    answered, last = map(int, done.stdout.split())
    assert last == 503
    assert "the recording is incomplete" in done.stderr
    assert len(provider.seen()) <= answered
    verified = command.run("verify", "last")  # a gap is small, and may have found room
    assert (verified.code, "GAPS" in verified.out) in ((0, False), (30, True)), verified.out
    shown = command.json("show", "last")
    assert isinstance(shown, dict)
    assert sum(step["status"] == "200" for step in shown["steps"]) == answered - 1


def test_a_missing_key_is_told_and_no_new_one_is_made(command: Command) -> None:
    assert command.run("record", "--", "true").code == 0
    for path in (command.folder / "keys").glob("*.pem"):
        path.unlink()
    said = command.run("record", "--", "true")
    assert said.code == 125
    assert "is missing" in said.err
    assert list((command.folder / "keys").glob("*.pem")) == []


def test_ctrl_c_ends_agent_and_run(command: Command) -> None:
    program = "import sys, time; print('ready', flush=True); time.sleep(60)"
    process = subprocess.Popen(
        command.line("record", "--name", "cut", "--", PYTHON, "-c", program),
        cwd=command.folder,
        env=command.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert [(run["reason"], run["exit_code"]) for run in command.runs()] == [("agent_exit", 130)]


def test_term_reaches_the_agent_and_closes_the_run(command: Command) -> None:
    program = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    process = subprocess.Popen(
        command.line("record", "--", PYTHON, "-c", program),
        cwd=command.folder,
        env=command.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 9
    assert [(run["reason"], run["exit_code"]) for run in command.runs()] == [("agent_exit", 9)]


OUTLIVED = """
import subprocess, sys, time, urllib.request
def fetch(path):
    return urllib.request.urlopen(sys.argv[1] + path, timeout=60).read()
slow = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1] + '/fault/timeout', timeout=60)"
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
subprocess.Popen([sys.executable, "-c", slow, sys.argv[1]], **quiet)
while b"/fault/timeout" not in fetch("/_seen"):
    time.sleep(0.05)
"""


def test_what_outlives_the_agent_is_cut_and_said_to_be(command: Command, provider: Provider) -> None:
    said = command.run("record", "--", PYTHON, "-c", OUTLIVED, provider.url)
    assert said.code == 0, said.err
    assert "1 exchange or tunnel of processes that outlived the agent went on, and had to be cut" in said.err
    assert "edgetape proxy" in said.err

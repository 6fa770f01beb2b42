"""A recording that is refused leaves nothing behind: no run, no leaf, no folder; and one inside a replay joins it."""

import json
import os
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from store.database import FILE_NAME
from tests.support.command import Command
from tests.support.provider import Provider

FETCH = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=30).status)"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """A command over a store that holds one empty run; temporary folders are made in `scratch`."""
    (tmp_path / "scratch").mkdir()
    made = Command(tmp_path, {"TMPDIR": str(tmp_path / "scratch")})
    assert made.run("record", "--", "true").code == 0
    return made


def content(command: Command) -> tuple[list[object], list[object]]:
    """Every leaf and every run of the store."""
    connection = sqlite3.connect(command.store / FILE_NAME)
    try:
        leaves = connection.execute("SELECT leaf FROM leaves ORDER BY position").fetchall()
        return leaves, connection.execute("SELECT * FROM runs").fetchall()
    finally:
        connection.close()


def refused(command: Command, code: int, *words: str, says: str) -> None:
    before = content(command)
    said = command.run("record", *words)
    assert (said.code, "Traceback" in said.err) == (code, False), said.err
    assert says in said.err
    assert content(command) == before
    assert list((command.folder / "scratch").iterdir()) == []


def test_a_recording_that_is_refused_leaves_nothing_behind(command: Command, tmp_path: Path) -> None:
    plain, orphan = tmp_path / "plain.sh", tmp_path / "orphan.sh"
    plain.write_text("echo hello")
    orphan.write_text("#!/no/such/interpreter\necho hello")
    orphan.chmod(0o755)
    refused(command, 127, "--", "no-such-program", says="was not found")
    refused(command, 127, "--", str(tmp_path / "none.sh"), says="was not found")
    refused(command, 126, "--", str(tmp_path), says="may not be executed")
    refused(command, 126, "--", str(orphan), says="interpreter in its first line does not exist")
    if os.getuid() or not os.access(plain, os.X_OK):
        refused(command, 126, "--", str(plain), says="may not be executed")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused(command, 125, "--port", port, "--", "true", says="another program has that port")
    (tmp_path / "roots.pem").write_text("no certificate")
    refused(command, 125, "--upstream-ca", str(tmp_path / "roots.pem"), "--", "true", says="no certificate")
    refused(command, 2, "--label", "novalue", "--", "true", says="KEY=VALUE")


def test_a_name_that_a_run_could_not_be_found_by_is_refused(command: Command) -> None:
    refused(command, 2, "--name", "n" * 1025, "--", "true", says="at most 1,024 bytes, this one has 1,025")
    refused(command, 2, "--workflow", "é" * 600, "--", "true", says="at most 1,024 bytes")
    line = command.line("record", "--name", os.fsdecode(b"caf\xe9"), "--", "true")
    done = subprocess.run(line, env=command.environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "is no UTF-8" in done.stderr
    assert command.run("record", "--name", "n" * 1024, "--", "true").code == 0
    assert command.runs()[0]["name"] == "n" * 1024


def test_a_recording_inside_a_replay_joins_it(command: Command, provider: Provider) -> None:
    inner = [sys.executable, "-m", "proxy", "record", "--", sys.executable, "-c", FETCH, provider.url + "/inner"]
    recorded = command.run("record", "--name", "outer", "--", *inner)
    assert recorded.code == 0, recorded.err
    assert recorded.out.split() == ["200"]
    before = [run["id"] for run in command.runs() if run["mode"] == "record"]
    replayed = command.run("replay", "outer")
    assert (replayed.code, replayed.out.split()) == (0, ["200"]), replayed.err
    assert "inside a replay nothing is recorded" in replayed.err
    assert [run["id"] for run in command.runs() if run["mode"] == "record"] == before
    assert len(provider.seen()) == 1


def test_a_long_lived_recorder_inside_a_replay_is_refused(command: Command) -> None:
    inside = Command(command.folder, {"EDGETAPE_REPLAY": json.loads(command.run("runs", "--json").out)[0]["id"]})
    said = inside.run("proxy", "--port", "0")
    assert said.code == 2
    assert "inside a replay" in said.err

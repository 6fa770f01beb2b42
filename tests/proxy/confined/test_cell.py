"""A recorded agent with no way out but the recorder: what tries another is refused and named."""

from pathlib import Path

import pytest

from proxy.confined.cell import Cell, Seen
from proxy.confined.confinement import refusal
from tests.support.command import Command

AGENT = """
import http.server, os, socket, subprocess, sys, threading, time, urllib.request
print(urllib.request.urlopen("http://edgetape.internal/v1/now").status)
own = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=own.serve_forever, daemon=True).start()
print(urllib.request.urlopen(f"http://127.0.0.1:{own.server_port}/").status)
for _ in range(2):
    try:
        socket.create_connection(("192.0.2.7", 443), 5)
    except OSError as error:
        print(error.errno is not None)
child = "import urllib.request; urllib.request.urlopen('http://192.0.2.8/', timeout=5)"
print(subprocess.run([sys.executable, "-c", child], env={}, stderr=subprocess.DEVNULL).returncode)
time.sleep(1)  # a server of a moment may be missed: it is looked for ten times a second
sys.exit(7)
"""


def test_c109_what_tries_to_get_past_the_recorder_is_refused_and_named_children_too(tmp_path: Path) -> None:
    refused = refusal()
    if refused is not None:
        pytest.skip(refused.reason)
    command = Command(tmp_path)
    (tmp_path / "agent.py").write_text(AGENT)
    said = command.run("record", "--enforce", "--", "python3", "agent.py")
    assert said.code == 43, said.err
    assert said.out.split() == ["200", "200", "True", "True", "1"]
    assert "REFUSED: the agent tried to get past the recorder: TCP to 192.0.2.7:443 (2 times)" in said.err
    assert "TCP to 192.0.2.8:80" in said.err  # a child that was given an empty environment
    assert "servers of the agent's own listened inside its enclosure (port " in said.err
    (recorded,) = command.runs()
    assert recorded["exit_code"] == 7


def test_the_agents_environment_is_told_once_and_only_to_the_cell(tmp_path: Path) -> None:
    cell = Cell(tmp_path)
    command = cell.command([8080, 8080, 9090], ["agent", "--flag"], {"EDGETAPE_TOKEN": "s3cret"})
    assert command[-4:] == [str(tmp_path), "8080,9090", "agent", "--flag"]
    assert "s3cret" not in " ".join(command)
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o077 == 0
    assert cell.taken()["EDGETAPE_TOKEN"] == "s3cret"
    assert list(tmp_path.iterdir()) == []
    assert cell.seen() == Seen()


def test_an_open_port_is_for_an_agent_that_is_enclosed(tmp_path: Path) -> None:
    said = Command(tmp_path).run("record", "--allow-local", "8080", "--", "true")
    assert said.code == 2
    assert "--enforce" in said.err

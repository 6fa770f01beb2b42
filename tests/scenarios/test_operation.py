"""A recorder as a service: settings from a file, read anew while it runs; watched, and ended without a loss."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

from tests.scenarios.kept import proven
from tests.support.command import Command
from tests.support.processes import Running
from tests.support.provider import Options, Provider, serving

TOKEN = "sixteen-characters-or-more"


def settings(**members: object) -> str:
    return "[proxy]\n" + "".join(f"{name.replace('_', '-')} = {json.dumps(value)}\n" for name, value in members.items())


def status(service: Running, url: str, token: str = TOKEN) -> str:
    """The status that curl gets through the service."""
    proxy = f"http://mine:{token}@127.0.0.1:{service.port}"
    line = ["curl", "-s", "-o", os.devnull, "-w", "%{http_code}", "--noproxy", "", "-x", proxy, "-m", "30", url]
    return subprocess.run(line, capture_output=True, text=True, check=False).stdout


def told(service: Running, path: str) -> str:
    """What the admin listener says."""
    with urllib.request.urlopen(f"{service.ready['admin']}{path}", timeout=30) as answer:
        return str(answer.read().decode())


def events(service: Running) -> list[dict[str, object]]:
    """The log, each line an object."""
    return [json.loads(line) for line in service.stderr().splitlines()]


def until_reloads(service: Running, count: int) -> None:
    deadline = time.monotonic() + 60
    while f"edgetape_reloads_total {count}\n" not in told(service, "/metrics"):
        assert time.monotonic() < deadline, service.stderr()
        time.sleep(0.05)


def test_a_service_is_told_by_a_file_and_by_a_signal_and_ends_when_what_goes_on_has_ended(tmp_path: Path) -> None:
    with serving(Options()) as provider:
        _drive(tmp_path, provider)


def _drive(tmp_path: Path, provider: Provider) -> None:
    file, tokens = tmp_path / "edgetape.toml", tmp_path / "tokens"
    common: dict[str, object] = {"port": 0, "admin": "0", "log_format": "json", "tokens": "tokens", "drain": 20}
    tokens.write_text(f"research {TOKEN}\n")
    file.write_text(settings(**common, allow_host=["nowhere.example"]))
    command = Command(tmp_path, {"EDGETAPE_CONFIG": str(file)})
    with command.serving() as service:
        assert told(service, "/readyz") == "ok\n"
        assert status(service, provider.url + "/1") == "403"
        assert status(service, provider.url + "/2", "no-token-of-theirs") == "407"

        file.write_text(settings(**common, allow_host=["127.0.0.1"], host="127.0.0.2"))
        tokens.write_text(f"research {TOKEN}\nbilling another-token-of-theirs\n")
        os.kill(service.pid, signal.SIGHUP)
        until_reloads(service, 1)
        assert status(service, provider.url + "/3", "another-token-of-theirs") == "200"
        file.write_text("[proxy]\nallow-host = [")
        os.kill(service.pid, signal.SIGHUP)
        way, url = f"http://mine:{TOKEN}@127.0.0.1:{service.port}", f"{provider.url}/fault/slow-sse?n=6&ms=200"
        with subprocess.Popen(["curl", "-sSN", "--noproxy", "", "-x", way, url], stdout=subprocess.PIPE) as slow:
            assert slow.stdout is not None
            begun = slow.stdout.read(1)
            os.kill(service.pid, signal.SIGTERM)
            whole = begun + slow.stdout.read()
        assert slow.returncode == 0
        assert whole.count(b"data:") >= 6
        service.process.wait(60)
        said = events(service)
    assert {line.get("event") for line in said} >= {"run.opened", "run.closed", "reloaded", "ending"}
    assert any("start only" in str(line.get("message")) for line in said)
    assert any("settings stay as they were" in str(line.get("message")) for line in said)
    assert TOKEN not in json.dumps(said)
    ended = sorted((run["name"], run["steps"]) for run in command.runs())
    assert ended == [("mine", 1), ("mine", 2)]
    proven(command.store)

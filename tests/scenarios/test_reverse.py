"""Clients that ignore proxies: recorded through a base URL, and replayed the same way."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.scenarios.kept import kept, proven
from tests.support.command import Command
from tests.support.provider import Options, serving

AGENT = """
import http.client, json, os, urllib.request
from urllib.parse import urlsplit

base = os.environ["MODEL_BASE_URL"]
url, body = urlsplit(base), json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]})
line = http.client.HTTPConnection(url.hostname, url.port, timeout=30)  # as a client that knows no proxy
line.request("POST", url.path + "/chat/completions", body, {"Content-Type": "application/json"})
print(json.loads(line.getresponse().read())["choices"][0]["message"]["content"])
with urllib.request.urlopen(base + "/models", timeout=30) as answer:  # as one that knows both
    print(len(json.load(answer)["data"]))
"""


def test_a_tape_of_a_client_that_ignores_proxies_replays_the_same_way(tmp_path: Path) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT)
    with serving(Options()) as provider:
        command = Command(tmp_path, {"MODEL_BASE_URL": f"{provider.url}/v1"})
        recorded = command.run("record", "--reverse", provider.url, "--", sys.executable, str(agent))
        assert recorded.code == 0, recorded.err
        places = [exchange.place for exchange in kept(command.store)]
        assert places == [f"{provider.url}/v1/chat/completions", f"{provider.url}/v1/models"]
        assert [host for name, host in kept(command.store)[0].headers if name == b"Host"] == [
            provider.url.removeprefix("http://").encode()
        ]
    proven(command.store)
    replayed = command.run("replay", "last")
    assert (replayed.code, replayed.out) == (0, recorded.out), replayed.err
    assert "2 recorded exchanges; requests 2, matched 2" in replayed.err

"""Nothing that the wire or the agent brings is too long or too strange to be recorded, proved and replayed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.scenarios.kept import kept, proven
from tests.support.command import Command
from tests.support.provider import Provider

AGENT = str(Path(__file__).with_name("wide_agent.py"))
ROOM = ("a" * 100_000, "b" * 100_000, os.fsdecode(b"caf\xe9 \xff"), "", "two\nlines")


def test_wide_words_and_words_that_are_no_text_record_verify_show_and_replay(
    tmp_path: Path, provider: Provider, tls_provider: Provider, upstream_root: Path
) -> None:
    command = Command(tmp_path)
    secure = f"https://localhost:{tls_provider.port}"
    agent = [sys.executable, AGENT, provider.url, secure, *ROOM]
    recorded = command.run("record", "--upstream-ca", str(upstream_root), "--", *agent)
    assert recorded.code == 0, recorded.err[-2000:]
    assert recorded.out.count("HTTP/1.1 200 OK") == 6
    for server in (provider, tls_provider):
        query, headers, strange = server.seen()
        assert len(query.target) > 100_000
        assert len(headers.head) > 79_000
        assert strange.line == b"GET /caf\xe9/\xff\xfe?name=\xe9 HTTP/1.1"
        assert (b"User-Agent", b"caf\xe9") in strange.headers
    proven(command.store)
    for one in kept(command.store)[4:]:
        assert one.place.endswith("/caf\xe9/\xff\xfe")
        assert one.query == b"name=\xe9"
        assert (b"User-Agent", b"caf\xe9") in one.headers
    shown = command.run("show", "last")
    assert (shown.code, shown.out.count("\n") < 60) == (0, True)
    assert command.run("show", "last", "5").code == 0
    assert command.run("show", "last", "3", "--json").code == 0
    assert command.run("runs", "--json").code == 0
    replayed = command.run("replay", "last")
    assert (replayed.code, replayed.out) == (0, recorded.out), replayed.err[-2000:]

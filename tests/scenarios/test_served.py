"""A recorder whose store is in PostgreSQL: the server is lost under it, comes back, and then the recorder is killed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import psycopg

from store.core.address import parse
from store.database.server import home
from store.reader import Reader
from store.verify import verify
from store.writer import Writer
from tests.support.command import Command
from tests.support.postgres import Postgres
from tests.support.provider import Provider

AGENT = """
import os, sys, urllib.error, urllib.request
for line in sys.stdin:
    try:
        print(urllib.request.urlopen(line.strip(), b"{}").status, flush=True)
    except urllib.error.HTTPError as error:
        print(error.code, flush=True)
"""


def test_a_lost_server_is_told_by_a_gap_and_a_killed_recorder_loses_nothing(
    tmp_path: Path, postgres: Postgres, provider: Provider
) -> None:
    schema = postgres.schema()
    with postgres.connect() as owner:
        owner.execute("CREATE ROLE recorder LOGIN")
        owner.execute(f"GRANT ALL ON SCHEMA {schema} TO recorder")
        url = postgres.url(schema, "recorder")
        command = Command(tmp_path, {"EDGETAPE_STORE": url, "EDGETAPE_HOMES": str(tmp_path / "homes")})
        line = command.line("record", "--durability", "strict", "--", "python3", "-c", AGENT)
        with subprocess.Popen(
            line,
            cwd=tmp_path,
            env=command.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        ) as recorder:
            assert recorder.stdin is not None
            assert recorder.stdout is not None

            def ask(path: str) -> str:
                assert recorder.stdin is not None
                assert recorder.stdout is not None
                recorder.stdin.write(f"{provider.url}{path}\n")
                return recorder.stdout.readline().strip()

            assert ask("/one") == "200"
            switch(owner, "NOLOGIN")
            assert ask("/two") == "503"
            switch(owner, "LOGIN")
            assert ask("/three") == "200"
            recorder.kill()
    keys, store = tmp_path / "keys", home(parse(url), tmp_path / "homes")
    verdict = verify(store, keys)
    assert verdict.exit_code == 30
    assert {"OPEN_RUN", "GAPS"} <= dict(verdict.flags).keys()
    Writer.open(store, keys).close()
    with Reader.open(store, keys) as reader:
        assert reader.find("last").reason == "crash_recovered"
    assert {request.path for request in provider.seen()} == {"/one", "/three"}
    assert [str(each) for each in verify(store, keys).findings] == []


def switch(owner: psycopg.Connection[tuple[object, ...]], word: str) -> None:
    """Lets the recorder in, or throws it out and keeps it out, as a server that is down does."""
    owner.execute(f"ALTER ROLE recorder {word}")  # type: ignore[arg-type, unused-ignore]
    query = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'recorder'"
    owner.execute(query)

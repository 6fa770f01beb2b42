"""What people get wrong, and what goes wrong under them, is one clear sentence and the right exit code."""

from __future__ import annotations

import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from store.database import FILE_NAME
from tests.scenarios.kept import kept, proven
from tests.store.verify.attacker import Attacker
from tests.support.command import Command, Said
from tests.support.provider import Provider

READERS = (("runs",), ("show", "last"), ("verify",), ("replay", "last"))
FETCH = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=30).status)"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """A command over a store that holds one empty run."""
    made = Command(tmp_path)
    assert made.run("record", "--", "true").code == 0
    return made


def is_clear(said: Said, code: int, *words: str) -> None:
    """Fails unless a command ended with that code and said these words, in a sentence of ours."""
    assert said.code == code, said.err
    assert said.err.startswith("edgetape: "), said.err
    assert "Traceback" not in said.err
    assert "unforeseen" not in said.err
    for word in words:
        assert word in said.err


def test_a_store_of_a_newer_version_is_refused_and_left_as_it_is(command: Command) -> None:
    path = command.store / FILE_NAME
    with sqlite3.connect(path) as database:
        database.execute("UPDATE _sqlite_migrations SET name = 'm9999_from_tomorrow' WHERE rowid = 1")
    database.close()
    before = path.read_bytes()
    for words in READERS:
        is_clear(command.run(*words), 125 if words[0] == "replay" else 3, "newer version of edgetape", "upgrade")
    is_clear(command.run("record", "--", "true"), 125, "newer version of edgetape", "upgrade")
    assert path.read_bytes() == before


def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(command: Command) -> None:
    path = command.store / FILE_NAME
    for beside in command.store.glob(FILE_NAME + "-*"):
        beside.unlink()
    path.write_bytes(b"a letter to the lawyer\n" * 500)
    before = path.read_bytes()
    is_clear(command.run("show", "last"), 3, "cannot be used", "not a database")
    is_clear(command.run("record", "--", "true"), 125, "cannot be used", "not a database")
    assert path.read_bytes() == before


def test_what_is_not_there_is_named(command: Command) -> None:
    elsewhere = str(command.folder / "nowhere")
    is_clear(command.run("--store", elsewhere, "runs"), 3, "there is no store at ")
    is_clear(command.run("--store", elsewhere, "replay", "last"), 125, "there is no store at ")
    for words in (("show", "nobody"), ("verify", "nobody"), ("replay", "nobody"), ("debug", "locate", "nobody", "1")):
        is_clear(command.run(*words), 2, "there is no run 'nobody'")
    is_clear(command.run("show", "last", "7"), 2, "no step 7")
    is_clear(command.run("record", "--upstream-ca", "no-such.pem", "--", "true"), 2, "no-such.pem")
    (command.folder / "letter").write_text("no certificate")
    letter = str(command.folder / "letter")
    is_clear(command.run("record", "--upstream-ca", letter, "--", "true"), 125, "holds no certificate in PEM")
    is_clear(command.run("--store", letter, "record", "--", "true"), 2, "letter")
    assert not Path(elsewhere).exists()


def test_a_key_or_an_authority_that_is_damaged_is_told_and_not_replaced(command: Command) -> None:
    (key,) = (command.folder / "keys").glob("*.pem")
    sound = key.read_bytes()
    key.write_bytes(b"-----BEGIN NONSENSE-----\n")
    is_clear(command.run("record", "--", "true"), 125, "key")
    assert key.read_bytes() == b"-----BEGIN NONSENSE-----\n"
    key.write_bytes(sound)
    authority = command.folder / "authority" / "mitmproxy-ca.pem"
    authority.write_bytes(b"nothing")
    is_clear(command.run("record", "--", "true"), 125, "authority")
    is_clear(command.run("replay", "last"), 125, "authority")
    assert authority.read_bytes() == b"nothing"
    assert command.run("verify").code == 0


def test_a_recording_that_was_changed_is_not_replayed_unless_that_is_asked_for(command: Command) -> None:
    attacker = Attacker(command.store)
    ((run,),) = attacker.db.execute("SELECT id FROM runs").fetchall()
    attacker.edit(run, 1, lambda record: record.update(reason="operator"), rechain=False)
    attacker.put(run, 1, attacker.raws(run)[1], bytes(32))
    attacker.close()
    marker = command.folder / "started"
    words = ("replay", "last", "--", "touch", str(marker))
    is_clear(command.run(*words), 125, f"run {run} is not as it was recorded: event 1", f"`edgetape verify {run}`")
    assert not marker.exists()
    assert command.run("replay", "--unverified", *words[1:]).code == 0
    assert marker.exists()


def test_streams_that_the_caller_closed_are_no_reason_to_fail(command: Command) -> None:
    closed = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"]
    agent = ["sh", "-c", f"ls /proc/$$/fd > '{command.folder}/open'; exit 6"]
    for words in (("record", "--", *agent), ("replay", "last")):
        done = subprocess.run([*closed, *command.line(*words)], env=command.environment, timeout=60, check=False)
        assert done.returncode == 6
    assert not {"0", "2"} & set((command.folder / "open").read_text().split())
    proven(command.store)


def test_why_it_cannot_listen_is_said_in_one_sentence_of_ours(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for words, code in ((("proxy",), 3), (("record", "--", "true"), 125)):
            said = command.run(words[0], "--port", str(port), *words[1:])
            is_clear(said, code, f"cannot listen on 127.0.0.1 port {port}: another program has that port\nhint: ")
    for host in ("192.0.2.1", "no-such-host.invalid"):
        said = command.run("proxy", "--host", host, "--token", "t", "--port", "0")
        is_clear(said, 3, f"cannot listen on {host} port 0: that is no address of this machine\nhint: ")


def test_a_store_that_takes_no_run_is_what_is_told_not_what_follows_from_it(command: Command) -> None:
    with sqlite3.connect(command.store / FILE_NAME) as database:
        database.execute("CREATE TRIGGER full BEFORE INSERT ON runs BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
    database.close()
    for words in (("record", "--", "true"), ("rebase", "last", "--yes")):
        said = command.run(*words)
        assert said.code == 125
        assert f"edgetape: the store {command.store / FILE_NAME} cannot be used: the disk is full" in said.err


def test_a_place_that_takes_no_bundle_is_named_not_the_store(command: Command) -> None:
    (command.folder / "file").touch()
    path = command.folder / "file" / "x.zip"
    for words in (("export", "last", "-o"), ("pin", "last", "-o")):
        is_clear(command.run(*words, str(path)), 3, f"the bundle cannot be written to {path}", "\nhint: ")


def test_a_file_that_is_not_there_is_thought_of_where_no_run_is_found(command: Command) -> None:
    for word in ("nightly.tape", "tapes/nightly"):
        is_clear(command.run("replay", word), 2, f"there is no run {word!r}", "if a file is meant: it is not there")


HOLD = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_locked_store_is_read_at_once_and_told_to_who_wants_to_write(command: Command) -> None:
    holding = [sys.executable, "-c", HOLD, str(command.store / FILE_NAME)]
    with subprocess.Popen(holding, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        assert command.run("show", "last").code == 0
        assert command.run("verify").code == 0
        is_clear(command.run("record", "--", "touch", str(command.folder / "ran")), 125, "locked", "another program")
        other.communicate()
    assert not (command.folder / "ran").exists()
    assert command.run("record", "--", "true").code == 0
    proven(command.store)


def test_a_server_with_a_certificate_of_nobody_is_a_failure_until_its_root_is_given(
    command: Command, tls_provider: Provider, upstream_root: Path
) -> None:
    agent = [sys.executable, "-c", FETCH, f"https://localhost:{tls_provider.port}/x"]
    refused = command.run("record", "--", *agent)
    assert refused.code == 1
    assert "1 exchange (1 failed)" in refused.err
    (failed,) = kept(command.store)
    assert (failed.status, failed.failed) == (None, "tls")
    assert tls_provider.seen() == ()
    assert "no trusted TLS connection came about" in command.run("show", "last").out
    trusted = command.run("record", "--upstream-ca", str(upstream_root), "--", *agent)
    assert (trusted.code, trusted.out) == (0, "200\n"), trusted.err
    replayed = command.run("replay", refused.err.split("recorded run ")[1][:36])
    assert replayed.code == 1
    assert replayed.verdict.startswith("REPLAYED: the one recorded exchange ")
    proven(command.store)

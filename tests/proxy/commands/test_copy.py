"""A store in PostgreSQL from the command line: copied to, verified, named by a URL whose password nobody sees again."""

import os
from pathlib import Path

import pytest

from proxy.cli import run
from store.core.address import parse
from store.database.server import home
from store.reader import Reader
from tests.proxy.tape import folders, record_tape
from tests.support.command import Command
from tests.support.postgres import PASSWORD, Postgres


def test_a_store_is_copied_to_a_server_and_used_there(
    postgres: Postgres, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = folders(tmp_path)
    recorded = record_tape(place)
    url, homes = postgres.far_url(postgres.schema()), tmp_path / "homes"
    monkeypatch.setenv("EDGETAPE_HOMES", str(homes))
    assert run([*place.options, "copy", url]) == 0
    assert run([*place.options, "copy", url]) == 3
    monkeypatch.setenv("EDGETAPE_STORE", url)
    keys = f"--keys={tmp_path / 'keys'}"
    for words in (
        ["verify"],
        ["runs"],
        ["show", recorded],
        ["tag", recorded, "reviewed=yes"],
        ["erase", recorded, "--reason", "asked for"],
        ["verify", recorded, "--json"],
        ["compact"],
        ["checkpoint"],
        ["keys", "show"],
    ):
        assert run([keys, *words]) == 0, words
    assert run([keys, "debug", "locate", recorded, "1"]) == 3
    said = capsys.readouterr()
    assert "has no file to point into" in said.err
    assert "there is a store at postgresql://postgres@127.0.0.1" in said.err
    written = "".join(path.read_text(errors="replace") for path in homes.rglob("*") if path.is_file())
    for text in (said.out, said.err, written, repr(dict(os.environ))):
        assert PASSWORD not in text
        assert "canary" not in text


def test_a_confined_replay_reaches_the_server(postgres: Postgres, tmp_path: Path) -> None:
    place = folders(tmp_path)
    recorded = record_tape(place)
    url = postgres.far_url(postgres.schema())
    command = Command(tmp_path, {"EDGETAPE_STORE": url, "EDGETAPE_HOMES": str(tmp_path / "homes")})
    assert run([*place.options, f"--homes={tmp_path / 'homes'}", "copy", url]) == 0
    replayed = command.run("replay", recorded, "--no-wait", "--", "env")
    assert "NEVER REQUESTED" in replayed.verdict
    assert PASSWORD not in replayed.out + replayed.err
    assert "canary" not in replayed.out + replayed.err
    with Reader.open(home(parse(url), tmp_path / "homes"), place.keys) as reader:
        assert [info.mode for info in reader.runs()] == ["replay", "record"]


def test_a_url_that_names_no_store_is_refused_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    for url in ("postgresql://me:canary/x@host/tapes", "postgresql://me:canary@host", "postgresql://me:canary@h:x/t"):
        assert run([f"--store={url}", "runs"]) == 2
    assert run(["--store=postgresql://me:canary@127.0.0.1:1/tapes", "runs"]) == 3
    said = capsys.readouterr().err
    assert "canary" not in said
    assert "docs/postgresql.md" in said
    assert "see that the server runs" in said

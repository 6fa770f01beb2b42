"""A store in PostgreSQL from the command line: copied to, verified, named by a URL whose password nobody sees again."""

import os
from pathlib import Path

import pytest

from proxy.cli import run
from tests.proxy.tape import folders, record_tape
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
    assert run([keys, "replay", recorded]) == 2  # it would be confined, and the server is behind the network
    assert run([keys, "debug", "locate", recorded, "1"]) == 3
    said = capsys.readouterr()
    assert "a replay is confined" in said.err
    assert "has no file to point into" in said.err
    assert "there is a store at postgresql://postgres@127.0.0.1" in said.err
    written = "".join(path.read_text(errors="replace") for path in homes.rglob("*") if path.is_file())
    for text in (said.out, said.err, written, repr(dict(os.environ))):
        assert PASSWORD not in text
        assert "canary" not in text


def test_a_url_that_names_no_store_is_refused_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    for url in ("postgresql://me:canary/x@host/tapes", "postgresql://me:canary@host", "postgresql://me:canary@h:x/t"):
        assert run([f"--store={url}", "runs"]) == 2
    assert run(["--store=postgresql://me:canary@127.0.0.1:1/tapes", "runs"]) == 3
    said = capsys.readouterr().err
    assert "canary" not in said
    assert "docs/postgresql.md" in said
    assert "see that the server runs" in said

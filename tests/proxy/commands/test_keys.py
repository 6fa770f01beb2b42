"""The keys on the command line: made, shown, exported, rotated, revoked."""

import base64
import json
import shlex
import sys
from pathlib import Path

import pytest

from proxy.cli import run
from tests.proxy.tape import Folders, folders, record_tape
from tests.store.test_custody import ENDINGS, PRIVATE, command


@pytest.fixture
def place(tmp_path: Path) -> Folders:
    place = folders(tmp_path)
    record_tape(place)
    return place


def said(place: Folders, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run([*place.options, *words]) == 0
    return capsys.readouterr().out.strip()


def test_who_pinned_the_first_key_still_verifies_after_a_rotation(
    place: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    first = said(place, capsys, "keys", "export")
    second = json.loads(said(place, capsys, "keys", "rotate", "--json"))["vkey"]
    assert said(place, capsys, "keys", "export") == second != first
    record_tape(place)
    for pin in (first, second):
        assert said(place, capsys, "verify", "--pin", pin).startswith("VERIFIED (UNWITNESSED, UNTIMED) store ")


def test_it_shows_what_each_key_may_sign(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    first = said(place, capsys, "keys", "export")
    said(place, capsys, "keys", "rotate")
    assert run([*place.options, "keys", "revoke", first.split("+")[1], "--reason", "compromised"]) == 0
    assert "what it signed before stays signed" in capsys.readouterr().err
    shown = json.loads(said(place, capsys, "keys", "show", "--json"))
    assert [(key["state"], key["first"]) for key in shown["keys"]] == [
        ("revoked", 0),
        ("current", shown["keys"][0]["last"] + 1),
    ]
    assert shown["keys"][0]["vkey"] == first
    assert shown["origin"] == first.split("+")[0]
    assert len(said(place, capsys, "keys", "show").splitlines()) == 4  # heads, two that sign, the store key


def test_a_store_may_begin_with_a_key_that_a_command_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = folders(tmp_path)
    public = tmp_path / "public"
    public.write_bytes(base64.b64encode(PRIVATE.public_key().public_bytes_raw()))
    words = ["--sign-command", shlex.join(command(ENDINGS["base64"])), "--public-key", str(public)]
    pin = said(place, capsys, "keys", "init", *words)
    record_tape(place)
    assert said(place, capsys, "verify", "--pin", pin).startswith("VERIFIED")
    assert run([*place.options, "keys", "init"]) == 3
    assert "has its key" in capsys.readouterr().err
    assert list(place.keys.glob("*.pem")) == []


@pytest.mark.parametrize("words", [["--sign-command", "true"], ["--public-key", sys.executable]])
def test_half_of_a_command_key_is_a_usage_error(
    words: list[str], place: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*place.options, "keys", "rotate", *words]) == 2
    assert "go together" in capsys.readouterr().err


def test_a_command_that_signs_nothing_is_refused_before_anything_is_written(
    place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    public = tmp_path / "public"
    public.write_bytes(base64.b64encode(bytes(32)))
    before = said(place, capsys, "keys", "show")
    assert run([*place.options, "keys", "rotate", "--sign-command", "true", "--public-key", str(public)]) == 2
    assert "no true signature" in capsys.readouterr().err
    assert said(place, capsys, "keys", "show") == before


def test_the_key_in_force_cannot_be_revoked(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    key = said(place, capsys, "keys", "export")
    assert run([*place.options, "keys", "revoke", key]) == 3
    assert "hint: edgetape keys rotate" in capsys.readouterr().err


def test_the_store_key_is_listed_and_can_be_changed(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    shown = json.loads(said(place, capsys, "keys", "show", "--json"))["store_key"]
    assert shown["file"].endswith(".storekey")
    assert f"{shown['id']}  store key" in said(place, capsys, "keys", "show")
    rotated = json.loads(said(place, capsys, "keys", "rotate", "--store-key", "--json"))
    assert rotated["old_file"] == shown["file"]
    assert json.loads(said(place, capsys, "keys", "show", "--json"))["store_key"] == rotated["store_key"]
    assert said(place, capsys, "verify").startswith("VERIFIED")
    assert run([*place.options, "keys", "rotate", "--store-key", "--sign-command", "true"]) == 2


def test_without_the_store_key_every_verb_says_so_in_one_sentence(
    place: Folders, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (path,) = place.keys.glob("*.storekey")
    path.unlink()
    for words in (
        ["scan"],
        ["replay", "last", "--no-confine"],
        ["export", "last", "-o", str(tmp_path / "x.zip")],
        ["erase", "last"],
    ):
        reason = ["--reason", "x"] if words[0] == "erase" else []
        assert run([*place.options, *words, *reason]) == (125 if words[0] == "replay" else 3), words
        err = capsys.readouterr().err
        assert "the store key of this store is missing" in err
        assert "Traceback" not in err
    assert run([*place.options, "verify"]) == 30
    told = capsys.readouterr()
    assert told.out.startswith("INCOMPLETE")
    assert "PAYLOADS_LOCKED" in told.out
    assert "could not be opened" in told.err
    assert json.loads(said(place, capsys, "keys", "show", "--json"))["store_key"] is None
    assert run([*place.options, "show", "last"]) == 0
    assert run([*place.options, "show", "last", "1"]) == 0
    assert run([*place.options, "export", "last", "--without-bodies", "-o", str(tmp_path / "x.zip")]) == 0

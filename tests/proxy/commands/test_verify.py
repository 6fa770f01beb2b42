"""The proof on the command line: its line, its limits, its exit codes."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from proxy.cli import run
from store.database import FILE_NAME
from tests.proxy.tape import Folders, folders, record_tape


@pytest.fixture
def place(tmp_path: Path) -> Folders:
    place = folders(tmp_path)
    record_tape(place)
    return place


def test_a_sound_run_is_verified_with_its_flags_and_limits(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*place.options, "verify", "last"]) == 0
    captured = capsys.readouterr()
    (line,) = captured.out.splitlines()
    assert line.startswith("VERIFIED (UNATTRIBUTED, UNWITNESSED, UNTIMED) run ")
    assert "proves only that the store agrees with itself" in captured.err
    assert "edgetape keys export" in captured.err


def test_the_quiet_one_prints_the_line_alone(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*place.options, "verify", "-q"]) == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 1
    assert captured.err == ""


def test_strict_does_not_accept_a_flag(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*place.options, "verify", "--strict"]) == 10


def flip(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    """One bit of the body that step 1 got, in the store's file, as `debug locate` says where."""
    assert run([*place.options, "debug", "locate", "last", "2", "--json"]) == 0
    places = json.loads(capsys.readouterr().out)
    (offset,) = [each["offset"] for each in places if each["table"] == "blocks" and each["pointer"] == "/body"]
    path = place.store / FILE_NAME
    raw = bytearray(path.read_bytes())
    raw[offset + 20] ^= 1
    path.write_bytes(raw)


def test_a_flipped_bit_is_found_and_its_seq_is_named(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(place.store / FILE_NAME) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    flip(place, capsys)
    assert run([*place.options, "verify", "last"]) == 20
    out = capsys.readouterr().out.splitlines()
    assert any(" seq 2:" in line for line in out[:-1])
    assert out[-1].startswith("INVALID ")
    assert run([*place.options, "verify", "last", "--json"]) == 20
    record = json.loads(capsys.readouterr().out)
    assert record["verdict"] == "INVALID"
    assert 2 in {finding["seq"] for finding in record["findings"]}
    assert {finding["code"] for finding in record["findings"]} == {"V604"}


def test_a_pinned_key_attributes_and_a_foreign_one_does_not(
    place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = folders(tmp_path / "other")
    record_tape(other)
    assert run([*place.options, "verify", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    vkeys = {each: vkey(each) for each in (place, other)}
    assert record["vkey"] == vkeys[place]
    assert vkeys[place].startswith(record["key"])
    assert run([*place.options, "verify", "--key", vkeys[place]]) == 0
    assert "UNATTRIBUTED" not in capsys.readouterr().out
    file = tmp_path / "vkey"
    file.write_text(vkeys[other] + "\n")
    assert run([*place.options, "verify", "--key", str(file)]) == 20


def vkey(place: Folders) -> str:
    """The vkey that the first leaf of a store names."""
    connection = sqlite3.connect(place.store / FILE_NAME)
    (leaf,) = connection.execute("SELECT leaf FROM leaves WHERE position = 0").fetchone()
    connection.close()
    return str(json.loads(leaf)["vkey"])


@pytest.mark.parametrize(
    "arguments, code", [(["nobody"], 2), (["--key", "nonsense+x+y"], 2), (["--key", "no-such-file"], 2)]
)
def test_a_wrong_word_or_key_is_a_usage_error(
    arguments: list[str], code: int, place: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*place.options, "verify", *arguments]) == code
    assert capsys.readouterr().err.startswith("edgetape: ")


def test_without_a_store_the_proof_could_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*folders(tmp_path).options, "verify"]) == 3
    assert "there is no store" in capsys.readouterr().err


def test_several_processes_give_the_same_verdict(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*place.options, "verify", "-j", "1"]) == 0
    alone = capsys.readouterr().out
    assert run([*place.options, "verify", "-j", "2"]) == 0
    assert capsys.readouterr().out == alone


MEMBERS = {
    "verdict", "exit_code", "subject", "runs", "events", "bodies", "flags", "checkpoint", "key", "vkey", "findings",
    "no_earlier", "no_later", "witnesses", "unmet", "newer", "annotations", "locked", "limits", "line",
}  # fmt: skip


def test_the_json_has_the_members_that_the_page_documents(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*place.options, "verify", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == MEMBERS
    page = (Path(__file__).parents[3] / "docs" / "verify.md").read_text()
    assert all(f"`{member}`" in page for member in MEMBERS)


def test_a_store_that_was_put_back_is_found_where_its_key_is(
    place: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    backup = place.store.with_name("backup")
    shutil.copytree(place.store, backup)
    record_tape(place)
    shutil.rmtree(place.store)
    backup.rename(place.store)
    assert run([*place.options, "verify"]) == 21
    out = capsys.readouterr().out
    assert out.startswith("V501: ")
    assert "rolled back" in out
    (memory,) = place.keys.glob("*.signed")
    memory.unlink()
    assert run([*place.options, "verify"]) == 0

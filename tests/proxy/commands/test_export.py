"""Bundles on the command line: written, proven without a store, and read by people."""

import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from proxy.cli import run
from tests.proxy.tape import Folders, folders, record_tape

type Captured = pytest.CaptureFixture[str]


@pytest.fixture
def place(tmp_path: Path) -> Folders:
    place = folders(tmp_path)
    record_tape(place)
    return place


def export(place: Folders, path: Path, *options: str) -> Path:
    assert run([*place.options, "export", "last", "-o", str(path), *options]) == 0
    return path


def test_an_export_prints_its_digest_and_verifies_where_there_is_no_store(
    place: Folders, tmp_path: Path, capsys: Captured
) -> None:
    path = export(place, tmp_path / "last.zip")
    captured = capsys.readouterr()
    assert captured.out == f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path}\n"
    assert "VERIFIED" in captured.err
    assert run([*folders(tmp_path / "elsewhere").options, "verify", str(path)]) == 0
    assert capsys.readouterr().out.startswith("VERIFIED (UNATTRIBUTED, UNWITNESSED, UNTIMED) run ")


def test_twice_gives_the_same_bytes_report_and_all(place: Folders, tmp_path: Path, capsys: Captured) -> None:
    first = export(place, tmp_path / "first.zip").read_bytes()
    record_tape(place, "later")
    assert run([*place.options, "export", "contract", "-o", str(tmp_path / "second.zip"), "--json"]) == 0
    record = json.loads(_json(capsys))
    assert (tmp_path / "second.zip").read_bytes() == first
    assert record["sha256"] == hashlib.sha256(first).hexdigest()


def test_the_checkpoint_can_be_named(place: Folders, tmp_path: Path, capsys: Captured) -> None:
    first = export(place, tmp_path / "first.zip", "--json").read_bytes()
    size = str(json.loads(_json(capsys))["checkpoint"])
    assert export(place, tmp_path / "second.zip", "--checkpoint", size).read_bytes() == first
    assert run([*place.options, "export", "last", "-o", str(tmp_path / "none.zip"), "--checkpoint", "1"]) == 3
    assert "no checkpoint over 1 leaf shows" in capsys.readouterr().err
    assert not (tmp_path / "none.zip").exists()


def _json(capsys: Captured) -> str:
    """What was printed as JSON."""
    out = capsys.readouterr().out
    return out[out.index("{") :]


def test_the_report_shows_the_timeline_escaped_and_without_scripts(
    place: Folders, tmp_path: Path, capsys: Captured
) -> None:
    record_tape(place, "<script>alert(1)</script>")
    path = export(place, tmp_path / "last.zip")
    with zipfile.ZipFile(path) as bundle:
        page = bundle.read("report.html").decode()
        report = json.loads(bundle.read("report.json"))
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script" not in page
    assert "http-equiv" in page
    assert "not evidence" in page
    assert "model scripted-1 asked" in page
    assert [step["step"] for step in report["runs"][0]["steps"]] == [1, 2, 3, None]


def test_the_report_says_what_is_proved_and_what_is_not_and_leads_to_the_evidence(
    place: Folders, tmp_path: Path
) -> None:
    path = export(place, tmp_path / "last.zip")
    with zipfile.ZipFile(path) as bundle:
        page, names = bundle.read("report.html").decode(), set(bundle.namelist())
        report = json.loads(bundle.read("report.json"))
        events = [json.loads(line) for line in bundle.read("events.ndjson").splitlines()]
    assert "What is not proved" in page
    assert report["not_proved"]
    assert page.count("<details id=") == 3
    for step in report["runs"][0]["steps"]:
        assert all(events[seq]["type"] not in ("run.open", "run.close") for seq in step["events"])
        assert {f"blobs/{each['sha256']}" for each in step["blobs"]} <= names


def test_without_bodies_the_report_has_none_either(place: Folders, tmp_path: Path) -> None:
    assert b"jurisdiction=GB-SCT" in _report(export(place, tmp_path / "with.zip"))
    assert b"jurisdiction=GB-SCT" not in _report(export(place, tmp_path / "bare.zip", "--without-bodies"))


def _report(path: Path) -> bytes:
    with zipfile.ZipFile(path) as bundle:
        return bundle.read("report.html") + bundle.read("report.json")


def test_a_flag_tells_what_a_bundle_leaves_out(place: Folders, tmp_path: Path, capsys: Captured) -> None:
    assert run(["verify", str(export(place, tmp_path / "bare.zip", "--without-bodies", "--proofs"))]) == 0
    assert "PARTIAL_LOG 1, PAYLOADS_WITHHELD 10" in capsys.readouterr().out
    assert run(["verify", "--strict", str(tmp_path / "bare.zip")]) == 10


def test_a_changed_bundle_is_invalid_and_a_missing_one_cannot_be_run(
    place: Folders, tmp_path: Path, capsys: Captured
) -> None:
    path = export(place, tmp_path / "last.zip")
    path.write_bytes(path.read_bytes() + b"!")
    assert run(["verify", str(path)]) == 20
    assert "V105: unsafe container" in capsys.readouterr().out
    assert run(["verify", "no-such.zip"]) == 3
    assert "cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["last"], ["-o", "x.zip"], ["last", "-o", "x.zip", "--proofs", "--full-log"]])
def test_what_makes_no_sense_is_a_usage_error(arguments: list[str], place: Folders, capsys: Captured) -> None:
    assert run([*place.options, "export", *arguments]) == 2
    assert capsys.readouterr().err.startswith("edgetape: ")


def test_the_verifier_is_published_with_its_digest(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "verify.py"
    assert run(["export", "--verifier", str(path)]) == 0
    assert capsys.readouterr().out == f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path}\n"


def test_a_bundle_is_imported_listed_shown_and_proven_elsewhere(
    place: Folders, tmp_path: Path, capsys: Captured
) -> None:
    path = export(place, tmp_path / "last.zip")
    there = folders(tmp_path / "there").options
    capsys.readouterr()
    assert run([*there, "import", str(path)]) == 0
    (identity,) = capsys.readouterr().out.split()
    assert run([*there, "runs"]) == 0
    assert "record from edgetape.local/" in capsys.readouterr().out
    assert run([*there, "show", "contract", "2"]) == 0
    assert "low risk" in capsys.readouterr().out
    assert run([*there, "verify", identity]) == 0
    capsys.readouterr()
    assert run([*there, "import", str(path)]) == 3
    assert "already" in capsys.readouterr().err
    path.write_bytes(path.read_bytes()[:-1])
    assert run([*there, "import", str(path), "--json"]) == 3

"""What is said about a step by the command line, and where people see it."""

import io
import json
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from proxy.cli import run
from store.verify import verify
from tests.proxy.tape import Folders, folders, record_tape

SECRET = "sk-ant-api03-" + "abcdefgh" * 12 + "AA"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """A store with a run that everybody here says something about."""
    made = folders(tmp_path_factory.mktemp("annotated"))
    record_tape(made)
    return made


def told(place: Folders, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command prints; it must succeed."""
    assert run([*place.options, *words]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_what_is_said_about_a_step_is_seen_wherever_the_run_is(
    place: Folders, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "finding.txt"
    file.write_text("two lines,\r\nfrom a file\n")
    assert told(place, capsys, "annotate", "last", "2", "--text-file", str(file), "--by", "a reviewer") == "0\n"
    stdin = io.TextIOWrapper(io.BytesIO(f"the key was {SECRET}".encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    said = json.loads(told(place, capsys, "annotate", "last", "--kind", "incident", "--json"))
    assert (said["number"], said["seq"], said["kind"]) == (1, 0, "incident")
    assert said["text"] == "the key was <edgetape:anthropic:1>"
    assert said["redactions"] == [["anthropic", 1]]
    assert told(place, capsys, "annotate", "last", "2", "--text", "<b>better</b> words", "--corrects", "0") == "2\n"

    listed = json.loads(told(place, capsys, "annotations", "last", "--json"))
    assert [(each["step"], each["superseded"]) for each in listed] == [(2, 2), (None, None), (2, None)]
    assert "two lines,\n    from a file" in told(place, capsys, "annotations", "last", "2")
    shown = told(place, capsys, "show", "last")
    assert "comment by" in shown
    assert "<b>better</b> words" in shown
    assert "two lines" not in shown
    assert "two lines" in told(place, capsys, "show", "last", "2")
    assert "better" not in told(place, capsys, "show", "last", "1")
    assert len(json.loads(told(place, capsys, "show", "last", "--json"))["annotations"]) == 3
    page = told(place, capsys, "show", "last", "--html", "-")
    assert "&lt;b&gt;better&lt;/b&gt; words" in page

    bundle = tmp_path / "last.zip"
    told(place, capsys, "export", "last", "-o", str(bundle))
    with zipfile.ZipFile(bundle) as members:
        assert b"&lt;b&gt;better&lt;/b&gt; words" in members.read("report.html")
        assert len(json.loads(members.read("report.json"))["runs"][0]["annotations"]) == 3
    assert "VERIFIED annotations: 3\nVERIFIED (" in told(place, capsys, "verify", str(bundle))
    assert "better" in told(place, capsys, "annotations", str(bundle))
    other = folders(tmp_path / "other")
    told(other, capsys, "import", str(bundle))
    assert "better" in told(other, capsys, "show", listed[0]["run"])
    assert verify(other.store, other.keys).remarks.count == 3


def test_an_erasure_lists_the_texts_that_go(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    told(place, capsys, "annotate", "last", "1", "--text", "quotes what is to go")
    plan = json.loads(
        told(place, capsys, "erase", "last", "--step", "1", "--reason", "asked for", "--dry-run", "--json")
    )
    assert [each["bytes"] for each in plan["annotations"]] == [20]


@pytest.mark.parametrize(
    "words",
    [
        ["1", "--seq", "3", "--text", "x"],
        ["99", "--text", "x"],
        ["--seq", "999", "--text", "x"],
        ["--text", " "],
        ["--text", "x", "--text-file", "-"],
        ["--text-file", "no/such/file"],
        ["--text", "x", "--kind", "Two Words"],
        ["--text", "x", "--by", ""],
        ["--text", "x" * 16_385],
        ["--text", "x", "--corrects", "77"],
        [],
    ],
)
def test_what_cannot_be_said_is_one_sentence(
    words: list[str], place: Folders, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    code = run([*place.options, "annotate", "last", *words])
    assert code == (3 if "--corrects" in words else 2)
    captured = capsys.readouterr()
    assert captured.err.startswith("edgetape: ")
    assert captured.out == ""

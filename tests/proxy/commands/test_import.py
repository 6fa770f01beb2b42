"""`edgetape import` of what other tools recorded: told by its content, a run a file, its origin a claim."""

import json
from pathlib import Path

import pytest

from proxy.cli import run
from tests.proxy.tape import Folders, folders

type Captured = pytest.CaptureFixture[str]

CASSETTE = b"""interactions:
- request: {method: GET, uri: "http://tools.example/list", headers: {}, body: null}
  response: {status: {code: 200, message: OK}, headers: {Content-Encoding: [br]}, body: {string: "[]"}}
version: 1
"""
HAR = {
    "log": {
        "creator": {"name": "Firefox", "version": "140"},
        "entries": [
            {
                "startedDateTime": "2026-01-01T00:00:00Z",
                "request": {"method": "GET", "url": "http://tools.example/list", "headers": []},
                "response": {"status": 200, "headers": [], "content": {"size": 2, "text": "[]"}},
            }
        ],
    }
}


@pytest.fixture
def place(tmp_path: Path) -> Folders:
    files = tmp_path / "cassettes" / "inner"
    files.mkdir(parents=True)
    (files / "list.yaml").write_bytes(CASSETTE)
    (files.parent / "browser.json").write_text(json.dumps(HAR))
    return folders(tmp_path)


def test_a_folder_becomes_a_run_a_file_and_says_what_was_lost(place: Folders, tmp_path: Path, capsys: Captured) -> None:
    assert run([*place.options, "import", str(tmp_path / "cassettes"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(each["kind"], each["tool"], each["exchanges"]) for each in told["files"]] == [
        ("har", "Firefox 140", 1),
        ("vcr", "vcrpy", 1),
    ]
    assert "without the content coding" in told["files"][1]["lost"][0]
    assert run([*place.options, "runs", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {(each["name"], each["mode"]) for each in listed} == {("inner/list", "import"), ("browser", "import")}


def test_show_and_verify_say_that_the_origin_is_a_claim(place: Folders, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "cassettes" / "browser.json"
    assert run([*place.options, "import", str(file)]) == 0
    imported = capsys.readouterr().out.strip()
    assert run([*place.options, "show", "browser"]) == 0
    shown = capsys.readouterr().out
    assert "made of the har file browser.json (SHA-256 " in shown
    assert "written by Firefox 140, begun 2026-01-01T00:00:00Z" in shown
    assert "a claim: nobody signed that file" in shown
    assert run([*place.options, "verify", imported]) == 0
    assert "IMPORTED 1" in capsys.readouterr().out
    bundle = tmp_path / "run.zip"
    assert run([*place.options, "export", imported, "-o", str(bundle)]) == 0
    assert run([*place.options, "verify", str(bundle)]) == 0
    assert "IMPORTED 1" in capsys.readouterr().out


def test_a_file_that_is_nothing_is_named_and_costs_the_others_nothing(
    place: Folders, tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "cassettes" / "broken.yaml").write_text("interactions: [")
    assert run([*place.options, "import", str(tmp_path / "cassettes")]) == 3
    captured = capsys.readouterr()
    assert len(captured.out.split()) == 2
    assert "broken.yaml" in captured.err
    assert run([*place.options, "import", str(tmp_path / "nowhere")]) == 2
    assert "cannot be read" in capsys.readouterr().err

"""A run as a timeline, and its steps whole."""

import gzip
import json
from pathlib import Path

import pytest

from proxy.cli import run
from tests.proxy.tape import EVENTS, QUESTION, Folders, folders, record_tape


@pytest.fixture
def place(tmp_path: Path) -> Folders:
    place = folders(tmp_path)
    record_tape(place)
    return place


def shown(place: Folders, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run([*place.options, "show", *arguments]) == 0
    return capsys.readouterr().out


def test_a_run_is_a_line_a_step_in_plain_words(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(place, capsys, "last")
    assert "tool rules: GET https://tools.example/rules.json?jurisdiction=GB-SCT&key=<edgetape:query:1>" in out
    assert "model scripted-1 asked (chat) at tools.example:443" in out
    assert "the server could not be reached" in out
    assert "tunnel to pinned.example:443, unopened: its client trusts only the server's own certificate" in out
    assert "command: python agent.py --api-key <edgetape:key:1>" in out
    steps = [line.split()[0] for line in out.splitlines() if line.lstrip()[:1].isdigit() and " +" in line]
    assert steps == ["1", "2", "3"]


@pytest.mark.parametrize("word", ["contract", "last", "id", "prefix"])
def test_a_run_is_found_by_name_last_id_and_prefix(
    word: str, place: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = json.loads(shown(place, capsys, "last", "--json"))["run"]["id"]
    named = {"id": recorded, "prefix": recorded[:10]}.get(word, word)
    assert json.loads(shown(place, capsys, named, "--json"))["run"]["id"] == recorded


def test_a_step_shows_its_body_with_the_coding_undone(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(place, capsys, "last", "1")
    assert "gzip undone" in out
    assert '"note": "café"' in out
    assert "2 ms to the first byte, 12 ms in all" in out
    assert "\x1b" not in out
    assert "sk-live-key" not in out


def test_a_streamed_answer_is_put_together_and_its_events_are_listed(
    place: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    out = shown(place, capsys, "last", "2")
    assert "answer: low risk" in out
    assert "[3] data: [DONE]" in out


def test_a_failure_tells_why_there_is_no_answer(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(place, capsys, "last", "3")
    assert "no response after 900 us: the server could not be reached (connect)" in out
    assert "connection refused" in out


def test_json_of_a_step_has_everything(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    step = json.loads(shown(place, capsys, "last", "2", "--json"))
    assert json.loads(step["request"]["body"]["text"]) == QUESTION
    assert step["request"]["headers"][1] == ["Authorization", "Bearer <edgetape:authorization:1>"]
    assert step["response"]["body"]["text"].encode() == EVENTS
    assert step["response"]["answer"]["text"] == "low risk"
    assert step["error"] is None
    refused = json.loads(shown(place, capsys, "last", "3", "--json"))
    assert refused["response"] is None
    assert refused["error"]["kind"] == "connect"


def test_raw_writes_the_stored_bytes(place: Folders, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run([*place.options, "show", "last", "1", "--raw", "response"]) == 0
    assert json.loads(gzip.decompress(capfdbinary.readouterr().out))["rows"] == []


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["contrakt"], "there is no run"),
        (["last", "9"], "has no step 9: it has 3 steps"),
        (["last:replay"], "there is no run of mode replay"),
        (["last", "--raw", "request"], "--raw needs a step"),
    ],
)
def test_what_is_not_there_is_a_usage_error_in_one_sentence(
    arguments: list[str], sentence: str, place: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*place.options, "show", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err.splitlines()[0]
    assert captured.err.splitlines()[1].startswith("hint: ")


def test_a_run_is_written_as_one_page_that_needs_nothing_else(
    place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "run.html"
    shown(place, capsys, "last", "--html", str(written))
    page = written.read_text()
    assert "run contract " in page
    assert page.count("<details id=") == 3
    assert "answer: low risk" in page
    assert "http" not in page.replace("https://tools.example", "").replace("http-equiv", "").replace("HTTP", "")
    assert shown(place, capsys, "last", "--html", "-") == page
    assert run([*place.options, "show", "last", "1", "--html", "-"]) == 2


def test_a_tape_is_shown_without_being_taken_in(
    place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tape = tmp_path / "one.tape"
    assert run([*place.options, "pin", "last", "-o", str(tape)]) == 0
    capsys.readouterr()
    elsewhere = folders(tmp_path / "elsewhere")
    assert "model scripted-1 asked (chat)" in shown(elsewhere, capsys, str(tape))
    assert not elsewhere.store.exists()

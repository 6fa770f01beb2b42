"""Steps are found by what was said in them, wherever it stands, and each run that is found makes a page."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from proxy.border import Misuse
from proxy.cli import run
from proxy.since import since
from tests.proxy.tape import Folders, folders, record_tape


@pytest.fixture
def place(tmp_path: Path) -> Folders:
    place = folders(tmp_path)
    record_tape(place, "first")
    record_tape(place, "second")
    return place


def found(place: Folders, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    code = run([*place.options, "find", *arguments, "--json"])
    hits: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    assert code == (0 if hits else 1)
    return hits


def test_a_text_is_found_in_address_request_and_answer_newest_run_first(
    place: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    hits = found(place, capsys, "gb-sct")
    assert [(hit["name"], hit["step"], hit["where"]) for hit in hits] == [
        ("second", 1, "address"),
        ("second", 2, "request"),
        ("first", 1, "address"),
        ("first", 2, "request"),
    ]
    assert "jurisdiction=GB-SCT" in hits[0]["excerpt"]


def test_content_codings_are_undone_and_streams_put_together(
    place: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [hit["where"] for hit in found(place, capsys, "café")] == ["answer", "answer"]
    (hit, _) = found(place, capsys, "low risk")
    assert (hit["step"], hit["where"], hit["excerpt"]) == (2, "answer", "low risk")


@pytest.mark.parametrize(
    "options, steps",
    [
        (("--empty", "/rows"), [1]),
        (("--empty", "/rows", "--tool", "rule*"), [1]),
        (("--empty", "/rows", "--tool", "other"), []),
        (("--empty", "/note"), []),
        (("--empty", "/none/0"), []),
        (("--empty", ""), []),
        (("--host", "TOOLS.*"), [1, 2, 3]),
        (("--tool", "rules"), [1]),
        (("GB-[A-Z]{3}\\b", "--regex", "--host", "tools.example"), [1, 2]),
        (("GB-[A-Z]{3}",), []),
    ],
)
def test_steps_are_chosen_by_tool_host_and_what_is_empty(
    options: tuple[str, ...], steps: list[int], place: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [hit["step"] for hit in found(place, capsys, *options)] == [*steps, *steps]


def test_older_runs_and_other_modes_are_passed_over(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    assert found(place, capsys, "GB-SCT", "--since", "1h")
    assert not found(place, capsys, "GB-SCT", "--since", "2999-01-01")
    assert not found(place, capsys, "GB-SCT", "--mode", "fork")


def test_each_run_that_is_found_becomes_a_page(
    place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hits = found(place, capsys, "--empty", "/rows", "--reports", str(tmp_path / "reports"))
    written = sorted(path.stem for path in (tmp_path / "reports").iterdir())
    assert written == sorted(hit["run"] for hit in hits)
    page = (tmp_path / "reports" / f"{hits[0]['run']}.html").read_text()
    assert "<h1>edgetape run</h1>" in page
    assert 'id="step-1"' in page
    assert "café" in page
    assert "<script" not in page
    assert "sk-live-key" not in page


def test_a_person_reads_a_table_and_how_much_was_looked_through(
    place: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*place.options, "find", "low risk"]) == 0
    said = capsys.readouterr()
    assert "answer  low risk" in said.out
    assert said.err == "edgetape: 2 steps in 2 of 2 runs\n"
    assert run([*place.options, "find", "nowhere"]) == 1
    assert capsys.readouterr().err == "edgetape: 0 steps in 0 of 2 runs\n"


@pytest.mark.parametrize("options", [(), ("(", "--regex"), ("x", "--since", "soon"), ("--empty", "rows")])
def test_what_cannot_be_looked_for_is_refused(
    options: tuple[str, ...], place: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*place.options, "find", *options]) == 2
    assert capsys.readouterr().err.startswith("edgetape: ")


def test_moments_are_spans_and_dates() -> None:
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert since("30d", now) == "2026-10-31T12:00:00.000000Z"
    assert since("90m", now) == "2026-11-30T10:30:00.000000Z"
    assert since("2026-11-01", now) == "2026-11-01T00:00:00.000000Z"
    assert since("2026-11-01T02:00+02:00", now) == "2026-11-01T00:00:00.000000Z"
    with pytest.raises(Misuse):
        since("99999999999999999d", now)

"""What is said about a run afterwards, and how it is found by it."""

import json
from pathlib import Path

import pytest

from proxy.cli import run
from store.verify import verify
from tests.proxy.tape import Folders, folders
from tests.support.tape import Call, tape


@pytest.fixture
def place(tmp_path: Path) -> Folders:
    made = folders(tmp_path)
    with tape(tmp_path) as taped:
        for name in ("one", "two"):
            taped.run([Call()], name=name)
    return made


def told(place: Folders, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command prints; it must succeed."""
    assert run([*place.options, *words]) == 0
    return capsys.readouterr().out


def test_a_run_is_found_by_its_tags_until_they_are_taken_off(
    place: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    def named(*words: str) -> list[str]:
        return [each["name"] for each in json.loads(told(place, capsys, "runs", "--json", *words))]

    told(place, capsys, "tag", "one", "reviewed=no", "ticket=OPS-17", "--by", "somebody")
    told(place, capsys, "tag", "one", "reviewed=yes")
    told(place, capsys, "tag", "two", "reviewed=no")
    assert named("--tag", "reviewed=yes") == ["one"]
    assert named("--tag", "reviewed") == ["two", "one"]
    assert named("--tag", "reviewed", "--tag", "ticket") == ["one"]
    assert told(place, capsys, "tag", "one") == "reviewed=yes\nticket=OPS-17\n"
    assert "tags: reviewed=yes, ticket=OPS-17" in told(place, capsys, "show", "one")
    assert json.loads(told(place, capsys, "tag", "one", "--remove", "ticket", "--json")) == {"reviewed": "yes"}
    assert named("--tag", "ticket") == []
    verdict = verify(place.store, place.keys)
    assert (verdict.findings, verdict.exit_code) == ((), 0)


@pytest.mark.parametrize("words", [["reviewed"], ["=x"], ["k" * 65 + "=x"], ["k=" + "x" * 257], ["--remove", ""]])
def test_what_is_no_tag_is_one_sentence(place: Folders, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert run([*place.options, "tag", "one", *words]) == 2
    assert capsys.readouterr().err.startswith("edgetape: ")

"""What an agent did the last time is told before it is recorded anew, and nothing is recorded without a yes."""

import sys
from pathlib import Path

import pytest

from proxy.cli import run
from tests.proxy.tape import Folders, folders
from tests.replay_server.recording import CHAT, Place, chat, completion
from tests.replay_server.recording import Recording as Written


@pytest.fixture
def place(tmp_path: Path) -> Folders:
    """One run: a model asked twice, a tool that reads and one that may write."""

    def tell(recording: Written) -> None:
        for text in ("plan", "sum up"):
            recording.post(CHAT, chat(("user", text)), completion("go"))
        recording.get("http://[::1]:8080/rows")
        recording.post("http://[::1]:8080/rows", {"a": 1})

    Place(tmp_path).record(tell)
    return folders(tmp_path)


def test_without_a_yes_it_is_told_what_was_done_and_nothing_is_recorded(
    place: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = (sys.executable, "-c", "raise SystemExit('it ran')")
    assert run([*place.options, "rebase", "last", "--", *agent]) == 2
    said = capsys.readouterr().err
    assert "this records live, and holds nothing back; the last time the agent made\n" in said
    assert "  2 requests to http://[::1]:8080, 2 of which may have changed something there\n" in said
    assert "there is no terminal to ask whether it may" in said
    assert run([*place.options, "runs", "--json"]) == 0
    assert capsys.readouterr().out.count('"id"') == 1


@pytest.mark.parametrize("name, variables", [("nobody", {}), ("last", {"EDGETAPE_REPLAY": "x"})])
def test_what_cannot_be_rebased_is_refused(
    place: Folders, monkeypatch: pytest.MonkeyPatch, name: str, variables: dict[str, str]
) -> None:
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    assert run([*place.options, "rebase", name, "--yes", "--", "true"]) in (2, 3)

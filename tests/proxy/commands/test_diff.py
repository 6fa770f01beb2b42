"""Two recordings compared from the command line: in words, as JSON, and by the exit code."""

import json
from pathlib import Path

import pytest

from proxy.cli import run
from tests.proxy.tape import Folders, folders
from tests.replay_server.recording import CHAT, Place, Recording, chat, completion


@pytest.fixture
def place(tmp_path: Path) -> Folders:
    place = Place(tmp_path)
    for rows, model, answer in ((b"[]", "m1", "low risk"), (b'[{"severity": "high"}]', "m2", "high risk")):

        def tell(recording: Recording, rows: bytes = rows, model: str = model, answer: str = answer) -> None:
            recording.get("https://tools.example.com/rules?code=GB", rows)
            recording.post(CHAT, chat(("user", "risky?"), model=model), completion(answer))

        place.record(tell)
    return folders(tmp_path)


def ids(place: Folders, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    run([*place.options, "runs", "--json"])
    newer, older = (each["id"] for each in json.loads(capsys.readouterr().out))
    return older, newer


def test_each_difference_is_told_with_both_values(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    older, newer = ids(place, capsys)
    assert run([*place.options, "diff", older, newer]) == 1
    said = capsys.readouterr()
    assert said.out == (
        f"A: run {older}\nB: run {newer}\n\n"
        "~ step 1 / 1: GET https://tools.example.com/rules\n"
        "    answer: /body/0\n"
        "      A: (absent)\n"
        '      B: {"severity": "high"}\n'
        "~ step 2 / 2: POST https://api.openai.com/v1/chat/completions\n"
        "    request: model, body /model\n"
        '      A: "m1"\n'
        '      B: "m2"\n'
        "    answer: /text\n"
        '      A: "low risk"\n'
        '      B: "high risk"\n'
    )
    assert said.err.startswith("edgetape: 1 same, 1 changed, 2 other answers; A ")


def test_the_same_as_json(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    older, newer = ids(place, capsys)
    assert run([*place.options, "diff", older, newer, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "edgetape/diff/1"
    assert document["counts"] == {"same": 1, "changed": 1, "moved": 0, "inserted": 0, "removed": 0, "answers": 2}
    assert [(step["kind"], step["a"], step["b"]) for step in document["steps"]] == [("same", 1, 1), ("changed", 2, 2)]
    assert document["steps"][1]["changes"][0]["kind"] == "model"


def test_a_run_is_the_same_as_itself_and_rules_leave_out_what_may_differ(
    place: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    older, newer = ids(place, capsys)
    assert run([*place.options, "diff", older, older]) == 0
    assert capsys.readouterr().out.endswith("= steps 1-2: the same\n")
    run([*place.options, "diff", older, newer, "--ignore", "body /model", "--json"])
    assert json.loads(capsys.readouterr().out)["counts"]["same"] == 2
    assert run([*place.options, "diff", older, newer, "--ignore", "nonsense"]) == 2
    assert run([*place.options, "diff", older, "nobody"]) == 2

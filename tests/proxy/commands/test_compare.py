"""Runs side by side from the command line: a line a run, where each first went another way, and what makes no sense."""

import json
from pathlib import Path

import pytest

from proxy.border import Misuse
from proxy.cli import run
from proxy.sessions.variants import variants
from tests.proxy.tape import Folders, folders
from tests.replay_server.recording import CHAT, Place, Recording, chat, completion, encode


def asking(tool: str, **arguments: str) -> bytes:
    call = {"id": "c1", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    return encode({"id": "c1", "object": "chat.completion", "model": "m", "choices": [choice]})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """Three runs: the second answers in other words, the third asks for the tool with another argument."""
    place = Place(tmp_path_factory.mktemp("compare"))
    for code, words in (("GB", "low risk"), ("GB", "a low risk"), ("FR", "low risk")):

        def tell(recording: Recording, code: str = code, words: str = words) -> None:
            recording.post(CHAT, chat(("user", "risky?"), model=f"m-{words}"), asking("rules", code=code))
            recording.get(f"https://tools.example.com/rules?code={code}", b"[]")
            recording.post(CHAT, chat(("user", "risky?"), ("tool", "[]"), model="m"), completion(words))

        place.record(tell)
    return folders(place.folder)


def ids(place: Folders, capsys: pytest.CaptureFixture[str]) -> list[str]:
    run([*place.options, "runs", "--json"])
    return [each["id"] for each in reversed(json.loads(capsys.readouterr().out))]


def test_each_run_is_a_line_that_says_where_it_first_went_another_way(
    place: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*place.options, "compare", *ids(place, capsys)]) == 0
    said = capsys.readouterr()
    heads, first, same, other = said.out.splitlines()
    assert heads.split()[:5] == ["run", "variant", "outcome", "steps", "calls"]
    assert "rules" in first
    assert same.endswith("none; other words")
    assert other.endswith('step 1: asked for rules({"code": "FR"}) (step 1: asked for rules({"code": "GB"}))')
    assert "edgetape: 3 runs compared" in said.err


def test_the_same_as_json(place: Folders, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert run([*place.options, "compare", *ids(place, capsys), "--json", "--report", str(report)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads(report.read_text())
    first, same, other = document["runs"]
    assert (first["tokens_in"], first["tools"], first["model_calls"]) == (None, ["rules"], 2)
    assert (first["first_divergence"], first["other_words"]) == (None, None)
    assert (same["first_divergence"], same["other_words"]) == (None, True)
    assert (other["first_divergence"]["step"], other["first_divergence"]["of"]) == (1, 1)


@pytest.mark.parametrize(
    "words, sentence",
    [
        (("--model", "x"), "several runs are compared as they are"),
        (("-n", "2"), "several runs are compared as they are"),
        (("--", "true"), "several runs are compared as they are"),
        (("--ignore", "nonsense"), "nonsense"),
    ],
)
def test_what_makes_no_sense_is_refused(
    place: Folders, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    one, other, _ = ids(place, capsys)
    assert run([*place.options, "compare", one, other, *words]) == 2
    assert sentence in capsys.readouterr().err


def test_variants_are_models_and_changes_of_the_environment() -> None:
    found = variants(["m1"], ["MODEL=m2 NOTE='two words'"])
    assert [variant.name for variant in found] == ["model m1", "MODEL=m2 NOTE=two words"]
    assert dict(found[1].variables) == {"MODEL": "m2", "NOTE": "two words"}
    assert [variant.name for variant in variants([], [])] == ["as it is"]


@pytest.mark.parametrize("models, changes", [([""], []), ([], [""]), ([], ["A"]), ([], ["=x"]), ([], ["A='"])])
def test_what_is_no_variant_is_refused(models: list[str], changes: list[str]) -> None:
    with pytest.raises(Misuse):
        variants(models, changes)

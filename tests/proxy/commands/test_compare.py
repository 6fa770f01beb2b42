"""Runs side by side from the command line: a line a run, where each first went another way, and what makes no sense."""

import json
from pathlib import Path

import pytest

from proxy.border import Misuse
from proxy.cli import run
from proxy.sessions.variants import variants
from store.core.websocket import Direction
from tests.proxy.tape import Folders, folders
from tests.replay_server.recording import CHAT, Place, Recording, chat, completion, encode
from tests.replay_server.sockets.test_dialogue import write
from tests.support import responses_shape
from tests.support.dialogue import ToolCall, Turn


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


def test_a_model_on_a_websocket_counts_as_one_over_http(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    turns = (
        Turn(1, "m-1", (), ToolCall("rules", {"code": "GB"}), "tool_calls", 7),
        Turn(2, "m-1", ("low",), None, "stop", 11),
    )
    said: list[tuple[Direction, object]] = []
    for turn in turns:
        said.append(("to_server", {"type": "response.create", "model": "m-1", "input": []}))
        told = (event.partition(b"data: ")[2] for event in responses_shape.events(turn))
        said += [("to_client", json.loads(each)) for each in told]
    place = Place(tmp_path)
    for _ in range(2):
        place.record(lambda recording: write(recording, said, url="https://api.openai.com/v1/responses"))
    options = folders(tmp_path).options
    one, other = ids(folders(tmp_path), capsys)
    assert run([*options, "compare", one, other, "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["runs"]
    assert (first["model_calls"], first["tokens_in"], first["tools"]) == (2, 18, ["rules"])
    assert second["first_divergence"] is None
    assert run([*options, "show", one, "1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["response"]["usage"]["input_tokens"] == 18
    assert shown["response"]["answer"]["text"] == "low"

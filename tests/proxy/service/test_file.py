"""The table [proxy]: what the command line and the environment left open."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from proxy.border import Misuse
from proxy.commands.proxy import command
from proxy.service.file import completed_from

PATH = Path("/etc/edgetape/edgetape.toml")


def completed(said: Mapping[str, object], *words: str) -> Mapping[str, object]:
    """What holds with these words after `edgetape proxy` and this table."""
    with command.make_context("proxy", list(words)) as context:
        return completed_from(context, context.params, said, PATH)


def test_a_word_on_the_command_line_beats_the_file_and_the_environment_does_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EDGETAPE_IDLE", "7")
    now = completed({"port": 1, "idle": 2, "drain": 3, "allow-metadata": True}, "--port", "9")
    assert (now["port"], now["idle"], now["drain"], now["allow_metadata"]) == (9, 7.0, 3.0, True)
    assert now["durability"] == "group"


def test_lists_and_paths_are_taken_as_options_take_them(tmp_path: Path) -> None:
    (tmp_path / "tokens").touch()
    with command.make_context("proxy", []) as context:
        said = {"allow-host": ["a.example", "b.example"], "tokens": "tokens", "label": ["team=a"]}
        now = completed_from(context, context.params, said, tmp_path / "edgetape.toml")
    assert (now["allowed_hosts"], now["tokens"]) == (("a.example", "b.example"), tmp_path / "tokens")
    assert now["labels"] == ("team=a",)


@pytest.mark.parametrize(
    "said",
    [
        {"prot": 1},
        {"json": True},
        {"store": "x"},
        {"port": True},
        {"port": "many"},
        {"port": [1]},
        {"allow-host": "a"},
        {"allow-host": [1]},
        {"allow-metadata": 1},
        {"durability": "lax"},
        {"tokens": "nowhere"},
        {"host": {"a": 1}},
    ],
)
def test_what_means_nothing_is_one_sentence_with_the_file_in_it(said: Mapping[str, object]) -> None:
    with pytest.raises(Misuse) as caught:
        completed(said)
    assert str(PATH) in str(caught.value)
    assert next(iter(said)) in str(caught.value)

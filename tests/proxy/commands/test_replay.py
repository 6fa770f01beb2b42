"""What a replay that only serves cannot do is refused in one sentence, of one run and of many."""

from pathlib import Path

import pytest

from proxy.cli import run
from tests.proxy.tape import folders


@pytest.mark.parametrize("words", [("one",), ("one", "two")])
@pytest.mark.parametrize(
    "option, sentence",
    [
        (("--until", "2"), "--serve does not pause"),
        (("--step",), "--serve does not pause"),
        (("--control", "0"), "--serve does not pause"),
        (("--on-miss", "live"), "a replay that pauses, or only serves, does not go live"),
        (("--on-miss", "record", "--yes"), "a replay that pauses, or only serves, does not go live"),
    ],
)
def test_who_only_serves_neither_pauses_nor_goes_live(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    option: tuple[str, ...],
    sentence: str,
) -> None:
    monkeypatch.delenv("CI", raising=False)
    assert run([*folders(tmp_path).options, "replay", *words, "--serve", *option]) == 2
    assert sentence in capsys.readouterr().err

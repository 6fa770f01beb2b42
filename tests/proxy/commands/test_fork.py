"""What cannot be done is said before anybody is asked whether it may be, by every verb that asks."""

import sys
from pathlib import Path

import pytest

from proxy.border import Misuse
from proxy.cli import run
from proxy.sessions.opening import refuse_unreached
from store.reader import Reader
from tests.proxy.tape import Folders, folders
from tests.replay_server.recording import CHAT, Place, Recording, chat, completion

AGENT = ("--", sys.executable, "-c", "raise SystemExit('it ran')")
GONE = ("--", "no-such-program")
SET = ("--set", "/a=1")
FAKE = ("--map", "api.example.com=http://127.0.0.1:9")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """One run: a model asked twice."""

    def tell(recording: Recording) -> None:
        for text in ("plan", "sum up"):
            recording.post(CHAT, chat(("user", text)), completion("go"))

    made = Place(tmp_path_factory.mktemp("fork"))
    made.record(tell)
    return folders(made.folder)


@pytest.mark.parametrize(
    "words, code, sentence",
    [
        (("fork", "last", "--at", "9", *SET, *AGENT), 2, "step 9 is no exchange of this run"),
        (("fork", "last", "--at", "1", "--set", "/no/where=1", *AGENT), 2, "/no/where"),
        (("fork", "last", "--at", "1", "--message", "2", *SET, *AGENT), 2, "step 1 is no WebSocket"),
        (("fork", "last", "--at", "1", "--set", "/model=m", *GONE), 127, "no-such-program was not found"),
        (("sandbox", "last", *FAKE, *GONE), 127, "no-such-program was not found"),
        (("replay", "last", "--on-miss", "live", *GONE), 127, "no-such-program was not found"),
        (("compare", "last", "--model", "m", *GONE), 127, "no-such-program was not found"),
        (("compare", "last", "--model", "m", "-n", "2", *GONE), 127, "no-such-program was not found"),
        (("compare", "last", "--model", "m", "--upstream-ca", "{letter}", *AGENT), 125, "holds no certificate in PEM"),
        (("rebase", "last", *GONE), 127, "no-such-program was not found"),
        (("rebase", "last", "--upstream-ca", "{letter}", *AGENT), 125, "holds no certificate in PEM"),
        (("rebase", "last", "--passthrough", "a b", *AGENT), 2, "a b"),
    ],
)
def test_what_cannot_be_is_said_before_anybody_is_asked(
    place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, sentence: str
) -> None:
    letter = tmp_path / "letter"
    letter.write_text("no certificate")
    asked = [word.format(letter=letter) if "{" in word else word for word in words]
    free = [] if asked[0] == "rebase" else ["--no-confine"]
    assert run([*place.options, asked[0], *free, *asked[1:]]) == code
    said = capsys.readouterr().err
    assert sentence in said
    assert "live" not in said
    assert "may leave this machine" not in said


def test_a_rule_of_the_settings_file_is_looked_at_before_anybody_is_asked(
    place: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edgetape.toml").write_text("[replay]\nignore = ['nonsense']\n")
    verbs = (("fork", "--at", "1", "--set", "/model=m"), ("sandbox", *FAKE), ("compare", "--model", "m"))
    for verb, *words in verbs:
        assert run([*place.options, verb, "last", "--no-confine", *words, *AGENT]) == 2
        said = capsys.readouterr().err
        assert "nonsense" in said
        assert "live" not in said
    assert run([*place.options, "regress", "last", "--no-confine", *AGENT]) == 2
    assert "FAILED" not in capsys.readouterr().err


def test_a_step_to_pause_at_that_is_none_is_said_before_the_agent_starts(
    place: Folders,
) -> None:
    with Reader.open(place.store, place.keys) as reader:
        info = reader.find("last")
        refuse_unreached(reader, info, 2)
        with pytest.raises(Misuse, match="has no step 3: it has 2 steps"):
            refuse_unreached(reader, info, 3)


def test_what_can_be_is_asked(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("fork", "last", "--no-confine", "--at", "1", "--set", "/model=m", *AGENT)
    assert run([*place.options, *words]) == 2
    said = capsys.readouterr().err
    assert said.startswith("from step 1 on this may leave this machine:\n")
    assert "there is no terminal to ask whether it may" in said

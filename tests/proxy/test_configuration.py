"""edgetape.toml is found upwards, and what it has wrong is said in one sentence."""

from pathlib import Path

import pytest

from proxy.border import Misuse
from proxy.configuration import Configuration, nearest

SAID = '[replay]\nignore = ["body /a"]\noptional = ["GET h/x*"]\n'


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    assert nearest(below) == Configuration()
    (tmp_path / "edgetape.toml").write_text(SAID)
    assert nearest(below) == Configuration(tmp_path / "edgetape.toml", ["body /a"], ["GET h/x*"])
    (tmp_path / "a" / "edgetape.toml").write_text("")
    assert nearest(below) == Configuration(tmp_path / "a" / "edgetape.toml")


def test_what_may_go_live_and_who_plays_whom_are_read(tmp_path: Path) -> None:
    (tmp_path / "edgetape.toml").write_text('[live]\nallow = ["tool=a"]\nmap = ["h=http://127.0.0.1:1"]\n')
    assert (nearest(tmp_path).allow, nearest(tmp_path).map) == (["tool=a"], ["h=http://127.0.0.1:1"])


def test_the_search_ends_where_the_checkout_does(tmp_path: Path) -> None:
    (tmp_path / "edgetape.toml").write_text(SAID)
    checkout = tmp_path / "checkout"
    (checkout / ".git").mkdir(parents=True)
    assert nearest(checkout) == Configuration()


@pytest.mark.parametrize(
    "text, said",
    [
        ("[replay", "is not TOML"),
        ("[record]\n", "no such table: record"),
        ("replay = 1\n", "no such table: replay"),
        ("[replay]\nignored = []\n", "[replay] has no 'ignored'"),
        ("[replay]\nignore = 'body /a'\n", "ignore is no list of rules"),
        ("[live]\nallowed = []\n", "[live] has no 'allowed'"),
        ("[replay]\nignore = [1]\n", "ignore is no list of rules"),
    ],
)
def test_a_file_with_a_mistake_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "edgetape.toml").write_text(text)
    with pytest.raises(Misuse) as caught:
        nearest(tmp_path)
    assert said in str(caught.value)

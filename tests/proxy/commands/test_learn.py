"""`edgetape learn` on the command line: what it prints can be pasted, and what it needs is said."""

import json
import tomllib
from pathlib import Path

import pytest

from proxy.cli import run
from tests.replay_server.recording import Place, Recording


def options(place: Place) -> list[str]:
    return ["--store", str(place.store), "--keys", str(place.folder / "keys")]


def recorded(place: Place, pid: int) -> str:
    def tell(recording: Recording) -> None:
        recording.post("http://t.example.com/work", {"say": f"process {pid} 'ended'", "kept": 1})

    return place.record(tell)


def test_what_is_proposed_is_a_table_for_edgetape_toml(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path)
    runs = [recorded(place, pid) for pid in (17, 1800)]
    monkeypatch.chdir(tmp_path)
    assert run([*options(place), "learn", *runs]) == 0
    shown = capsys.readouterr()
    rules = tomllib.loads(shown.out)
    assert rules == {"ignore": [r"body /say matches (?<=process\ )[0-9]+"]}
    assert "1 pair of requests compared, 1 rule proposed" in shown.err
    (tmp_path / "edgetape.toml").write_text("[replay]\n" + shown.out)
    assert run([*options(place), "learn", *runs, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["proposals"], document["left"]) == ("edgetape/learned/1", [], [])


def test_one_recording_teaches_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = Place(tmp_path)
    only = recorded(place, 1)
    assert run([*options(place), "learn", only, only]) == 2
    assert "it takes two recordings" in capsys.readouterr().err

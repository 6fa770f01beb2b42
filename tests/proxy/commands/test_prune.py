"""Pruning and retention from the command line: shown first, done when it is meant, told afterwards."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from proxy.cli import run
from proxy.configuration import nearest
from store.database import FILE_NAME
from tests.proxy.tape import Folders, folders, record_tape

ANY_AGE = '[retention]\nfloor = "0d"\n'


@pytest.fixture
def place(tmp_path: Path) -> Folders:
    made = folders(tmp_path)
    record_tape(made, "old")
    record_tape(made, "new")
    return made


def told(place: Folders, capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:  # noqa: ANN401
    """What a command prints as JSON."""
    capsys.readouterr()
    assert run([*place.options, *words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def config(tmp_path: Path, text: str) -> str:
    (tmp_path / "policy.toml").write_text(text)
    return f"--config={tmp_path / 'policy.toml'}"


def leaves(place: Folders, kind: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(place.store / FILE_NAME)) as connection:
        found = [json.loads(raw) for (raw,) in connection.execute("SELECT leaf FROM leaves ORDER BY position")]
    return [each for each in found if each["type"] == kind]


def test_a_dry_run_says_what_would_leave_and_leaves_it(
    place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [config(tmp_path, ANY_AGE), "prune", "--older-than", "0d", "--keep-last", "1"]
    due = told(place, capsys, *words, "--dry-run")
    assert [each["name"] for each in due["due"]] == ["old"]
    assert not due["done"]
    assert run([*place.options, *words, "--dry-run"]) == 0
    assert "leaves the store" in capsys.readouterr().out
    assert len(told(place, capsys, "runs")) == 2


def test_nothing_is_pruned_that_is_not_meant(
    place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [config(tmp_path, ANY_AGE), "prune", "--older-than", "0d"]
    assert run([*place.options, *words]) == 2
    assert "--yes" in capsys.readouterr().err
    assert run([*place.options, "prune"]) == 2
    assert "which runs?" in capsys.readouterr().err
    assert run([*place.options, "prune", "--older-than", "soon"]) == 2
    assert "'soon' is no age" in capsys.readouterr().err
    assert run([*place.options, "prune", "--older-than", "3mo", "--yes"]) == 2
    assert "kept for 6mo at least" in capsys.readouterr().err
    assert len(told(place, capsys, "runs")) == 2


def test_a_pruned_run_is_told_of_wherever_one_would_look(
    place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (old,) = [each["id"] for each in told(place, capsys, "runs") if each["name"] == "old"]
    setting = config(tmp_path, ANY_AGE)
    words = [setting, "prune", "--older-than", "0d", "--keep-last", "1", "--yes", "--reason", "its time is over"]
    assert told(place, capsys, *words)["done"]
    assert [each["name"] for each in told(place, capsys, "runs")] == ["new"]
    assert run([*place.options, "runs"]) == 0
    assert "1 run was pruned" in capsys.readouterr().err
    further = {"replay": ["--no-confine"], "export": ["-o", str(tmp_path / "x.zip")], "erase": ["--reason", "x"]}
    for verb in ("show", *further):
        assert run([*place.options, verb, old, *further.get(verb, [])]) == 2
        assert "was pruned at" in (said := capsys.readouterr().err)
        assert "its time is over" in said
    assert told(place, capsys, "verify")["flags"]["RUNS_PRUNED"] == 1
    assert told(place, capsys, "verify", old, code=30)["findings"][0]["code"] == "V001"
    (pruned,) = leaves(place, "retention.pruned")
    (changed,) = leaves(place, "policy.changed")
    assert pruned["policy"] == changed["now"] != "default"


def test_the_policy_is_followed_by_class_and_each_thing_once(
    place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    setting = config(tmp_path, ANY_AGE + 'payloads = "0d"\nenvelopes = "5y"\n')
    assert run([*place.options, "hold", "new", "--reason", "a dispute"]) == 0
    due = told(place, capsys, setting, "retention", "plan")
    assert [(each["name"], each["class"]) for each in due["due"]] == [("old", "payloads")]
    assert [each["why"] for each in due["kept"]] == ["held: a dispute"]
    assert told(place, capsys, setting, "retention", "apply", "--dry-run") == due
    assert told(place, capsys, setting, "retention", "apply")["done"]
    assert told(place, capsys, setting, "retention", "apply")["due"] == []
    (erased,) = leaves(place, "payload.erased")
    assert (erased["reason"], erased["policy"]) == ("retention: payloads for 0d", due["policy"])
    by_name = {each["name"]: each for each in told(place, capsys, "runs")}
    assert by_name["old"]["erased"]["events"] is None
    assert by_name["new"]["hold"]["reason"] == "a dispute"
    assert run([*place.options, "show", "old"]) == 0
    assert "its bodies were erased" in capsys.readouterr().out
    assert run([*place.options, "runs"]) == 0
    assert "erased" in (page := capsys.readouterr().out)
    assert "held" in page
    assert run([*place.options, "verify"]) == 0


def test_without_a_policy_everything_is_kept(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(place, capsys, "retention", "apply") == {"policy": "default", "due": [], "kept": [], "done": True}
    assert run([*place.options, "retention", "plan"]) == 0
    assert "everything is kept" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text, why",
    [
        ("[retention]\nenvelope = '5y'\n", "retention.envelope = '5y' means nothing"),
        ("[retention]\npayloads = 30\n", "retention.payloads = 30 means nothing"),
        ("[retention]\npayloads = '30 parsecs'\n", "is no age"),
        ("[retention]\nfloor = {bodies = '1d'}\n", "retention.floor.bodies"),
        ("[retentoin]\n", "no such table: retentoin"),
        ("retention = 1\n", "no such table: retention"),
        ("[retention\n", "is not TOML"),
        ("[retention]\npayloads = '30d'\n", "kept for 6mo at least"),
    ],
)
def test_a_policy_that_means_nothing_is_refused(
    text: str, why: str, place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*place.options, config(tmp_path, text), "retention", "plan"]) == 2
    assert why in capsys.readouterr().err


def test_a_settings_file_that_was_named_must_be_there(
    place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*place.options, f"--config={tmp_path / 'none.toml'}", "retention", "plan"]) == 2
    assert "there is no settings file" in capsys.readouterr().err


def test_a_project_may_have_its_rules_of_replay_in_the_same_file(
    place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    setting = config(tmp_path, "[replay]\nignore = ['body /metadata/trace']\n" + ANY_AGE)
    assert told(place, capsys, setting, "retention", "plan")["due"] == []
    (tmp_path / "edgetape.toml").write_text((tmp_path / "policy.toml").read_text())
    assert nearest(tmp_path).ignore == ["body /metadata/trace"]


def test_a_floor_may_be_named_by_class(place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    setting = config(tmp_path, "[retention]\npayloads = '0d'\nfloor = {payloads = '0d'}\n")
    assert len(told(place, capsys, setting, "retention", "plan")["due"]) == 2


def test_what_somebody_exported_is_on_record_and_changes_no_later_bundle(
    place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def export(name: str, *more: str) -> Sequence[object]:
        said = told(place, capsys, "export", "old", "-o", str(tmp_path / name), *more)
        return said["sha256"], said["checkpoint"]

    first = export("a.zip", "--by", "auditor")
    assert export("b.zip") == first
    assert export("c.zip", "--without-bodies") != first
    noted = leaves(place, "access.export")
    assert (noted[0]["by"], noted[0]["sha256"], noted[0]["size"]) == ("auditor", *first)
    assert [each["bodies"] for each in noted] == ["included", "included", "withheld"]
    assert run([*place.options, "verify"]) == 0


def test_an_export_that_leaves_no_trace_says_so(
    place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in place.keys.glob("*.pem"):
        path.unlink()
    assert run([*place.options, "export", "old", "-o", str(tmp_path / "a.zip")]) == 0
    assert "left no trace" in capsys.readouterr().err
    assert run([*place.options, "verify", str(tmp_path / "a.zip")]) == 0
    assert leaves(place, "access.export") == []

"""Rules that change are noted, once, with what was in force before."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from store import policies
from store.database import FILE_NAME
from store.verify import verify
from tests.support.tape import Tape, tape


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Tape]:
    with tape(tmp_path) as opened:
        yield opened


def noted(made: Tape) -> list[tuple[str, str | None, str]]:
    """(policy, before, now) of each leaf that says so."""
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        leaves = [json.loads(raw) for (raw,) in connection.execute("SELECT leaf FROM leaves ORDER BY position")]
    return [(leaf["policy"], leaf.get("before"), leaf["now"]) for leaf in leaves if leaf["type"] == "policy.changed"]


def test_a_policy_is_noted_when_it_changes(made: Tape) -> None:
    one, other = "a" * 64, "b" * 64
    for now in ("default", one, one, other, "default"):
        policies.note(made.writer, {"retention": now}).result(30)
    assert noted(made) == [
        ("retention", "default", one),
        ("retention", one, other),
        ("retention", other, "default"),
    ]
    made.run([])
    assert verify(made.folder, made.keys).exit_code == 0


def test_the_rules_of_redaction_are_held_against_those_of_the_newest_run(made: Tape) -> None:
    policies.note(made.writer, {"redaction": "edgetape/redaction/1"}).result(30)
    assert noted(made) == []
    made.run([])  # which says none/1
    for now in ("none/1", "edgetape/redaction/2", "edgetape/redaction/2", "none/1"):
        policies.note(made.writer, {"redaction": now}).result(30)
    assert noted(made) == [
        ("redaction", "none/1", "edgetape/redaction/2"),
        ("redaction", "edgetape/redaction/2", "none/1"),
    ]

"""An intended drift is accepted: the changed agent is recorded anew under the same name, and linked to the old run."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.command import Command
from tests.support.processes import running_module

AGENT = """
import sys, urllib.request
for name in sys.argv[2:]:
    print(len(urllib.request.urlopen(f"{sys.argv[1]}/{name}", timeout=30).read()))
"""


def test_the_new_run_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    command = Command(tmp_path)
    with running_module("tests.support.provider") as provider:
        agent = (sys.executable, "-c", AGENT, provider.url)
        command.run("record", "--name", "nightly", "--workflow", "w", "--", *agent, "a", "b")
        changed = (*agent, "a", "c")
        assert command.run("replay", "nightly", "--", *changed).code == 41
        (old,) = (each["id"] for each in command.runs() if each["mode"] == "record")
        rebased = command.run("rebase", "nightly", "--yes", "--", *changed)
        again = command.run("rebase", "nightly", "--yes")
    assert rebased.code == 0, rebased.err
    assert f"  2 requests to {provider.url}\n" in rebased.err
    assert "1 same, 1 inserted, 1 removed; A " in rebased.err
    assert f"next: edgetape diff {old} " in rebased.verdict
    assert "2 same; A " in again.err
    runs = [each for each in command.runs() if each["mode"] == "record"]
    assert [(each["name"], each["workflow"]) for each in runs] == [("nightly", "w")] * 3
    assert [each["parent"]["run"] if each["parent"] else None for each in runs] == [runs[1]["id"], old, None]
    assert command.run("replay", "nightly", "--", *changed).code == 0
    assert command.run("verify").code == 0


def test_what_was_frozen_is_frozen_anew(tmp_path: Path) -> None:
    command = Command(tmp_path)
    drawing = (sys.executable, "-c", "import uuid; print(uuid.uuid4())")
    first = command.run("record", "--name", "r", "--freeze-random", "--", *drawing)
    rebased = command.run("rebase", "r", "--yes")
    assert rebased.code == 0, rebased.err
    assert rebased.out != first.out
    assert command.run("replay", "r").out == rebased.out

"""The demo tells its whole story with scripted servers, and does not hide a promise that is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from examples.demo import servers, tampering
from examples.demo.telling import Telling
from tests.support.processes import ROOT


@pytest.mark.timeout(300)
def test_the_whole_story_is_seen_and_marked_as_scripted(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "examples.demo", "--scripted", "--folder", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "MISSING" not in done.stdout
    assert "everything promised was seen (SCRIPTED" in done.stdout


def test_scripted_servers_are_marked_with_the_reason(tmp_path: Path) -> None:
    with ExitStack() as stack:
        served = servers.start(stack, tmp_path, scripted=True)
    assert served.scripted
    assert served.model.startswith("SCRIPTED")
    assert "as asked for" in served.tools
    assert served.ca.is_file()


def test_a_missing_promise_is_kept_for_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    telling = Telling()
    with telling.chapter("A chapter"):
        telling.promise(True, "this was there")
        telling.promise(False, "this was not")
    assert telling.missing == ["this was not"]
    assert "MISSING  this was not" in capsys.readouterr().out


def test_a_chapter_that_cannot_go_on_is_a_missing_promise_not_a_crash() -> None:
    telling = Telling()
    with telling.chapter("A chapter"):
        json.loads("no JSON here")
    assert len(telling.missing) == 1
    assert "JSONDecodeError" in telling.missing[0]
    assert len(telling.took) == 1


@pytest.mark.parametrize("length", [1, 40])
def test_a_flip_changes_one_byte_inside_the_record_alone(tmp_path: Path, length: int) -> None:
    file = tmp_path / "store"
    before = bytes(range(200))
    file.write_bytes(before)
    tampering.flip(file, tampering.Place(100, length, "events.event"))
    after = file.read_bytes()
    changed = [at for at in range(200) if before[at] != after[at]]
    assert len(after) == 200
    assert len(changed) == 1
    assert 100 <= changed[0] < 100 + length

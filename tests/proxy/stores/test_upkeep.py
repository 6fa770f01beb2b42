"""What the keeper of a store is told: of runs that cannot be ended, and that a log is not signed."""

import asyncio
import shutil
from pathlib import Path

import pytest

from addons.options import RecorderOptions
from proxy.cli import run
from proxy.options import Shared
from proxy.service import running
from proxy.service.keeper import Keeper
from proxy.service.running import Service
from proxy.stores import upkeep
from proxy.talk import Talk
from store.drafting.desk import Desk
from store.writer import Writer
from tests.store.verify.attacker import Attacker
from tests.support.tape import Call, Tape, tape


@pytest.fixture
def restored(tmp_path: Path) -> Tape:
    """A store that was put back from a backup, so that its signer refuses to sign it."""
    with tape(tmp_path) as made:
        made.run([Call()])
    shutil.copytree(made.folder, tmp_path / "backup")
    with tape(tmp_path) as made:
        made.run([Call()])
    shutil.rmtree(made.folder)
    (tmp_path / "backup").rename(made.folder)
    return made


def shared(made: Tape) -> Shared:
    return Shared({"store": made.folder, "keys": made.keys, "verbose": False, "quiet": False, "color": "never"})


def test_a_log_that_is_not_signed_is_said_at_the_end(restored: Tape, capsys: pytest.CaptureFixture[str]) -> None:
    with upkeep.opened(Talk(), shared(restored)):
        assert capsys.readouterr().err == ""
    said, hint = capsys.readouterr().err.splitlines()
    assert said.startswith("edgetape: warning: what is recorded is not signed: ")
    assert "edgetape verify" in hint


@pytest.mark.parametrize("verb", ["hold", "erase"])
def test_who_changes_a_log_that_is_not_signed_is_told(
    verb: str, restored: Tape, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ("--store", str(restored.folder), "--keys", str(restored.keys))
    assert run([*place, verb, "last", "--reason", "why"]) == 0
    assert "what is recorded is not signed" in capsys.readouterr().err


def test_a_run_that_cannot_be_ended_is_said_at_the_beginning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with tape(tmp_path) as made:
        damaged = made.run([Call(answer=None)], close=False)
    attacker = Attacker(made.folder)
    attacker.put(damaged, 1, b"{")
    attacker.close()
    with upkeep.opened(Talk(), shared(made)):
        said, hint = capsys.readouterr().err.splitlines()
    assert damaged in said
    assert "cannot be ended" in said
    assert hint == f"hint: edgetape verify {damaged}"
    assert capsys.readouterr().err == ""


async def test_a_service_says_so_while_it_runs_and_once(
    restored: Tape, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(running, "WATCH_S", 0.01)
    desk, options = Desk(Writer.open(restored.folder, restored.keys)), RecorderOptions(Path())
    keeper = Keeper(Talk(), restored.folder, "127.0.0.1", None, lambda: options, as_json=False)
    watching, said = asyncio.create_task(Service(desk, options, {}, keeper)._watch()), ""
    try:
        while "is not signed" not in said and not watching.done():
            await asyncio.sleep(0.01)
            said += capsys.readouterr().err
        await asyncio.sleep(0.1)  # it looks ten times more
    finally:
        watching.cancel()
        desk.close()
    assert (said + capsys.readouterr().err).count("what is recorded is not signed") == 1

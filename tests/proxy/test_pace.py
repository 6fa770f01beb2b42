"""A command that records starts itself anew, optimised, where that is wanted and of use; nothing else does."""

import gc
import os
import sys
from collections.abc import Iterator

import pytest

from proxy import pace

type Started = list[list[str]]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """The command lines that this process would have become."""
    calls: Started = []
    monkeypatch.setattr(os, "execv", lambda _, argv: calls.append(argv))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "orig_argv", ["python", "-X", "dev", "/bin/edgetape", "record", "--", "true"])
    monkeypatch.delenv(pace.PLAIN_VARIABLE, raising=False)
    return calls


@pytest.mark.parametrize("asked", [["record", "--", "true"], ["--store", "x", "proxy", "--port", "0"], ["rebase", "x"]])
def test_a_recorder_is_optimised(started: Started, asked: list[str]) -> None:
    pace.optimise(asked)
    assert started == [[sys.executable, "-O", "-X", "dev", "/bin/edgetape", "record", "--", "true"]]


@pytest.mark.parametrize("verb, how", [("record", ["-O"]), ("runs", [])])
def test_a_password_does_not_stay_on_the_command_line(
    started: Started, monkeypatch: pytest.MonkeyPatch, verb: str, how: list[str]
) -> None:
    monkeypatch.delenv("EDGETAPE_STORE", raising=False)
    words = ["--store", "postgresql://me:geheim@db.test/tapes", verb]
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "proxy", *words])
    pace.optimise(words)
    assert started == [[sys.executable, *how, "-m", "proxy", verb]]
    assert os.environ.pop("EDGETAPE_STORE") == words[1]


@pytest.mark.parametrize("asked", [[], ["show", "last"], ["replay", "last", "--", "record"]])
def test_other_commands_are_not(started: Started, asked: list[str]) -> None:
    pace.optimise(asked)
    assert started == []


def test_who_wants_it_plain_gets_it_plain(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(pace.PLAIN_VARIABLE, "1")
    pace.optimise(["record"])
    assert started == []
    assert pace.loop_factory() is None
    before = gc.get_threshold()
    pace.settle()
    assert gc.get_threshold() == before


def test_where_no_compiled_module_can_be_kept_nothing_is_won(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "_is_cached", lambda: False)
    pace.optimise(["record"])
    assert started == []


def test_without_uvloop_the_standard_loop_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(pace.PLAIN_VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert pace.loop_factory() is None


@pytest.fixture
def collector() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


@pytest.mark.usefixtures("collector")
def test_what_is_loaded_is_left_alone_by_the_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(pace.PLAIN_VARIABLE, raising=False)
    pace.settle()
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold()[0] > 2_000

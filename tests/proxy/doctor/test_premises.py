"""Each thing that recording needs is told apart from one that can be done without, with what would change it."""

import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from proxy.doctor import premises
from store.writer import Writer


def test_a_store_that_is_not_there_yet_is_in_order_and_is_not_made(tmp_path: Path) -> None:
    found = premises.premises(tmp_path / "store", tmp_path / "keys", tmp_path / "authority")
    assert {each.name for each in found} == {"confinement", "store", "keys", "disk", "clock", "frozen time"}
    assert not any(each.state == "bad" for each in found)
    assert list(tmp_path.iterdir()) == []


def test_a_store_without_its_key_is_not_in_order(tmp_path: Path) -> None:
    Writer.open(tmp_path / "store", tmp_path / "keys").close()
    assert premises.store_opens(tmp_path / "store", tmp_path / "keys").state == "good"
    shutil.rmtree(tmp_path / "keys")
    found = premises.store_opens(tmp_path / "store", tmp_path / "keys")
    assert found.state == "bad"
    assert found.hint


def test_keys_that_others_can_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir(0o700)
    (tmp_path / "authority").mkdir(0o700)
    assert premises.keys_are_there(tmp_path / "keys", tmp_path / "authority").state == "good"
    (tmp_path / "authority").chmod(0o755)
    found = premises.keys_are_there(tmp_path / "keys", tmp_path / "authority")
    assert (found.state, found.hint) == ("bad", f"chmod 700 {tmp_path / 'authority'}")


def test_a_full_disk_and_a_clock_that_stands_in_the_past_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert premises.disk(tmp_path / "not" / "yet").state == "good"
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=4096))
    assert premises.disk(tmp_path).state == "bad"
    assert premises.clock().state == "good"
    monkeypatch.setattr(time, "time", lambda: 86_400.0)
    assert premises.clock().state == "bad"

"""The scan on the command line: what it finds, what it never prints, how it exits."""

import json
from pathlib import Path

import pytest

from proxy.cli import run
from tests.proxy.tape import folders, record_tape
from tests.store.test_scan import TOKEN, written


def test_a_recording_of_today_has_nothing_to_find(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = folders(tmp_path)
    record_tape(place)
    assert run([*place.options, "scan", "last"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "0 secrets in 1 run" in captured.err


def test_what_is_found_is_named_and_never_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "environment-secret")
    place = folders(tmp_path)
    recorded = written(tmp_path, careless=True)
    assert run([*place.options, "scan"]) == 1
    shown = capsys.readouterr()
    assert run([*place.options, "scan", recorded, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert {(each["seq"], each["pointer"], each["class"]) for each in told["findings"]} >= {
        (1, "/query", "query"),
        (2, "/body", "anthropic"),
        (3, "/body", "environment"),
    }
    assert told["unreadable"] == 0
    for said in (shown.out, shown.err, json.dumps(told)):
        assert TOKEN not in said
        assert "environment-secret" not in said
    assert "anthropic" in shown.out

"""What a run did to the world: classes, outcomes, receipts, and a retry told from a duplicate."""

import json
from pathlib import Path

import pytest

from proxy.cli import run
from proxy.views.effects import Effect, Outcome, related
from store.core.draft import Sheet
from store.core.model import HttpRequest
from store.core.redact import stored
from store.ticket import Ticket
from tests.proxy.tape import folders
from tests.replay_server.recording import Place, Recording


def effect(step: int, outcome: Outcome = "committed", identity: bytes = b"a", key: str | None = None) -> Effect:
    return Effect(step, "write", "POST x", outcome, 200, None, key, identity)


def relations(*told: Effect) -> list[tuple[str, int | None]]:
    return [(one.relation, one.of) for one in related(told)]


def test_the_same_bytes_committed_twice_are_a_duplicate() -> None:
    assert relations(effect(1), effect(2)) == [("", None), ("duplicate", 1)]


@pytest.mark.parametrize("first", ["open", "refused"])
def test_the_same_bytes_after_what_was_not_committed_are_a_retry(first: Outcome) -> None:
    assert relations(effect(1, first), effect(2)) == [("", None), ("retry", 1)]
    assert relations(effect(1, first), effect(2), effect(3))[2] == ("duplicate", 1)


def test_the_same_key_is_a_retry_whatever_came_of_it() -> None:
    assert relations(effect(1, key="k"), effect(2, key="k", identity=b"b")) == [("", None), ("retry", 1)]
    assert relations(effect(1, key="k"), effect(2, key="l", identity=b"b"))[1] == ("", None)
    assert relations(effect(1, key="k"), effect(2, key="l"))[1] == ("duplicate", 1)


def test_what_was_not_done_is_no_repeat() -> None:
    assert relations(effect(1), effect(2, "not done"))[1] == ("", None)


def tell(recording: Recording) -> None:
    recording.get("https://tools.example.com/rows")
    for status, body in ((503, b"{}"), (201, b'{"id": "order-7"}'), (201, b'{"id": "order-8"}')):
        recording.answer(order(recording), body, status=status)


def order(recording: Recording) -> Ticket:
    sheet = Sheet()
    labels = {"kind": "tool", "tool": "orders", "boundary": "effect", "effect": "write"}
    facts = HttpRequest(
        method="POST",
        scheme="https",
        host="tools.example.com",
        port=443,
        path="/orders",
        http_version="HTTP/1.1",
        headers=[],
        body=sheet.apart(stored(b'{"n": 1}')),
        kind=labels["kind"],
        tool=labels["tool"],
        boundary=labels["boundary"],
        effect=labels["effect"],
    )
    return recording.writer.append(recording.run, sheet.draft(facts))


def test_the_command_lists_them_and_its_exit_code_says_that_one_was_done_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Place(tmp_path).record(tell)
    options = folders(tmp_path).options
    assert run([*options, "effects", "last", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [(one["step"], one["outcome"], one["relation"], one["of"]) for one in told] == [
        (2, "open", None, None),
        (3, "committed", "retry", 2),
        (4, "committed", "duplicate", 2),
    ]
    assert told[0]["what"] == "orders: POST https://tools.example.com/orders"
    run([*options, "effects", "last"])
    said = capsys.readouterr()
    assert "duplicate of step 2" in said.out
    assert said.err == "edgetape: 3 effects, 2 committed, 1 duplicate\n"

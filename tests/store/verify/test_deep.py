"""`--deep`: what events say of bodies is derived from them again; a recorder that lied, or was wrong, is found."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from store.core import chunks
from store.core.chunks import Chunk
from store.core.draft import Sheet
from store.core.model import HttpRequest, HttpResponse
from store.core.redact import stored
from store.erasure import Erasure
from store.labels import classify
from store.labels.spelling import request_members, response_members
from store.labels.wire import Request
from store.verify import Terms, Verdict, verify
from tests.support.tape import Tape, tape

DEEP = Terms(deep=True)
HEADERS = [(b"content-type", b"application/json"), (b"traceparent", b"00-" + b"1" * 32 + b"-" + b"2" * 16 + b"-01")]
ASKED = json.dumps({"model": "m-1", "temperature": 0.5, "messages": [{"role": "user", "content": "hi"}]}).encode()
ANSWERED = json.dumps(
    {
        "id": "chatcmpl-1",
        "model": "m-1-2026",
        "choices": [{"finish_reason": "stop", "message": {"content": "hello"}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    }
).encode()


def exchange(made: Tape, run: str, asked: dict[str, Any], answered: dict[str, Any], body: bytes = ASKED) -> None:
    """One exchange with a model, labelled by the rules, with these members of its two events otherwise."""
    request = Request(b"POST", b"https", b"api.openai.com", 443, b"/v1/chat/completions?n=1", HEADERS, body)
    labels = classify.label(request)
    sheet = Sheet()
    facts = HttpRequest(
        method="POST",
        scheme="https",
        host="api.openai.com",
        port=443,
        path="/v1/chat/completions",
        query=sheet.apart(stored(b"n=1")),
        http_version="HTTP/1.1",
        headers=sheet.pairs([(stored(name), stored(value)) for name, value in HEADERS]),
        body=sheet.apart(stored(body)),
        **request_members(sheet, labels),
    )
    ticket = made.writer.append(run, sheet.draft(msgspec.structs.replace(facts, **asked)))
    sheet = Sheet()
    table = sheet.apart(stored(chunks.encode(answered.pop("pieces", [Chunk(len(ANSWERED), 7)]))))
    members = response_members(sheet, classify.response_labels(labels, 200, HEADERS[:1], ANSWERED))
    answer = HttpResponse(
        req=-1,
        status=200,
        http_version="HTTP/1.1",
        headers=sheet.pairs([(stored(name), stored(value)) for name, value in HEADERS[:1]]),
        ended="complete",
        framing="chunked",
        body=sheet.apart(stored(ANSWERED)),
        chunks=table,
        **members,
    )
    made.writer.append(run, sheet.draft(msgspec.structs.replace(answer, **answered)), after=ticket)


def recorded(folder: Path, asked: dict[str, Any], answered: dict[str, Any], body: bytes = ASKED) -> Verdict:
    """The deep verdict on a store with one such exchange; without `deep` nothing is wrong with it."""
    with tape(folder) as made:
        run = made.open()
        exchange(made, run, asked, answered, body)
        made.writer.close_run(run, "normal").result(30)
    assert verify(made.folder, made.keys).exit_code == 0
    return verify(made.folder, made.keys, terms=DEEP)


def test_what_the_rules_say_is_confirmed(tmp_path: Path) -> None:
    verdict = recorded(tmp_path, {}, {})
    assert (verdict.exit_code, verdict.findings) == (0, ())
    assert "FACTS_UNCHECKED" not in dict(verdict.flags)


def test_labels_that_are_long_or_too_many_for_an_envelope_are_confirmed(tmp_path: Path) -> None:
    model = "m" * 70_000
    many = {
        "model": model,
        "messages": [],
        **{f"setting_{n}": "x" * 3000 for n in range(40)},
        "stop": ["y" * 2000] * 30,
    }
    verdict = recorded(tmp_path, {}, {}, json.dumps(many).encode())
    assert (verdict.exit_code, verdict.findings) == (0, ())


REQUEST_LIES = [
    {"kind": "tool"},
    {"boundary": "input"},
    {"effect": "write"},
    {"operation": "embeddings"},
    {"tool": "a tool"},
    {"model": "m-2"},
    {"settings": None},
    {"settings": [["temperature", "0.6"]]},
    {"trace_id": "3" * 32},
    {"idempotency_key": "k"},
]
RESPONSE_LIES = [
    {"model": None},
    {"usage": [["prompt_tokens", 3], ["completion_tokens", 5]]},
    {"stop": "length"},
    {"tools": ["run"]},
    {"provider_request_id": "chatcmpl-2"},
    {"receipt": "r"},
    {"pieces": [Chunk(len(ANSWERED) - 1, 7)]},
]


@pytest.mark.parametrize("lie", REQUEST_LIES, ids=str)
def test_t59_a_fact_of_a_request_that_its_body_does_not_give_is_found(lie: dict[str, Any], tmp_path: Path) -> None:
    verdict = recorded(tmp_path, lie, {})
    assert [(each.code, each.seq) for each in verdict.findings] == [("V620", 1)]
    assert verdict.exit_code == 20


@pytest.mark.parametrize("lie", RESPONSE_LIES, ids=str)
def test_t59_a_fact_of_an_answer_that_its_body_does_not_give_is_found(lie: dict[str, Any], tmp_path: Path) -> None:
    verdict = recorded(tmp_path, {}, dict(lie))
    assert [(each.code, each.seq) for each in verdict.findings] == [("V620", 2)]
    assert verdict.exit_code == 20


def test_a_table_of_pieces_that_is_none_is_found(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        sheet, run = Sheet(), made.open()
        bad, body = sheet.apart(stored(b"\xff")), sheet.apart(stored(b"x"))
        answer = HttpResponse(
            req=1, status=200, http_version="HTTP/1.1", headers=[], ended="complete", framing="chunked", body=body,
            chunks=bad,
        )  # fmt: skip
        made.writer.append(run, sheet.draft(answer)).result(30)
    assert [each.code for each in verify(made.folder, made.keys, terms=DEEP).findings] == ["V620"]


def test_what_newer_rules_derived_is_incomplete_and_not_wrong(tmp_path: Path) -> None:
    newer = {"rules": "edgetape/labels/999", "model": "m-2"}
    verdict = recorded(tmp_path, newer, newer)
    assert (verdict.exit_code, verdict.findings) == (30, ())
    assert "edgetape/labels/999" in verdict.newer[0]
    assert len(verdict.newer) == 1


def test_what_names_no_rules_was_not_derived(tmp_path: Path) -> None:
    claimed = {"rules": None, "model": "m-2"}
    assert recorded(tmp_path, claimed, claimed).exit_code == 0


def test_facts_of_erased_bodies_are_counted_and_not_judged(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        run = made.open()
        exchange(made, run, {"model": "a lie"}, {})
        exchange(made, run, {}, {})
        made.writer.close_run(run, "normal").result(30)
        made.writer.erase(Erasure(run, (1, 4), "operator", "a reason")).result(30)
    verdict = verify(made.folder, made.keys, terms=DEEP)
    assert (verdict.exit_code, verdict.findings) == (0, ())
    assert dict(verdict.flags)["FACTS_UNCHECKED"] == 2


def test_several_processes_judge_the_same(tmp_path: Path) -> None:
    verdict = recorded(tmp_path, {"model": "m-2"}, {})
    assert verify(tmp_path / "store", tmp_path / "keys", terms=DEEP, jobs=2) == verdict

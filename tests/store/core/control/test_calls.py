"""A request to the control endpoint asks for one thing, or is told why it does not."""

import json
from typing import Any

import pytest

from store.core.control import calls, describe
from store.core.control.calls import Noted, Said, Spawned, Wanted, call, is_ours


@pytest.mark.parametrize(
    "method, path, query, body, wanted",
    [
        ("GET", "/v1/now", "", b"", Wanted("now")),
        ("GET", "/v1/uuid", "any=1", b"", Wanted("uuid")),
        ("GET", "/v1/random", "", b"", Wanted("random", 16)),
        ("GET", "/v1/random", "bytes=4096", b"", Wanted("random", 4096)),
        ("POST", "/v1/runs", "", b"", Spawned()),
        ("POST", "/v1/runs", "", b'{"name": "a"}', Spawned("a")),
        ("POST", "/v1/notes", "", b'{"kind":"state","name":"x"}', Noted("state", b'{"kind":"state","name":"x"}')),
    ],
)
def test_a_call_is_read(method: str, path: str, query: str, body: bytes, wanted: object) -> None:
    assert call(method, path, query, (), body) == wanted


@pytest.mark.parametrize("kind", describe.NEEDED)
def test_a_note_says_what_its_kind_needs(kind: str) -> None:
    examples: dict[type, Any] = {str: "x", bool: True, list: []}
    whole = {"kind": kind, **{name: examples[form] for name, form in describe.NEEDED[kind].items()}, "more": {"a": 1}}
    assert isinstance(call("POST", "/v1/notes", "", (), json.dumps(whole).encode()), Noted)
    for name in describe.NEEDED[kind]:
        for wrong in ({**whole, name: 5}, {key: value for key, value in whole.items() if key != name}):
            said = call("POST", "/v1/notes", "", (), json.dumps(wrong).encode())
            assert isinstance(said, Said)
            assert said.status == 400
            assert name in json.loads(said.body)["detail"]


def test_the_document_knows_every_call_and_every_kind_of_note() -> None:
    document = describe.openapi()
    for path, methods in document["paths"].items():
        for method in methods:
            said = call(method.upper(), path, "", (), b"")
            assert not isinstance(said, Said) or said.status == 400
    content = document["paths"]["/v1/notes"]["post"]["requestBody"]["content"]["application/json"]
    kinds = {form["properties"]["kind"]["const"]: set(form["required"]) for form in content["schema"]["oneOf"]}
    assert kinds == {kind: {"kind", *needed} for kind, needed in describe.NEEDED.items()}
    assert document["paths"]["/v1/random"]["get"]["parameters"][0]["schema"]["maximum"] == calls.RANDOM_BYTES_MAX


def test_a_wrong_method_is_told_the_right_one_and_nobody_keeps_an_answer() -> None:
    said = call("DELETE", "/v1/notes", "", (), b"")
    assert isinstance(said, Said)
    assert (said.status, dict(said.headers)[b"Allow"]) == (405, b"POST")
    assert dict(said.headers)[b"Cache-Control"] == b"no-store"


@pytest.mark.parametrize(
    "host, ours", [("edgetape.internal", True), ("EdgeTape.Internal.", True), ("x.edgetape.internal", False)]
)
def test_the_endpoint_has_one_name(host: str, ours: bool) -> None:
    assert is_ours(host) is ours

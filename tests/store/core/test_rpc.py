"""JSON-RPC messages are told apart, and an answer takes another id without losing a byte of the rest."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.rpc import Message, failure, message, with_id


@pytest.mark.parametrize(
    "raw, method, id_, asks, answers",
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', "tools/list", "1", True, False),
        (b'{"jsonrpc":"2.0","method":"notifications/initialized"}', "notifications/initialized", "", False, False),
        (b'{"jsonrpc":"2.0","id":"a\\"b","result":{}}', "", '"a\\"b"', False, True),
        (b'{"jsonrpc":"2.0","id":null,"error":{}}', "", "", False, False),
        (b'{"jsonrpc":"2.0","id":1e3,"result":{}}', "", "1e3", False, True),
        (b"[1]", "", "", False, False),
        (b"no JSON", "", "", False, False),
        (b"\xff", "", "", False, False),
    ],
)
def test_a_message_is_told_apart(raw: bytes, method: str, id_: str, asks: bool, answers: bool) -> None:
    said = message(raw)
    assert (said.method, said.id, said.is_request, said.is_answer) == (method, id_, asks, answers)


def test_the_tool_of_a_call_belongs_to_what_it_asks_for() -> None:
    raw = b'{"id":1,"method":"tools/call","params":{"name":"add","arguments":{}}}'
    assert message(raw).words == "tools/call add"
    assert message(b'{"id":1,"method":"prompts/get","params":{"name":"add"}}').words == "prompts/get"
    assert message(b"") == Message()


@given(was=st.integers() | st.text(max_size=5), now=st.integers() | st.text(max_size=5), result=st.text())
def test_an_answer_takes_another_id(was: int | str, now: int | str, result: str) -> None:
    raw = json.dumps({"jsonrpc": "2.0", "id": was, "result": {"id": was, "text": result}}).encode()
    changed = json.loads(with_id(raw, json.dumps(now)))
    assert changed == {"jsonrpc": "2.0", "id": now, "result": {"id": was, "text": result}}


def test_all_else_of_an_answer_stays_as_it_was_spelled() -> None:
    raw = b'{ "result":{"id":7,"n":1.0}, "jsonrpc":"2.0","id" : 7,  "x":{"id":7} }'
    assert with_id(raw, '"x"') == raw.replace(b'"id" : 7', b'"id" : "x"')
    assert with_id(b"no answer", "8") == b"no answer"


def test_a_failure_is_an_answer() -> None:
    assert json.loads(failure('"a"', 'it "broke"')) == {
        "jsonrpc": "2.0",
        "id": "a",
        "error": {"code": -32000, "message": 'it "broke"'},
    }

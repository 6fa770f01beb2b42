"""MCP over HTTP by its methods and session headers; other JSON-RPC is a tool."""

import pytest

from store.labels.classify import label, read, response_labels
from store.labels.wire import Request
from tests.store.labels.exchanges import answer, post, request, stream

SESSION = {"mcp-session-id": "1", "accept": "application/json, text/event-stream"}
URL = "https://tools.example/mcp"


def rpc(method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


CALL = post(URL, rpc("tools/call", name="lookup", arguments={"code": "GB"}), SESSION)


@pytest.mark.parametrize(
    "asked, operation, tool, effect, boundary",
    [
        (CALL, "tools/call", "lookup", "unknown", "effect"),
        (post(URL, rpc("initialize")), "initialize", None, "read", "input"),
        (post(URL, rpc("tools/list")), "tools/list", None, "read", "input"),
        (post(URL, rpc("prompts/get", name="greet")), "prompts/get", "greet", "read", "input"),
        (post(URL, rpc("notifications/initialized")), "notifications/initialized", None, "read", "input"),
        (post(URL, rpc("vendor/thing"), SESSION), "vendor/thing", None, "read", "input"),
        (post(URL, {"jsonrpc": "2.0", "id": 1, "result": {}}, SESSION), "answer", None, "read", "input"),
        (post(URL, [{"jsonrpc": "2.0"}, rpc("tools/call", name="a")]), "tools/call", "a", "unknown", "effect"),
        (request("GET", URL, headers=SESSION), "listen", None, "read", "input"),
        (request("DELETE", URL, headers=SESSION), "end", None, "idempotent", "input"),
    ],
)
def test_an_mcp_message_is_known(asked: Request, operation: str, tool: str | None, effect: str, boundary: str) -> None:
    labels = label(asked)
    assert labels.kind == "mcp"
    assert (labels.operation, labels.tool, labels.effect, labels.boundary) == (operation, tool, effect, boundary)


def test_other_json_rpc_is_a_tool_of_unknown_effect() -> None:
    labels = label(post("https://agents.example/", rpc("message/send")))
    assert (labels.kind, labels.operation, labels.effect) == ("tool", "message/send", "unknown")


@pytest.mark.parametrize("body", [{"jsonrpc": "1.0", "method": "tools/call"}, {"method": "tools/call"}, [], [1]])
def test_what_is_no_json_rpc_is_a_plain_post(body: object) -> None:
    assert label(post(URL, body)).operation == "POST"


RESULT = {"content": [{"type": "text", "text": "two"}, {"type": "text", "text": " parts"}], "isError": False}


def test_a_result_is_read_from_json_and_from_a_stream() -> None:
    said = {"jsonrpc": "2.0", "id": 1, "result": RESULT}
    progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}
    assert read(label(CALL), answer(said)).text == "two parts"
    assert read(label(CALL), stream([progress, said])).text == "two parts"
    assert read(label(CALL), answer({"jsonrpc": "2.0", "id": 1, "result": {"tools": []}})).text == '{"tools":[]}'
    assert read(label(CALL), answer(b"", 202)).text == ""


@pytest.mark.parametrize(
    "said, reason",
    [
        ({"result": RESULT | {"isError": True}}, "two parts"),
        ({"error": {"code": -32602, "message": "Unknown tool"}}, "Unknown tool"),
    ],
)
def test_a_failed_tool_says_so(said: object, reason: str) -> None:
    response = answer(said)
    assert read(label(CALL), response).error == reason
    assert response_labels(label(CALL), 200, response.headers, response.body).stop == "error"

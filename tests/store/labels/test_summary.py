"""One line for a timeline: what was asked and what came back, harmless for a terminal."""

import pytest

from store.labels.summary import summary
from store.labels.wire import Request, Response
from tests.store.labels.exchanges import answer, post, request, stream

CHAT_URL = "https://api.openai.com/v1/chat/completions"
MESSAGE = {"role": "user", "content": "hi"}
CHAT = post(CHAT_URL, {"model": "gpt-4o", "messages": [MESSAGE] * 12})
LOOKUP = request("GET", "https://tools.example/db/compliance.json?code=GB-SCT")


def said(message: object, finish: str = "stop", **more: object) -> Response:
    return answer({"choices": [{"message": message, "finish_reason": finish}], **more})


@pytest.mark.parametrize(
    "response, expected",
    [
        (
            said({"content": "The contract is fine."}, usage={"completion_tokens": 34}),
            '"The contract is fine." 34 tokens',
        ),
        (said({"content": "one " * 40}), '"one one one one one one one one one one one one…"'),
        (said({"content": "cut"}, "length"), '"cut", cut at its limit'),
        (said({"content": ""}, "content_filter"), "refused"),
        (said({"content": ""}), "nothing (stop)"),
        (
            said({"tool_calls": [{"function": {"name": "lookup", "arguments": '{"code":"GB","n":2}'}}]}),
            'calls lookup(code="GB", n=2)',
        ),
        (answer({"error": {"message": "Rate limit reached"}}, 429), '429, "Rate limit reached"'),
        (answer(b"", 503), "503, unavailable"),
        (answer(b"", 599), "599, server error"),
        (stream([{"error": {"message": "overloaded"}}]), 'error: "overloaded"'),
        (answer({"odd": 1}), '200, {"odd":1}'),
        (None, "no answer"),
    ],
)
def test_a_question_to_a_model(response: Response | None, expected: str) -> None:
    assert summary(CHAT, response) == f"asked gpt-4o (12 messages) -> {expected}"


@pytest.mark.parametrize(
    "body, expected",
    [
        ([], "200, empty list"),
        ({}, "200, empty object"),
        ([1, 2, 3], "200, list of 3"),
        ({"risk": "low"}, '200, {"risk":"low"}'),
        (
            {"ok": True, "next": None, "rows": [], "truncated": False},
            "200, object with rows (empty list), ok, next, truncated",
        ),
        (
            dict.fromkeys("abcdefghi", "a value too long to be shown whole"),
            "200, object with a, b, c, d, e, f and 3 more",
        ),
        (True, "200, true"),
        ("text", '200, "text"'),
        (b"\x1b[31mred\nand\x07 more", '200, "\ufffd[31mred and\ufffd more"'),
        (b"", "200, no body"),
    ],
)
def test_a_tool_that_answers_json(body: object, expected: str) -> None:
    headers = {"content-type": "text/plain"} if isinstance(body, bytes) else {}
    assert summary(LOOKUP, answer(body, headers=headers)) == f"GET compliance.json?code=GB-SCT -> {expected}"


def test_a_tool_that_answers_something_else() -> None:
    picture = answer(bytes(35_000), headers={"content-type": "image/png"})
    assert summary(LOOKUP, picture).endswith("-> 200, 35 kB of image/png")
    unreadable = answer(b"abc", headers={"content-encoding": "secret"})
    assert summary(LOOKUP, unreadable).endswith("-> 200, 3 bytes that cannot be read")


@pytest.mark.parametrize(
    "asked, response, expected",
    [
        (
            post("https://api.anthropic.com/v1/messages", {"model": "claude-1", "messages": [MESSAGE]}),
            answer({"content": [{"type": "text", "text": "Hi"}], "usage": {"output_tokens": 1}}),
            'asked claude-1 (1 message) -> "Hi" 1 token',
        ),
        (
            post("https://api.openai.com/v1/responses", {"model": "gpt-5", "input": "hi"}),
            answer({"output": [{"type": "message", "content": [{"text": "Hi"}]}]}),
            'asked gpt-5 (1 message) -> "Hi"',
        ),
        (
            post("http://h/v1/embeddings", {"model": "e", "input": ["a", "b"]}),
            answer({"data": [{}, {}]}),
            "embedded 2 texts with e -> 2 vectors",
        ),
        (
            post("http://h/mcp", {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "lookup"}}),
            answer({"result": {"content": [{"text": "[]"}]}}),
            "called lookup over MCP -> empty list",
        ),
        (
            post("http://h/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}),
            answer(b"", 202),
            "notifications/initialized over MCP -> 202, no body",
        ),
        (
            post("http://h/", {"jsonrpc": "2.0", "method": "message/send"}),
            answer({"result": 1}),
            'called message/send at h -> 200, {"result":1}',
        ),
        (
            request("POST", "https://login.example/oauth/token", b"grant_type=x"),
            answer({"access_token": "not to be shown"}),
            "fetched a token from login.example -> 200",
        ),
        (
            post("https://api.segment.io/v1/batch", {"events": ["not to be shown"]}),
            answer({"success": True}),
            "sent telemetry to api.segment.io -> 200",
        ),
        (request("GET", "https://tools.example/"), answer(b"", 404), "GET tools.example -> 404, not found"),
    ],
)
def test_every_kind_in_its_own_words(asked: Request, response: Response, expected: str) -> None:
    assert summary(asked, response) == expected

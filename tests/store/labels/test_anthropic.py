"""The Anthropic dialect: messages as JSON and as a stream, wherever they are served."""

import pytest

from store.labels.classify import label, read, response_labels
from store.labels.dialect import Answer, Call
from store.labels.wire import Request
from tests.store.labels.exchanges import answer, post, request, stream

VERSION = {"anthropic-version": "2023-06-01"}
BODY = {"model": "claude-sonnet-4-5", "max_tokens": 64, "messages": [{"role": "user", "content": "hi"}]}
ASKED = post("https://api.anthropic.com/v1/messages?beta=true", BODY, VERSION)
VERTEX = "https://aiplatform.example/v1/projects/p/locations/l/publishers/anthropic/models/claude-x%402025:rawPredict"


@pytest.mark.parametrize(
    "asked, model",
    [
        (ASKED, "claude-sonnet-4-5"),
        (post("http://localhost:4000/v1/messages", BODY), "claude-sonnet-4-5"),
        (post("http://gateway.example/anthropic/v1/messages", BODY), "claude-sonnet-4-5"),
        (post("http://gateway.example/", BODY, VERSION), "claude-sonnet-4-5"),
        (post(VERTEX, {"messages": [], "anthropic_version": "vertex-2023-10-16"}), "claude-x@2025"),
        (post("http://localhost/v1/messages", b""), None),
        (post("https://api.anthropic.com/v1/messages", b"not JSON"), None),
    ],
)
def test_a_request_for_a_message_is_known(asked: Request, model: str | None) -> None:
    labels = label(asked)
    assert (labels.kind, labels.operation, labels.boundary) == ("llm", "messages", "decision")
    assert labels.model == model


@pytest.mark.parametrize(
    "asked, kind, operation",
    [
        (post("https://chat.example/v1/messages", {"to": "x", "text": "hello"}), "tool", "POST"),
        (post("https://chat.example/messages", b""), "tool", "POST"),
        (request("GET", "https://chat.example/v1/messages"), "tool", "GET"),
        (post("https://api.anthropic.com/v1/messages/count_tokens", BODY), "other", "messages.count_tokens"),
        (post("https://api.anthropic.com/v1/messages/batches", {"requests": []}, VERSION), "other", None),
    ],
)
def test_neighbours_are_told_apart(asked: Request, kind: str, operation: str | None) -> None:
    labels = label(asked)
    assert (labels.kind, labels.operation) == (kind, operation)


def test_settings_and_remote_tools_are_seen() -> None:
    body = BODY | {"temperature": 0.5, "thinking": {"type": "enabled", "budget_tokens": 1024}, "mcp_servers": []}
    labels = label(post("https://api.anthropic.com/v1/messages", body))
    assert dict(labels.settings)["thinking"] == '{"type": "enabled", "budget_tokens": 1024}'
    assert labels.effect == "unknown"


def test_a_message_is_read() -> None:
    content = [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "toolu_1", "name": "lookup", "input": {"code": "GB"}},
    ]
    usage = {"input_tokens": 3, "cache_creation": {"ephemeral_5m_input_tokens": 1}, "output_tokens": 4, "tier": "x"}
    body = {"id": "msg_1", "model": "claude-1", "content": content, "stop_reason": "tool_use", "usage": usage}
    assert read(label(ASKED), answer(body)) == Answer(
        text="Looking.",
        calls=(Call("lookup", '{"code":"GB"}', "toolu_1"),),
        reasoning="Hm.",
        model="claude-1",
        usage=(("input_tokens", 3), ("cache_creation.ephemeral_5m_input_tokens", 1), ("output_tokens", 4)),
        stop="tool_use",
        id="msg_1",
    )


def delta(place: int, **piece: str) -> dict[str, object]:
    return {"type": "content_block_delta", "index": place, "delta": piece}


def start(place: int, block: dict[str, object]) -> dict[str, object]:
    return {"type": "content_block_start", "index": place, "content_block": block}


STREAM = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "model": "claude-1",
            "content": [],
            "usage": {"input_tokens": 3, "output_tokens": 1},
        },
    },
    {"type": "ping"},
    start(0, {"type": "thinking", "thinking": "", "signature": ""}),
    delta(0, type="thinking_delta", thinking="Hm"),
    delta(0, type="thinking_delta", thinking="."),
    start(1, {"type": "text", "text": ""}),
    delta(1, type="text_delta", text="Look"),
    delta(1, type="text_delta", text="ing."),
    start(2, {"type": "tool_use", "id": "toolu_1", "name": "lookup", "input": {}}),
    delta(2, type="input_json_delta", partial_json='{"code": '),
    delta(2, type="input_json_delta", partial_json='"GB"}'),
    start(3, {"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}}),
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
]


def test_a_streamed_message_is_put_together() -> None:
    response = stream(STREAM, {"request-id": "req_1"})
    assert read(label(ASKED), response) == Answer(
        text="Looking.",
        calls=(Call("lookup", '{"code": "GB"}', "toolu_1"), Call("now", "{}", "toolu_2")),
        reasoning="Hm.",
        model="claude-1",
        usage=(("input_tokens", 3), ("output_tokens", 9)),
        stop="tool_use",
        id="msg_1",
    )
    labels = response_labels(label(ASKED), 200, response.headers, response.body)
    assert (labels.tools, labels.provider_request_id) == (("lookup", "now"), "req_1")


def test_a_cut_stream_gives_what_came_and_an_error_event_its_reason() -> None:
    broken = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    found = read(label(ASKED), stream([*STREAM[:7], broken]))
    assert (found.text, found.reasoning, found.stop, found.error) == ("Look", "Hm.", "", "Overloaded")


def test_a_count_of_tokens_is_usage() -> None:
    asked = label(post("https://api.anthropic.com/v1/messages/count_tokens", BODY))
    assert read(asked, answer({"input_tokens": 1114})).usage == (("input_tokens", 1114),)

"""The Bedrock dialect: Converse and InvokeModel, whole and as AWS's event stream."""

import base64
import json
import struct
import zlib
from collections.abc import Iterable

import pytest

from store.labels.classify import label, read, response_labels
from store.labels.dialect import Answer, Call
from store.labels.wire import Response
from tests.store.labels.exchanges import answer, post

HOST = "https://bedrock-runtime.us-east-1.amazonaws.com"
MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
ASKED = post(
    f"{HOST}/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
    {
        "messages": [{"role": "user", "content": [{"text": "hi"}]}],
        "inferenceConfig": {"maxTokens": 9, "topP": 0},
    },
)


def framed(messages: Iterable[tuple[str, object]]) -> Response:
    """AWS's event stream of (event type, payload)."""
    body = b"".join(_message(kind, json.dumps(said).encode()) for kind, said in messages)
    return Response(200, [(b"content-type", b"application/vnd.amazon.eventstream")], body)


def _message(kind: str, payload: bytes) -> bytes:
    name = b":exception-type" if kind.endswith("Exception") else b":event-type"
    headers = b"".join(_header(*pair) for pair in ((b":message-type", b"event"), (name, kind.encode())))
    lengths = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = lengths + struct.pack(">I", zlib.crc32(lengths)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))


def _header(name: bytes, value: bytes) -> bytes:
    return bytes([len(name)]) + name + b"\x07" + struct.pack(">H", len(value)) + value


def test_a_request_to_converse_is_known_with_its_model_and_settings() -> None:
    labels = label(ASKED)
    assert (labels.kind, labels.boundary, labels.operation, labels.model) == ("llm", "decision", "converse", MODEL)
    assert dict(labels.settings) == {"maxTokens": "9", "topP": "0"}


@pytest.mark.parametrize(
    "path, body, kind, operation",
    [
        ("amazon.titan-embed-text-v2:0/invoke", {"inputText": "a"}, "embedding", "bedrock.embed"),
        ("arn%3Aaws%3Abedrock/invoke", {"inputText": "a"}, "embedding", "bedrock.embed"),
        ("amazon.titan-text/invoke", {"inputText": "a", "textGenerationConfig": {}}, "llm", "bedrock.invoke"),
        ("anthropic.claude/invoke", {"anthropic_version": "bedrock-2023-05-31", "messages": []}, "llm", "messages"),
        ("anthropic.claude/count-tokens", {"input": {}}, "other", "bedrock.count_tokens"),
        ("meta.llama/invoke-with-response-stream", {"prompt": "a"}, "llm", "bedrock.invoke"),
    ],
)
def test_what_lies_beside_it_is_told_apart(path: str, body: object, kind: str, operation: str) -> None:
    labels = label(post(f"{HOST}/model/{path}", body))
    assert (labels.kind, labels.operation) == (kind, operation)


def test_an_answer_is_read() -> None:
    content = [
        {"reasoningContent": {"reasoningText": {"text": "Hm."}}},
        {"text": "Looking."},
        {"toolUse": {"toolUseId": "t1", "name": "lookup", "input": {"code": "GB"}}},
    ]
    body = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "tool_use",
        "usage": {"inputTokens": 5, "outputTokens": 7},
    }
    told = response_labels(label(ASKED), 200, answer(body).headers, json.dumps(body).encode())
    assert (told.stop, told.tools, told.usage) == ("tool_use", ("lookup",), (("inputTokens", 5), ("outputTokens", 7)))
    assert read(label(ASKED), answer(body)) == Answer(
        text="Looking.",
        reasoning="Hm.",
        calls=(Call("lookup", '{"code":"GB"}', "t1"),),
        usage=(("inputTokens", 5), ("outputTokens", 7)),
        stop="tool_use",
    )


STREAM = (
    ("messageStart", {"role": "assistant"}),
    ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "Hm."}}}),
    ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"text": "Look"}}),
    ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"text": "ing."}}),
    ("contentBlockStart", {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "t1", "name": "lookup"}}}),
    ("contentBlockDelta", {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '{"code":'}}}),
    ("contentBlockDelta", {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '"GB"}'}}}),
    ("messageStop", {"stopReason": "tool_use"}),
    ("metadata", {"usage": {"inputTokens": 5, "outputTokens": 7}, "metrics": {"latencyMs": 1}}),
)


def test_a_stream_is_put_together() -> None:
    assert read(label(ASKED), framed(STREAM)) == Answer(
        text="Looking.",
        reasoning="Hm.",
        calls=(Call("lookup", '{"code":"GB"}', "t1"),),
        usage=(("inputTokens", 5), ("outputTokens", 7)),
        stop="tool_use",
    )


def test_a_stream_that_is_cut_is_read_as_far_as_it_came() -> None:
    whole = framed(STREAM).body
    for end in range(0, len(whole), 7):
        cut = Response(200, framed(()).headers, whole[:end])
        assert "Looking.".startswith(read(label(ASKED), cut).text)


def test_a_complaint_is_read() -> None:
    assert read(label(ASKED), answer({"message": "no such model"}, 400)).error == "no such model"
    broken = framed((*STREAM[:3], ("throttlingException", {"message": "slow down"})))
    assert read(label(ASKED), broken).error == "slow down"


def test_what_a_model_says_in_its_own_dialect_is_read_in_it() -> None:
    asked = post(
        f"{HOST}/model/anthropic.claude/invoke-with-response-stream", {"anthropic_version": "b", "messages": []}
    )
    events = (
        {"type": "message_start", "message": {"id": "m1", "model": "claude", "usage": {"input_tokens": 3}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Yes."}},
    )
    chunks = (("chunk", {"bytes": base64.b64encode(json.dumps(event).encode()).decode()}) for event in events)
    told = read(label(asked), framed(chunks))
    assert (told.text, told.model, told.usage) == ("Yes.", "claude", (("input_tokens", 3),))
    titan = post(f"{HOST}/model/amazon.titan-text/invoke", {"inputText": "a", "textGenerationConfig": {}})
    assert read(label(titan), answer({"results": [{"outputText": "Yes."}]})).text == "Yes."

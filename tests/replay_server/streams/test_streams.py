"""A streamed message taken apart and put together again is the same message; unknown members stay."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from replay_server.streams import Form, completions, contents, form_of, messages, responses
from store.labels.wire import Response
from tests.support import anthropic_shape, gemini_shape, openai_shape
from tests.support.dialogue import ToolCall, Turn

TURNS = (
    Turn(1, "m1", ("Low", " risk", "."), None, "stop", 7),
    Turn(2, "m1", (), ToolCall("look_up", {"code": "GB", "n": 1.0}), "tool", 7),
)
RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Low risk, I think.", "annotations": []}],
        },
        {"type": "function_call", "id": "fc_1", "call_id": "c_1", "name": "f", "arguments": '{"a":1}'},
    ],
    "usage": {"input_tokens": 3, "output_tokens": 4},
}


def read(pieces: Iterable[bytes]) -> list[dict[str, Any]]:
    return list(Response(200, ((b"Content-Type", b"text/event-stream"),), b"".join(pieces)).messages)


@pytest.mark.parametrize("turn", TURNS)
def test_a_completion_comes_together_as_the_one_that_is_not_streamed(turn: Turn) -> None:
    events = read(openai_shape.events(turn, usage=True))
    assert form_of(events) is completions
    whole = completions.assembled(events)
    plain = json.loads(openai_shape.completion(turn))
    plain["choices"][0]["message"].pop("refusal")
    plain["choices"][0].pop("logprobs")
    if turn.tool is not None:
        plain["choices"][0]["message"]["content"] = None
    assert whole == plain
    assert completions.assembled(read(completions.streamed(whole))) == whole


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize(
    "form, streamed, plain",
    [
        (contents, gemini_shape.events, gemini_shape.content),
        (messages, anthropic_shape.events, anthropic_shape.message),
    ],
    ids=["contents", "a message"],
)
def test_it_comes_together_as_the_one_that_is_not_streamed(
    form: Form, streamed: Callable[[Turn], Iterable[bytes]], plain: Callable[[Turn], bytes], turn: Turn
) -> None:
    events = read(streamed(turn))
    assert form_of(events) is form
    whole = form.assembled(events)
    assert whole == json.loads(plain(turn))
    assert form.assembled(read(form.streamed(whole))) == whole


def test_contents_keep_thoughts_signatures_and_candidates_apart() -> None:
    def said(*parts: object, **more: object) -> dict[str, Any]:
        return {
            "candidates": [{"index": 0, "content": {"role": "model", "parts": list(parts)}, **more}],
            "responseId": "r",
        }

    signed = {"text": "", "thoughtSignature": "c2ln"}
    events = [
        said({"text": "Let me ", "thought": True}),
        said({"text": "think.", "thought": True}),
        said({"text": "Low"}),
        said({"text": " risk."}, signed),
        {"candidates": [{"index": 1, "finishReason": "SAFETY"}]},
        {**said(finishReason="STOP"), "usageMetadata": {"totalTokenCount": 4}},
    ]
    whole = contents.assembled(events)
    parts = [{"text": "Let me think.", "thought": True}, {"text": "Low risk."}, signed]
    assert whole["candidates"] == [
        {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"},
        {"index": 1, "finishReason": "SAFETY"},
    ]
    again = read(contents.streamed(whole))
    assert contents.assembled(again) == whole
    assert [one for one in again if "usageMetadata" in one] == again[-1:]
    blocked: dict[str, Any] = {"candidates": [], "promptFeedback": {"blockReason": "OTHER"}}
    assert contents.assembled(read(contents.streamed(blocked))) == {"promptFeedback": {"blockReason": "OTHER"}}


def test_a_response_is_streamed_item_by_item_and_whole_at_its_end() -> None:
    events = read(responses.streamed(RESPONSE))
    assert form_of(events) is responses
    assert responses.assembled(events) == RESPONSE
    assert [one["sequence_number"] for one in events] == list(range(len(events)))
    deltas = [one["delta"] for one in events if one["type"] == "response.output_text.delta"]
    assert "".join(deltas) == "Low risk, I think."
    assert [one["type"] for one in events][:2] == ["response.created", "response.in_progress"]


def test_a_response_whose_end_has_no_output_is_put_together_from_its_items() -> None:
    events = read(responses.streamed(RESPONSE))
    events[-1] = {**events[-1], "response": {**RESPONSE, "output": []}}
    assert responses.assembled(events) == RESPONSE


def test_members_that_nobody_here_knows_come_back() -> None:
    chunk: dict[str, Any] = {
        "id": "c",
        "x_extra": 1,
        "choices": [{"index": 0, "delta": {"reasoning_content": "Hm", "odd": [1]}}],
    }
    more: dict[str, Any] = {
        "id": "c",
        "choices": [{"index": 0, "delta": {"reasoning_content": "m."}, "finish_reason": "stop"}],
    }
    whole = completions.assembled([chunk, more])
    assert whole["x_extra"] == 1
    assert whole["choices"] == [
        {"index": 0, "message": {"reasoning_content": "Hmm.", "odd": [1]}, "finish_reason": "stop"}
    ]
    thinking: dict[str, Any] = {"type": "thinking", "thinking": "So it is.", "signature": "abc=="}
    message: dict[str, Any] = {
        "id": "m",
        "content": [thinking, {"type": "redacted_thinking", "data": "x"}],
        "stop_reason": "end_turn",
    }
    again = messages.assembled(read(messages.streamed(message)))
    assert again["content"] == message["content"]


def test_no_other_stream_has_a_form() -> None:
    assert form_of([{"jsonrpc": "2.0", "result": {}}]) is None
    assert form_of([]) is None

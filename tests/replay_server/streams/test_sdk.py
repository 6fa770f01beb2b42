"""The makers' own clients read what we stream: text, tool calls, and what they add up to."""

from typing import Any

import anthropic
import httpx2
import openai

from replay_server.streams import completions, messages, responses
from store.labels.wire import Response
from tests.replay_server.streams.test_streams import RESPONSE
from tests.support import anthropic_shape, openai_shape
from tests.support.dialogue import ToolCall, Turn

TEXT = Turn(1, "m1", ("Low", " risk", ", I think."), None, "stop", 7)
CALL = Turn(2, "m1", (), ToolCall("look_up", {"code": "GB-SCT"}), "tool", 7)
EVENTS = {"content-type": "text/event-stream"}


def answering(pieces: list[bytes]) -> httpx2.Client:
    """A client whose every request is answered with this stream."""
    answer = httpx2.Response(200, content=b"".join(pieces), headers=EVENTS)
    return httpx2.Client(transport=httpx2.MockTransport(lambda _: answer))


def read(pieces: tuple[bytes, ...]) -> list[dict[str, Any]]:
    return list(Response(200, ((b"Content-Type", b"text/event-stream"),), b"".join(pieces)).messages)


def test_openai_reads_a_completion_with_text_and_with_a_tool_call() -> None:
    for turn in (TEXT, CALL):
        whole = completions.assembled(read(openai_shape.events(turn, True)))
        client = openai.OpenAI(api_key="x", base_url="http://x/v1", http_client=answering(completions.streamed(whole)))
        with client.chat.completions.stream(model="m1", messages=[{"role": "user", "content": "q"}]) as stream:
            final = stream.get_final_completion()
        (choice,) = final.choices
        assert choice.message.content == (turn.text or None)
        called = [(call.function.name, call.function.arguments) for call in choice.message.tool_calls or ()]
        assert called == ([("look_up", '{"code":"GB-SCT"}')] if turn.tool else [])
        assert choice.finish_reason == ("tool_calls" if turn.tool else "stop")


def test_anthropic_reads_a_message_with_text_and_with_a_tool_use() -> None:
    for turn in (TEXT, CALL):
        whole = messages.assembled(read(anthropic_shape.events(turn)))
        client = anthropic.Anthropic(api_key="x", base_url="http://x", http_client=answering(messages.streamed(whole)))
        asked = client.messages.stream(model="m1", max_tokens=9, messages=[{"role": "user", "content": "q"}])
        with asked as stream:
            final = stream.get_final_message()
        (block,) = final.content
        assert (block.type, final.stop_reason) == (("tool_use", "tool_use") if turn.tool else ("text", "end_turn"))
        assert getattr(block, "text", None) == (turn.text or None)
        assert getattr(block, "input", None) == ({"code": "GB-SCT"} if turn.tool else None)


def test_openai_reads_a_response_with_text_and_a_function_call() -> None:
    whole = RESPONSE | {
        "created_at": 1, "model": "m1", "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    }  # fmt: skip
    client = openai.OpenAI(api_key="x", base_url="http://x/v1", http_client=answering(responses.streamed(whole)))
    with client.responses.stream(model="m1", input="q") as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert final.output_text == "Low risk, I think."
    assert [item.type for item in final.output] == ["reasoning", "message", "function_call"]
    assert "response.function_call_arguments.done" in kinds

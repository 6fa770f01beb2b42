"""What a fork says at its step: another body, members of it, a status, a cut; streamed answers too."""

import gzip
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay_server.answer import Recorded
from replay_server.injection import Edit, Injection
from replay_server.modes import NotAllowed
from store.core.chunks import Chunk
from store.core.form import Pairs
from tests.support import anthropic_shape, openai_shape
from tests.support.dialogue import ToolCall, Turn

JSON = ((b"Content-Type", b"application/json"), (b"ETag", b"x"))
EVENTS = ((b"Content-Type", b"text/event-stream; charset=utf-8"),)
TURN = Turn(1, "m1", ("Low", " risk", "."), None, "stop", 7)


def recorded(body: bytes = b'{"rows": []}', headers: Pairs = JSON) -> Recorded:
    return Recorded(200, b"OK", headers, "length", "complete", body)


def streamed(pieces: tuple[bytes, ...]) -> Recorded:
    chunks = [Chunk(len(piece), 5) for piece in pieces]
    return Recorded(200, b"OK", EVENTS, "chunked", "complete", b"".join(pieces), chunks)


def edits(*texts: str) -> Injection:
    return Injection(edits=tuple(Edit.parse(text) for text in texts))


def test_a_member_is_set_and_the_rest_stays() -> None:
    said = recorded(b'{"rows": [{"a": 1, "b/c": 2}], "n": 1}')
    made = edits("/rows/0/a=high", "/rows/0/b~1c=[3]", "/n=2", "/new=null", "/rows/-={}").apply(said)
    assert json.loads(made.body) == {"rows": [{"a": "high", "b/c": [3]}, {}], "n": 2, "new": None}
    assert made.headers == [(b"Content-Type", b"application/json")]


def test_the_whole_body_can_be_set() -> None:
    assert json.loads(edits('=[{"severity": "high"}]').apply(recorded()).body) == [{"severity": "high"}]


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_any_value_reads_back(value: object) -> None:
    assert json.loads(edits(f"/rows={json.dumps(value)}").apply(recorded()).body) == {"rows": value}


@pytest.mark.parametrize("text", ["/rows/0=1", "/none/there=1", "/rows/-/x=1"])
def test_a_place_that_is_not_there_is_named(text: str) -> None:
    with pytest.raises(NotAllowed, match="has no place"):
        edits(text).apply(recorded())


@pytest.mark.parametrize("text", ["rows=1", "/rows"])
def test_what_is_no_place_and_value_is_refused(text: str) -> None:
    with pytest.raises(NotAllowed):
        Edit.parse(text)


def test_members_of_what_is_no_json_cannot_be_set() -> None:
    with pytest.raises(NotAllowed, match="no JSON"):
        edits("/a=1").apply(recorded(b"<html>", ((b"Content-Type", b"text/html"),)))


@pytest.mark.parametrize("kind", [b"application/vnd.amazon.eventstream", b"text/event-stream; charset=utf-8"])
def test_a_stream_that_is_not_put_together_is_refused_as_that(kind: bytes) -> None:
    answer = recorded(b'event: odd\ndata: {"rows": []}\n\n', [(b"Content-Type", kind)])
    with pytest.raises(NotAllowed, match="a stream of a form that is not put together"):
        edits("/rows=1").apply(answer)
    assert Injection(b"as it is").apply(answer).body == b"as it is"


def test_a_body_replaces_the_recorded_one_with_its_content_coding() -> None:
    said = recorded(gzip.compress(b"{}"), ((b"Content-Type", b"application/json"), (b"Content-Encoding", b"gzip")))
    made = Injection(body=b"[1]").apply(said)
    assert (made.body, made.headers) == (b"[1]", [(b"Content-Type", b"application/json")])
    assert json.loads(edits("/a=1").apply(said).body) == {"a": 1}


def test_a_status_keeps_the_body_and_loses_the_reason() -> None:
    made = Injection(status=503).apply(recorded())
    assert (made.status, made.reason, made.body) == (503, b"", b'{"rows": []}')


def test_a_cut_ends_as_a_reset_after_so_many_bytes() -> None:
    made = Injection(cut_after_bytes=4).apply(recorded())
    assert (made.body, made.ended) == (b'{"ro', "reset")
    cut = Injection(cut_after_bytes=30).apply(streamed(openai_shape.events(TURN, False)))
    assert sum(chunk.length for chunk in cut.chunks) == len(cut.body) == 30


def events(body: bytes) -> list[dict[str, Any]]:
    lines = [line.removeprefix(b"data: ") for line in body.split(b"\n") if line.startswith(b"data: {")]
    return [json.loads(line) for line in lines]


def test_a_streamed_completion_is_edited_as_a_message_and_streamed_again() -> None:
    made = edits("/choices/0/message/content=High risk here").apply(streamed(openai_shape.events(TURN, True)))
    chunks = events(made.body)
    said = [choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"]]
    assert "".join(said) == "High risk here"
    assert len([text for text in said if text]) == 3
    assert chunks[-1]["usage"]["prompt_tokens"] == 7
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert made.body.endswith(b"data: [DONE]\n\n")
    assert [chunk.length for chunk in made.chunks][-1] == len(b"data: [DONE]\n\n")


def test_a_streamed_message_is_edited_and_streamed_in_named_events() -> None:
    made = edits("/content/0/text=High risk.", "/stop_reason=max_tokens").apply(streamed(anthropic_shape.events(TURN)))
    told = events(made.body)
    assert [one["type"] for one in told if one["type"] != "content_block_delta"] == [
        "message_start", "content_block_start", "content_block_stop", "message_delta", "message_stop",
    ]  # fmt: skip
    assert "".join(one["delta"]["text"] for one in told if one["type"] == "content_block_delta") == "High risk."
    assert told[-2]["delta"]["stop_reason"] == "max_tokens"
    assert made.body.startswith(b"event: message_start\n")


def test_a_tool_call_can_be_changed_in_either_form() -> None:
    turn = Turn(1, "m1", (), ToolCall("look_up", {"code": "GB"}), "tool", 7)
    made = edits('/content/0/input={"code": "GB-SCT"}').apply(streamed(anthropic_shape.events(turn)))
    spelled = [one["delta"]["partial_json"] for one in events(made.body) if one["type"] == "content_block_delta"]
    assert json.loads("".join(spelled)) == {"code": "GB-SCT"}
    place = "/choices/0/message/tool_calls/0/function/arguments"
    made = edits(f"{place}={json.dumps(json.dumps({'code': 'GB-SCT'}))}").apply(
        streamed(openai_shape.events(turn, False))
    )
    calls = [choice["delta"].get("tool_calls") for one in events(made.body) for choice in one["choices"]]
    (call,) = [call for listed in calls if listed for call in listed]
    assert (call["id"], call["function"]) == ("call_00000001", {"name": "look_up", "arguments": '{"code": "GB-SCT"}'})


def test_a_whole_message_as_a_body_is_streamed_where_the_recorded_answer_was() -> None:
    whole = anthropic_shape.message(Turn(2, "m1", ("Yes",), None, "stop", 3))
    made = Injection(body=whole).apply(streamed(anthropic_shape.events(TURN)))
    assert events(made.body)[0]["message"]["id"] == "msg_00000002"
    raw = b"data: {}\n\n"
    assert Injection(body=raw).apply(streamed(anthropic_shape.events(TURN))).body == raw


def test_a_cut_promises_the_length_of_what_is_cut() -> None:
    said = recorded(headers=((b"Content-Length", b"12"),))
    made = replace(edits("/n=10"), cut_after_bytes=5).apply(said)
    assert (made.body, made.headers) == (b'{"row', [(b"Content-Length", b"21")])

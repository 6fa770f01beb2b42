"""The OpenAI dialect on any host: what was asked, and the answer put together from JSON and from streams."""

import json

import pytest

from store.labels.classify import label, read, response_labels
from store.labels.dialect import Answer, Call
from store.labels.wire import Request
from tests.store.labels.exchanges import answer, post, request, stream

CHAT = post("https://api.openai.com/v1/chat/completions", {"model": "gpt-4o", "messages": []})
RESPONSES = post("https://api.openai.com/v1/responses", {"model": "gpt-5", "input": "hi"})
USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11, "prompt_tokens_details": {"cached_tokens": 4}}
COUNTED = (
    ("prompt_tokens", 9),
    ("completion_tokens", 2),
    ("total_tokens", 11),
    ("prompt_tokens_details.cached_tokens", 4),
)


def chunk(delta: object, finish: str | None = None, **more: object) -> dict[str, object]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "model": "gpt-4o-2024-08-06", "choices": [choice], **more}


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1/chat/completions",
        "http://localhost:8080/v1/chat/completions",
        "https://gateway.example/team/openai/v1/chat/completions/",
        "https://api.groq.com/openai/v1/chat/completions?x=1",
        "https://some.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2024-06-01",
        "https://gateway.example/ask",
    ],
)
def test_a_chat_is_known_on_any_host(url: str) -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}], "temperature": 0.70, "seed": 7}
    labels = label(post(url, body))
    assert (labels.kind, labels.boundary, labels.effect, labels.model) == ("llm", "decision", "read", "gpt-4o")
    assert labels.settings == (("temperature", "0.7"), ("seed", "7"))


def test_settings_keep_the_spelling_of_their_numbers_and_hold_no_content() -> None:
    schema = b'{"type":"json_schema","json_schema":{"text":"' + b"x" * 600 + b'"}}'
    body = (
        b'{"messages":[{"role":"user","content":"temperature"}],"top_p":1.00,"seed":10000000000000000001,"model":"m",'
    )
    body += b'"stop":["a", "b"],"user":"somebody","response_format":' + schema + b"}"
    labels = label(post("http://localhost/v1/chat/completions", body))
    assert labels.settings == (("top_p", "1.00"), ("seed", "10000000000000000001"), ("stop", '["a", "b"]'))


def test_an_azure_deployment_names_the_model_when_the_body_does_not() -> None:
    url = "https://some.openai.azure.com/openai/deployments/gpt%2D4o/chat/completions"
    assert label(post(url, {"messages": []})).model == "gpt-4o"


@pytest.mark.parametrize(
    "asked, kind, operation",
    [
        (RESPONSES, "llm", "responses"),
        (post("http://h/v1/responses/compact", {"model": "m", "input": []}), "llm", "responses.compact"),
        (post("http://h/v1/responses/input_tokens", {"model": "m", "input": []}), "other", "responses.input_tokens"),
        (request("GET", "http://h/v1/responses/resp_01?stream=true"), "llm", "responses.retrieve"),
        (post("http://h/v1/embeddings", {"model": "e", "input": ["a"]}), "embedding", "embeddings"),
        (post("http://h/v1/completions", {"model": "m", "prompt": "a"}), "llm", "completions"),
        (post("http://h/v1/chat/completions", b""), "llm", "chat.completions"),
        (post("http://h/v1/responses", b""), "llm", "responses"),
        (post("http://survey.example/v1/responses", {"answers": [1, 2]}), "tool", "POST"),
        (post("http://survey.example/responses", b""), "tool", "POST"),
        (post("http://jobs.example/completions", {"task": 7}), "tool", "POST"),
        (request("GET", "http://h/v1/chat/completions"), "tool", "GET"),
    ],
)
def test_neighbours_are_told_apart(asked: Request, kind: str, operation: str) -> None:
    labels = label(asked)
    assert (labels.kind, labels.operation) == (kind, operation)


def test_a_remote_tool_inside_the_provider_makes_the_effect_unknown() -> None:
    body = {"model": "m", "input": "hi", "tools": [{"type": "mcp", "server_url": "https://tools.example"}]}
    assert label(post("https://api.openai.com/v1/responses", body)).effect == "unknown"


def test_a_completion_is_read() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "lookup", "arguments": '{"code": "GB"}'}}
    message = {"role": "assistant", "content": "Looking.", "reasoning_content": "Hm.", "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    body = {"id": "chatcmpl-1", "model": "gpt-4o-2024-08-06", "choices": [choice], "usage": USAGE}
    assert read(label(CHAT), answer(body)) == Answer(
        text="Looking.",
        calls=(Call("lookup", '{"code": "GB"}', "call_1"),),
        reasoning="Hm.",
        model="gpt-4o-2024-08-06",
        usage=COUNTED,
        stop="tool_calls",
        id="chatcmpl-1",
    )


def test_a_streamed_completion_is_put_together() -> None:
    first, second = {"id": "call_1", "index": 0}, {"id": "call_2", "index": 1}
    messages = [
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "Look"}),
        chunk({"content": "ing."}),
        chunk({"tool_calls": [first | {"function": {"name": "lookup", "arguments": ""}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"co'}}]}),
        chunk({"tool_calls": [second | {"function": {"name": "store", "arguments": "{}"}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": 'de":1}'}}]}),
        chunk({}, "tool_calls"),
        {"id": "chatcmpl-1", "model": "gpt-4o-2024-08-06", "choices": [], "usage": USAGE},
        "[DONE]",
    ]
    response = stream(messages, {"x-request-id": "req_1"})
    assert read(label(CHAT), response) == Answer(
        text="Looking.",
        calls=(Call("lookup", '{"code":1}', "call_1"), Call("store", "{}", "call_2")),
        model="gpt-4o-2024-08-06",
        usage=COUNTED,
        stop="tool_calls",
        id="chatcmpl-1",
    )
    labels = response_labels(label(CHAT), 200, response.headers, response.body)
    assert (labels.tools, labels.provider_request_id) == (("lookup", "store"), "req_1")


def test_calls_that_share_an_index_are_told_apart_by_their_id() -> None:
    calls = [{"index": 0, "id": f"c{n}", "function": {"name": f"tool{n}", "arguments": "{}"}} for n in (1, 2, 3)]
    found = read(label(CHAT), stream([chunk({"tool_calls": [call]}) for call in calls])).calls
    assert found == (Call("tool1", "{}", "c1"), Call("tool2", "{}", "c2"), Call("tool3", "{}", "c3"))


def test_a_stream_that_is_cut_or_fails_gives_what_came() -> None:
    failed = {"error": {"message": "overloaded"}}
    assert read(label(CHAT), stream([chunk({"content": "Half an"}), failed])) == Answer(
        text="Half an", model="gpt-4o-2024-08-06", id="chatcmpl-1", error="overloaded"
    )


@pytest.mark.parametrize(
    "message, expected",
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, Answer(text="ab")),
        (
            {"content": [{"type": "thinking", "thinking": [{"text": "hm"}]}, {"type": "text", "text": "b"}]},
            Answer(text="b", reasoning="hm"),
        ),
        ({"content": None, "refusal": "No."}, Answer(text="No.")),
        ({"content": "a", "reasoning": "hm"}, Answer(text="a", reasoning="hm")),
        ({"function_call": {"name": "f", "arguments": "{}"}}, Answer(calls=(Call("f", "{}"),))),
        ({"function_call": {"name": "", "arguments": ""}, "content": "a"}, Answer(text="a")),
        (
            {"tool_calls": [{"type": "custom", "id": "1", "custom": {"name": "f", "input": "x y"}}]},
            Answer(calls=(Call("f", "x y", "1"),)),
        ),
        ({"tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}, Answer(calls=(Call("f", '{"a":1}'),))),
    ],
)
def test_spellings_of_other_servers_are_understood(message: dict[str, object], expected: Answer) -> None:
    assert read(label(CHAT), answer({"choices": [{"message": message}]})) == expected


OUTPUT = [
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
    {"type": "message", "content": [{"type": "output_text", "text": "Looking."}]},
    {"type": "function_call", "name": "lookup", "arguments": '{"code":1}', "call_id": "call_1"},
]
READ = Answer(
    text="Looking.",
    reasoning="Hm.",
    calls=(Call("lookup", '{"code":1}', "call_1"),),
    model="gpt-5-2025",
    usage=(("input_tokens", 3), ("output_tokens", 4)),
    stop="completed",
    id="resp_1",
)
ENVELOPE = {"id": "resp_1", "model": "gpt-5-2025", "error": None}
FINISHED = ENVELOPE | {"status": "completed", "usage": {"input_tokens": 3, "output_tokens": 4}}


def test_a_response_object_is_read() -> None:
    assert read(label(RESPONSES), answer(FINISHED | {"output": OUTPUT})) == READ


@pytest.mark.parametrize("output", [OUTPUT, []], ids=["whole", "left empty by the backend"])
def test_a_streamed_response_is_read_from_its_end_or_its_items(output: list[object]) -> None:
    items = [{"type": "response.output_item.done", "output_index": n, "item": item} for n, item in enumerate(OUTPUT)]
    created = {"type": "response.created", "response": ENVELOPE | {"status": "in_progress", "output": []}}
    completed = {"type": "response.completed", "response": FINISHED | {"output": output}}
    assert read(label(RESPONSES), stream([created, *items, completed])) == READ


def test_a_cut_response_stream_is_put_together_from_its_deltas() -> None:
    def added(place: int, item: dict[str, object]) -> dict[str, object]:
        return {"type": "response.output_item.added", "output_index": place, "item": item}

    def delta(kind: str, place: int, text: str) -> dict[str, object]:
        return {"type": f"response.{kind}.delta", "output_index": place, "delta": text}

    cut = [
        {"type": "response.created", "response": ENVELOPE | {"status": "in_progress"}},
        delta("reasoning_summary_text", 0, "Hm"),
        added(1, {"type": "message", "content": []}),
        delta("output_text", 1, "Look"),
        delta("output_text", 1, "ing"),
        added(2, {"type": "function_call", "name": "lookup", "arguments": "", "call_id": "call_1"}),
        delta("function_call_arguments", 2, '{"co'),
        added(3, {"type": "custom_tool_call", "name": "sh", "input": ""}),
        delta("custom_tool_call_input", 3, "ls"),
    ]
    told = stream(cut)
    found = read(label(RESPONSES), told)
    assert found == read(label(RESPONSES), told)  # what is read stays as it came
    assert (found.text, found.reasoning, found.stop) == ("Looking", "Hm", "in_progress")
    assert found.calls == (Call("lookup", '{"co', "call_1"), Call("sh", "ls"))


def test_an_incomplete_or_failed_response_says_why() -> None:
    incomplete = ENVELOPE | {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert read(label(RESPONSES), answer(incomplete)).stop == "max_output_tokens"
    failed = {"type": "response.failed", "response": ENVELOPE | {"status": "failed", "error": {"message": "broke"}}}
    assert read(label(RESPONSES), stream([failed])).error == "broke"
    assert read(label(RESPONSES), stream([{"type": "error", "message": "too much"}])).error == "too much"


def test_calls_that_the_provider_carries_out_are_named() -> None:
    output = [{"type": "web_search_call", "id": "ws_1", "action": {"query": "x"}}]
    assert read(label(RESPONSES), answer({"output": output})).calls == (Call("web_search", '{"query":"x"}', "ws_1"),)


def test_embeddings_and_counts_tell_their_usage() -> None:
    asked = label(post("http://h/v1/embeddings", {"model": "e", "input": "a", "dimensions": 256}))
    told = read(asked, answer({"data": [{}], "model": "e-3", "usage": {"prompt_tokens": 5, "total_tokens": 5}}))
    assert (asked.boundary, asked.settings) == ("input", (("dimensions", "256"),))
    assert (told.model, told.usage) == ("e-3", (("prompt_tokens", 5), ("total_tokens", 5)))
    counted = label(post("http://h/v1/responses/input_tokens", {"model": "m", "input": "a"}))
    assert read(counted, answer({"input_tokens": 16})).usage == (("input_tokens", 16),)


def test_ollama_answers_whole_or_a_piece_a_line() -> None:
    lines = [
        {"model": "m", "response": "Yes", "done": False},
        {"model": "m", "response": ".", "done": True, "eval_count": 2},
    ]
    body = b"\n".join(json.dumps(line).encode() for line in lines)
    asked = post("http://localhost:11434/api/generate", {"model": "m", "prompt": "?"})
    assert (label(asked).kind, label(asked).operation, label(asked).model) == ("llm", "generate", "m")
    told = read(label(asked), answer(body, headers={"content-type": "application/x-ndjson"}))
    assert (told.text, told.model, told.usage) == ("Yes.", "m", (("eval_count", 2),))
    chat = post("http://localhost:11434/api/chat", {"model": "m", "messages": [{"role": "user", "content": "?"}]})
    pieces = [{"model": "m", "message": {"role": "assistant", "content": piece}} for piece in ("Yes", ".")]
    body = b"\n".join(json.dumps(piece).encode() for piece in pieces)
    assert read(label(chat), answer(body, headers={"content-type": "application/x-ndjson"})).text == "Yes."

"""What all dialects share: trace context, keys, codings; and that nothing on the wire makes labels fail."""

import gzip
import json
import time

import brotli  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from store.core.model import HttpRequest
from store.labels.classify import answer_text, label, read, recorded, request_labels, response_labels
from store.labels.dialect import RequestLabels
from store.labels.summary import summary
from store.labels.wire import Request, Response
from tests.store.labels.exchanges import answer, post, request, stream

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SETTINGS = ("stop", "seed", "text", "n", "k", "size", "voice", "speed", "store", "top_p", "reasoning", "thinking")
CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}], "temperature": 0}


@pytest.mark.parametrize(
    "traceparent, expected",
    [
        (f"00-{TRACE}-{SPAN}-01", (TRACE, SPAN)),
        (f"cc-{TRACE}-{SPAN}-01-what-comes-later", (TRACE, SPAN)),
        (f"ff-{TRACE}-{SPAN}-01", (None, None)),
        (f"00-{'0' * 32}-{SPAN}-01", (None, None)),
        (f"00-{TRACE}-{'0' * 16}-01", (None, None)),
        (f"00-{TRACE.upper()}-{SPAN}-01", (None, None)),
        (f"00-{TRACE}-{SPAN}", (None, None)),
        ("", (None, None)),
    ],
)
def test_trace_context_is_read_by_the_letter(traceparent: str, expected: tuple[str | None, str | None]) -> None:
    labels = label(request("GET", "https://tools.example/", headers={"Traceparent": traceparent}))
    assert (labels.trace_id, labels.span_id) == expected


def test_an_idempotency_key_is_told_whatever_the_dialect() -> None:
    asked = post("https://api.openai.com/v1/chat/completions", CHAT, {"Idempotency-Key": "k-1"})
    assert label(asked).idempotency_key == "k-1"


@pytest.mark.parametrize(
    "coding, pack",
    [("gzip", gzip.compress), ("br", brotli.compress), ("zstd", zstandard.ZstdCompressor().compress)],
)
def test_codings_are_undone_on_both_sides(coding: str, pack: object) -> None:
    assert callable(pack)
    coded = {"content-encoding": coding}
    asked = post("http://localhost/v1/chat/completions", pack(json.dumps(CHAT).encode()), coded)
    assert label(asked).model == "gpt-4o"
    said = answer(pack(json.dumps({"choices": [{"message": {"content": "hello"}}]}).encode()), headers=coded)
    assert answer_text(label(asked), said.headers, said.body).text == "hello"


def test_a_cut_gzip_stream_is_read_as_far_as_it_came() -> None:
    chunks = [{"choices": [{"delta": {"content": word}}]} for word in ("a ", "b ", "c ") * 500]
    body = gzip.compress(stream(chunks).body, 0)
    headers = [(b"content-type", b"text/event-stream"), (b"content-encoding", b"gzip")]
    found = answer_text(label(post("http://h/v1/chat/completions", CHAT)), headers, body[: len(body) // 2])
    assert found.text.startswith("a b c a ")


def test_an_unknown_coding_leaves_a_body_unread_and_the_path_tells() -> None:
    labels = label(post("http://h/v1/chat/completions", b"?", {"content-encoding": "secret"}))
    assert (labels.kind, labels.model) == ("llm", None)


def test_text_that_json_can_spell_and_utf8_cannot_is_made_storable() -> None:
    said = answer(rb'{"choices":[{"message":{"content":"a\ud83d b\\ud83d \ud83d\ude00"}}]}')
    found = read(label(post("http://h/v1/chat/completions", CHAT)), said)
    assert found.text == "a\ufffd b\\ud83d \U0001f600"
    assert found.text.encode()


WORDS = st.sampled_from(
    [
        "arguments",
        "choices",
        "content",
        "content_block",
        "delta",
        "error",
        "function",
        "id",
        "index",
        "input",
        "item",
        "jsonrpc",
        "message",
        "messages",
        "method",
        "model",
        "name",
        "output",
        "output_index",
        "params",
        "response",
        "result",
        "status",
        "summary",
        "text",
        "tool_calls",
        "type",
        "usage",
    ]
)
URLS = st.sampled_from(
    [
        "https://api.openai.com/v1/chat/completions",
        "https://api.openai.com/v1/responses",
        "https://api.anthropic.com/v1/messages",
        "http://h/v1/embeddings",
        "http://h/mcp",
        "http://h/graphql",
        "http://h/oauth/token",
        "http://h/\xff%ff?\x00",
    ]
)
KINDS = st.sampled_from(
    [
        "response.output_item.added",
        "response.output_text.delta",
        "response.function_call_arguments.delta",
        "message_start",
        "response.completed",
        "content_block_start",
        "content_block_delta",
        "message_delta",
        "error",
    ]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@given(url=URLS, asked=json_values | st.binary(), said=json_values | st.binary(), status=st.integers(100, 999))
def test_no_json_makes_labels_fail(url: str, asked: object, said: object, status: int) -> None:
    sent = post(url, asked, {"mcp-session-id": "1"} if "mcp" in url else {})
    check(sent, answer(said, status))


@given(url=URLS, events=st.lists(st.dictionaries(WORDS, json_values, max_size=5) | json_values, max_size=5), kind=KINDS)
def test_no_stream_makes_labels_fail(url: str, events: list[object], kind: str) -> None:
    typed = [event | {"type": kind} if isinstance(event, dict) else event for event in events]
    check(post(url, {"model": "m", "messages": [], "input": []}), stream(typed))


@given(st.binary(), st.binary(), st.binary(), st.lists(st.tuples(st.binary(), st.binary())), st.binary())
def test_no_bytes_make_labels_fail(
    method: bytes, host: bytes, path: bytes, headers: list[tuple[bytes, bytes]], body: bytes
) -> None:
    check(Request(method, b"https", host, 443, path, headers, body), Response(200, headers, body))


@pytest.mark.parametrize(
    "body",
    [b"[" * 900 + b"]" * 900, b'{"usage":' * 900 + b"1" + b"}" * 900, b"[" * 10**6, b'{"a":' + b"9" * 5000 + b"}"],
)
def test_depth_and_length_make_labels_fail_no_more(body: bytes) -> None:
    for url in ("http://h/v1/chat/completions", "http://h/v1/responses", "http://h/mcp"):
        check(post(url, body, {"mcp-session-id": "1"} if "mcp" in url else {}), answer(body))


def test_a_count_that_no_record_can_hold_is_left_out() -> None:
    said = answer({"choices": [], "usage": {"prompt_tokens": 2**53, "completion_tokens": 1}})
    assert read(label(post("http://h/v1/chat/completions", CHAT)), said).usage == (("completion_tokens", 1),)


def test_the_labels_of_a_stored_request_are_enough_to_read_its_answer() -> None:
    facts = HttpRequest(
        method="POST",
        scheme="http",
        host="h",
        port=80,
        path="/v1/chat/completions",
        http_version="1.1",
        headers=[],
        kind="llm",
        operation="chat.completions",
        model="gpt-4o",
    )
    said = answer({"choices": [{"message": {"content": "hello"}}]})
    assert answer_text(recorded(facts), said.headers, said.body).text == "hello"
    assert (recorded(facts).kind, recorded(facts).model) == ("llm", "gpt-4o")


def test_labels_stay_small_whatever_the_wire_brings() -> None:
    long, many = "x" * 10_000, 1_000
    asked = post("http://h/v1/chat/completions", CHAT | dict.fromkeys(SETTINGS, "y" * 500))
    calls = [{"function": {"name": long, "arguments": "{}"}}] * many
    usage = {f"{long}{number}": 1 for number in range(many)}
    said = answer({"choices": [{"message": {"tool_calls": calls}, "finish_reason": long}], "usage": usage})
    told = response_labels(label(asked), 200, said.headers, said.body)
    assert len(json.dumps([told.usage, told.stop, told.tools])) < 20_000
    assert len(json.dumps(label(asked).settings)) < 5_000
    method = label(post("http://h/mcp", {"jsonrpc": "2.0", "method": "tools/" + long})).operation
    assert method is not None
    assert len(method) == 128


def check(asked: Request, said: Response) -> None:
    labels = request_labels(asked.method, asked.scheme, asked.host, asked.port, asked.path, asked.headers, asked.body)
    assert isinstance(labels, RequestLabels)
    told = response_labels(labels, said.status, said.headers, said.body)
    assert all(isinstance(count, int) for _, count in told.usage)
    line = summary(asked, said)
    assert " -> " in line
    assert line.isprintable()
    assert len(line) < 400


def test_a_large_request_is_labelled_in_one_pass() -> None:
    message = {"role": "user", "content": "some words, and more of them. " * 40}
    asked = post("http://localhost/v1/chat/completions", CHAT | {"messages": [message] * 1600})
    assert len(asked.body) > 1_900_000
    start = time.thread_time()  # a busy machine takes none of it away
    assert label(asked).model == "gpt-4o"
    assert time.thread_time() - start < 1  # some milliseconds; the bound only catches a second order of growth

"""The scripted provider itself: what it says it puts on the wire is what a plain socket reads."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import time
from pathlib import Path

import anthropic
import openai
import pytest
from anthropic.types import MessageParam, ToolResultBlockParam
from openai.types.responses import ResponseInputItemParam

from tests.support.authority import Authority
from tests.support.dialogue import Script, ToolCall
from tests.support.faults import pattern
from tests.support.processes import NotReadyError, Running, running, running_module
from tests.support.provider import Options, Provider, serving
from tests.support.seen import ask_seen

QUESTION = {"model": "scripted-1", "stream": True, "messages": [{"role": "user", "content": "Clause one."}]}


def talk(provider: Provider, sent: bytes) -> bytes:
    """Send bytes and read until the other side ends."""
    with socket.create_connection(("127.0.0.1", provider.port), timeout=20) as connection:
        connection.sendall(sent)
        received = bytearray()
        receive_into(received, connection)
    return bytes(received)


def receive_into(received: bytearray, connection: socket.socket) -> None:
    """Keep what comes until the other side ends; raises ConnectionResetError when it resets."""
    while piece := connection.recv(65_536):
        received += piece


def post(path: str, body: bytes, *headers: str) -> bytes:
    """A whole request that ends its connection."""
    lines = [f"POST {path} HTTP/1.1", "Host: here", *headers, f"Content-Length: {len(body)}", "Connection: close"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def test_a_request_is_remembered_byte_for_byte(provider: Provider) -> None:
    sent = b"PUT /a%2Fb?x=1&x=2 HTTP/1.1\r\nhOsT:here\r\nX-Two:  1\r\nx-two: \xe9\r\nConnection: close\r\n"
    sent += b"Transfer-Encoding: chunked\r\n\r\n"
    talk(provider, sent + b"3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nX-Sum: 5\r\n\r\n")
    (request,) = provider.seen()
    assert request.head == sent
    assert request.headers[:3] == ((b"hOsT", b"here"), (b"X-Two", b"1"), (b"x-two", b"\xe9"))
    assert (request.body, request.chunk_lengths, request.trailers) == (b"abcde", (3, 2), b"X-Sum: 5\r\n")
    assert ask_seen(provider.url)[0].request == request


def test_every_event_of_a_stream_is_one_chunk(provider: Provider) -> None:
    answer = talk(provider, post("/v1/chat/completions", json.dumps(QUESTION).encode()))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"Transfer-Encoding: chunked" in head
    chunks = []
    while body:
        size, _, body = body.partition(b"\r\n")
        chunks.append(body[: int(size, 16)])
        body = body[int(size, 16) + 2 :]
    assert chunks.pop() == b""
    assert all(chunk.startswith(b"data: ") and chunk.endswith(b"\n\n") for chunk in chunks)
    assert chunks[-1] == b"data: [DONE]\n\n"


def test_the_same_requests_get_the_same_bytes_from_another_provider(provider: Provider) -> None:
    asked = post("/v1/messages", json.dumps(QUESTION).encode())
    with serving() as other:
        assert talk(provider, asked) == talk(other, asked)


def test_another_salt_gives_other_words() -> None:
    texts = set()
    for salt in ("a", "b", "c", "d", "e"):
        with serving(Options(script=Script(salt=salt))) as provider:
            texts.add(talk(provider, post("/v1/chat/completions", json.dumps(QUESTION).encode())))
    assert len(texts) > 1


def test_the_official_clients_follow_a_script_of_a_tool_and_a_last_word() -> None:
    script = Script((ToolCall("look_up", {"code": "GB-SCT"}),), "Nothing found.")
    with serving(Options(script=script)) as provider:
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key="none") as client:
            chunks = list(
                client.chat.completions.create(
                    model="scripted-1", stream=True, messages=[{"role": "user", "content": "Look."}]
                )
            )
        calls = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or []]
        written = "".join(call.function.arguments or "" for call in calls if call.function)
        assert json.loads(written) == {"code": "GB-SCT"}
        with anthropic.Anthropic(base_url=provider.url, api_key="none") as client_two:
            result = ToolResultBlockParam(type="tool_result", tool_use_id="toolu_00000001", content="[]")
            asked: MessageParam = {"role": "user", "content": [result]}
            with client_two.messages.stream(
                model="scripted-1",
                max_tokens=50,
                messages=[asked],
            ) as stream:
                assert stream.get_final_text() == "Nothing found."


def test_the_responses_shape_is_one_that_the_official_client_reads() -> None:
    script = Script((ToolCall("look_up", {"code": "GB-SCT"}),), "Nothing found.")
    with (
        serving(Options(script=script)) as provider,
        openai.OpenAI(base_url=f"{provider.url}/v1", api_key="none") as client,
    ):
        asked: ResponseInputItemParam = {"role": "user", "content": "Look."}
        called = client.responses.create(model="scripted-1", input=[asked]).output[0]
        assert called.type == "function_call"
        assert json.loads(called.arguments) == {"code": "GB-SCT"}
        found: ResponseInputItemParam = {"type": "function_call_output", "call_id": called.call_id, "output": "[]"}
        with client.responses.stream(model="scripted-1", input=[asked, found]) as stream:
            assert stream.get_final_response().output_text == "Nothing found."


def test_a_reset_comes_after_exactly_the_bytes_asked_for(provider: Provider) -> None:
    with socket.create_connection(("127.0.0.1", provider.port), timeout=20) as connection:
        connection.sendall(post("/fault/reset-after/1000", b""))
        received = bytearray()
        with pytest.raises(ConnectionResetError):
            receive_into(received, connection)
    assert received.partition(b"\r\n\r\n")[2] == pattern(1001)[:1000]


def test_chunk_borders_are_the_ones_asked_for(provider: Provider) -> None:
    body = talk(provider, post("/fault/chunks/1,7,100000", b"")).partition(b"\r\n\r\n")[2]
    assert body.startswith(b"1\r\n{\r\n7\r\n")
    assert body.endswith(b"\r\n0\r\n\r\n")


def test_a_timeout_says_nothing_until_the_client_leaves(provider: Provider) -> None:
    with socket.create_connection(("127.0.0.1", provider.port), timeout=0.3) as connection:
        connection.sendall(post("/fault/timeout", b""))
        with pytest.raises(TimeoutError):
            connection.recv(1)
    assert talk(provider, post("/after", b"")).startswith(b"HTTP/1.1 200 ")


def test_half_close_leaves_our_side_open(provider: Provider) -> None:
    with socket.create_connection(("127.0.0.1", provider.port), timeout=20) as connection:
        connection.sendall(post("/fault/half-close", b""))
        while connection.recv(65_536):
            pass
        connection.sendall(b"still here")
        time.sleep(0.1)
        assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
        state = struct.unpack("B", connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1))[0]
    assert state == 8  # CLOSE_WAIT: the peer closed its half alone


def test_a_fault_can_be_armed_for_the_next_request_only(provider: Provider) -> None:
    spec = json.dumps({"fault": "429?retry_after=7", "path": "/v1"}).encode()
    talk(provider, post("/_arm", spec))
    asked = post("/v1/chat/completions", json.dumps(QUESTION).encode())
    first, second = talk(provider, asked), talk(provider, asked)
    assert first.startswith(b"HTTP/1.1 429 ")
    assert b"Retry-After: 7\r\n" in first
    assert second.startswith(b"HTTP/1.1 200 ")


def test_an_unknown_fault_is_not_taken_for_success(provider: Provider) -> None:
    assert talk(provider, post("/fault/nonsense", b"")).startswith(b"HTTP/1.1 404 ")


def test_it_runs_as_a_process_over_tls(tls_provider_process: Running, upstream_authority: Authority) -> None:
    context = ssl.create_default_context(cafile=str(upstream_authority.root))
    plain = socket.create_connection(("127.0.0.1", tls_provider_process.port), timeout=20)
    with context.wrap_socket(plain, server_hostname="localhost") as connection:
        connection.sendall(b"GET /x HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        assert connection.recv(20).startswith(b"HTTP/1.1 200 ")
    (seen,) = ask_seen(tls_provider_process.url, upstream_authority.root)
    assert seen.request.tls
    assert tls_provider_process.stop() == 0


def test_a_process_that_ends_early_is_named_with_what_it_said(tmp_path: Path) -> None:
    with (
        pytest.raises(NotReadyError, match="no such file"),
        running(["/bin/sh", "-c", "echo no such file >&2; exit 1"]),
    ):
        pass


def test_a_process_is_gone_when_its_block_ends() -> None:
    with running_module("tests.support.provider") as process:
        pid = process.pid
    assert not Path(f"/proc/{pid}").exists()

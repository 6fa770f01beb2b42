"""Makes the primer of event blocks, number 1 (`python -m tests.vectors.primer` writes it where the program has it).

It is made of the forms of records and of the names and usual values of headers of well-known clients and servers, and
holds nothing of anybody's traffic. A primer that is in use never changes; another text gets another number.
"""

import json
from collections.abc import Iterator
from pathlib import Path

FILE = Path(__file__).parents[2] / "store" / "sealed" / "primer-1.txt"

_HASH, _ID, _HALF, _BEFORE = "\x01", "\x02", "\x03", "\x00"
_MARK = {f"\\u000{number}": chr(number) for number in range(4)}
_BODY = {"body": _HASH}
_RULES = "edgetape/labels/2"
_NOW = "Mon, 01 Dec 2025 10:00:00 GMT"
_SECURE = ["strict-transport-security", "max-age=31536000; includeSubDomains; preload"]
_JSON, _ALIVE, _LENGTH = ["content-type", "application/json"], ["connection", "keep-alive"], ["content-length", "1"]
_KINDS = ("input-tokens", "output-tokens", "requests", "tokens")
_LEFT_OF = (("limit", "4000"), ("remaining", "3999"), ("reset", "2025-12-01T10:00:00Z"))


def made() -> bytes:
    """The primer: events as they stand in a block (docs/format.md, section 8), the most frequent ones last."""
    return ("\n".join(_lines()) + "\n").encode()


def _lines() -> Iterator[str]:
    yield _line("tunnel.open", host="api.", port=443, reason="pinned")
    yield _line("tunnel.close", open=9, sent_bytes=1, received_bytes=1, duration_us=1)
    yield _line("ws.message", req=1, direction="to_client", opcode="text", body=_BODY)
    yield _line("http.error", req=1, kind="connect", detail=_BODY, total_us=1)
    yield _line("value", kind="uuid", body=_BODY)
    yield _line("note", kind="decision", body=_BODY)
    yield _line("rpc.message", server="", direction="to_client", id="2", body=_BODY)
    yield _line("rpc.message", server="", direction="to_server", id="1", method="tools/call", body=_BODY)
    counts = [["http.request", 1], ["http.response", 1], ["run.open", 1]]
    yield _line("run.close", counts=counts, exit_code=0, head=_HASH, n=1, reason="agent_exit", root=_HASH, prev=_HASH)
    agent = {"argv": _BODY, "credential_names": _BODY, "cwd": _BODY}
    policies = {"classification": _RULES, "redaction": "edgetape/redaction/3"}
    point = {"root": _HASH, "size": 2}
    yield _line(
        "run.open", agent=agent, checkpoint=point, clock="system", mode="record", mono_us=0, name="", labels=[],
        origin="edgetape.local/", policies=policies, prev=_HASH, recorder="edgetape/0.1.0", seq=0, workflow="",
    )  # fmt: skip
    yield from (_gemini(), _gemini_answer(), _javascript(), _anthropic(), _anthropic_answer())
    yield from (_mcp(), _tool(), _tool_answer(), _openai(), _openai_answer())


def _gemini() -> str:
    headers = [
        ["host", "generativelanguage.googleapis.com"], ["x-goog-api-key", "<edgetape:x-goog-api-key:1>"],
        ["x-goog-api-client", "google-genai-sdk/1. gl-python/3.12"], ["accept", "*/*"],
    ]  # fmt: skip
    return _asked(
        headers, http_version="HTTP/2.0", model="gemini-2.5-flash", operation="generate_content", query=_BODY,
        host="generativelanguage.googleapis.com", path="/v1beta/models/gemini-2.5-flash:generateContent",
    )  # fmt: skip


def _gemini_answer() -> str:
    headers = [
        ["content-type", "application/json; charset=UTF-8"], ["vary", "Origin"], ["vary", "X-Origin"],
        ["vary", "Referer"], ["content-encoding", "gzip"], ["date", _NOW], ["server", "scaffolding on HTTPServer2"],
        ["x-xss-protection", "0"], ["x-frame-options", "SAMEORIGIN"], ["x-content-type-options", "nosniff"],
        ["server-timing", "gfet4t7; dur="], ["alt-svc", 'h3=":443"; ma=2592000,h3-29=":443"; ma=2592000'], _LENGTH,
    ]  # fmt: skip
    return _answered(headers, framing="frames", http_version="HTTP/2.0", upstream=":443")


def _javascript() -> str:
    headers = [
        ["accept-language", "*"], ["sec-fetch-mode", "cors"], ["accept-encoding", "br, gzip, deflate"],
        ["user-agent", "OpenAI/JS "], *_stainless("js", "5.", "node", "v22."),
    ]  # fmt: skip
    return _asked(headers, chunks=_BODY, host="api.openai.com", operation="responses", path="/v1/responses")


def _anthropic() -> str:
    headers = [
        ["host", "api.anthropic.com"], ["accept", "application/json"],
        ["accept-encoding", "gzip, deflate, br, zstd"], _ALIVE, _JSON, ["user-agent", "Anthropic/Python 0."],
        *_stainless("python", "0.", "CPython", "3.12."), ["x-api-key", "<edgetape:x-api-key:1>"],
        ["x-stainless-async", "false"], ["anthropic-version", "2023-06-01"],
        ["anthropic-beta", "prompt-caching-2024-07-31"], ["x-stainless-retry-count", "0"],
        ["x-stainless-timeout", "600"], ["x-stainless-helper-method", "stream"], _LENGTH,
    ]  # fmt: skip
    settings = [["max_tokens", "1024"], ["stream", "true"], ["temperature", "0"]]
    return _asked(
        headers, host="api.anthropic.com", model="claude-sonnet-4-5", operation="messages", path="/v1/messages",
        settings=settings,
    )  # fmt: skip


def _anthropic_answer() -> str:
    headers = [
        ["date", _NOW], ["content-type", "text/event-stream; charset=utf-8"], ["transfer-encoding", "chunked"],
        _ALIVE, ["cache-control", "no-cache"],
        *([f"anthropic-ratelimit-{kind}-{name}", value] for kind in _KINDS for name, value in _LEFT_OF),
        ["request-id", "req_011C"], _SECURE, ["anthropic-organization-id", _ID], ["server", "cloudflare"],
        ["x-envoy-upstream-service-time", "1"], ["via", "1.1 google"], ["cf-cache-status", "DYNAMIC"],
        ["x-robots-tag", "none"], ["cf-ray", _HALF + "-FRA"],
    ]  # fmt: skip
    usage = [
        ["input_tokens", 1], ["cache_creation_input_tokens", 0], ["cache_read_input_tokens", 0], ["output_tokens", 1],
    ]  # fmt: skip
    return _answered(
        headers, chunks=_BODY, framing="chunked", model="claude-sonnet-4-5-20250929", reason="OK", stop="tool_use",
        provider_request_id="req_011C", tls="TLSv1.3", tools=[""], upstream=":443", usage=usage,
    )  # fmt: skip


def _mcp() -> str:
    headers = [
        ["host", "127.0.0.1:8000"], ["accept", "application/json, text/event-stream"],
        ["accept-encoding", "gzip, deflate"], _ALIVE, ["user-agent", "python-httpx/0.28.1"], _JSON,
        ["mcp-protocol-version", "2025-06-18"], ["mcp-session-id", _ID], _LENGTH,
    ]  # fmt: skip
    labels = {"boundary": "effect", "class": "mcp", "effect": "write", "operation": "tools/call", "tool": ""}
    return _asked(headers, host="127.0.0.1", path="/mcp", port=8000, scheme="http", seq=3, **labels)


def _tool() -> str:
    headers = [
        ["host", ""], ["accept", "*/*"], ["accept-encoding", "gzip, deflate"], _ALIVE,
        ["user-agent", "python-httpx/0.28.1"], ["traceparent", f"00-{_ID}-{_HALF}-01"],
    ]  # fmt: skip
    labels = {"boundary": "input", "class": "tool", "effect": "read", "operation": "GET", "tool": ""}
    return _asked(
        headers, host="127.0.0.1", method="GET", path="/", port=8000, query=_BODY, scheme="http", seq=3, span_id=_HALF,
        trace_id=_ID, **labels,
    )  # fmt: skip


def _tool_answer() -> str:
    headers = [["date", _NOW], ["server", "uvicorn"], _LENGTH, _JSON, ["x-request-id", "-"]]
    return _answered(headers, reason="OK", req=3, seq=4, status=404, upstream="127.0.0.1:8000")


def _openai() -> str:
    headers = [
        ["host", "api.openai.com"], ["accept-encoding", "gzip, deflate"], _ALIVE, ["accept", "application/json"],
        _JSON, ["user-agent", "OpenAI/Python 1."], *_stainless("python", "1.", "CPython", "3.12."),
        ["authorization", "Bearer <edgetape:authorization:1>"], ["x-stainless-async", "false"],
        ["x-stainless-retry-count", "0"], ["x-stainless-read-timeout", "600"], _LENGTH,
    ]  # fmt: skip
    return _asked(
        headers, host="api.openai.com", model="gpt-4o", operation="chat.completions", path="/v1/chat/completions"
    )


def _openai_answer() -> str:
    headers = [
        ["date", _NOW], _JSON, ["transfer-encoding", "chunked"], _LENGTH, _ALIVE,
        ["access-control-expose-headers", "X-Request-ID"], ["openai-organization", ""], ["openai-processing-ms", "1"],
        ["openai-project", "proj_"], ["openai-version", "2020-10-01"], ["x-envoy-upstream-service-time", "1"],
        ["x-ratelimit-limit-requests", "10000"], ["x-ratelimit-limit-tokens", "30000000"],
        ["x-ratelimit-remaining-requests", "9999"], ["x-ratelimit-remaining-tokens", "29999999"],
        ["x-ratelimit-reset-requests", "6ms"], ["x-ratelimit-reset-tokens", "1ms"], ["x-request-id", "req_" + _ID],
        ["x-openai-proxy-wasm", "v0.1"], ["cf-cache-status", "DYNAMIC"], ["set-cookie", "<edgetape:set-cookie:1>"],
        _SECURE, ["x-content-type-options", "nosniff"], ["server", "cloudflare"], ["cf-ray", _HALF + "-FRA"],
        ["content-encoding", "gzip"], ["alt-svc", 'h3=":443"; ma=86400'],
    ]  # fmt: skip
    usage = [
        ["prompt_tokens", 1], ["completion_tokens", 1], ["total_tokens", 1], ["prompt_tokens_details.cached_tokens", 0],
    ]  # fmt: skip
    return _answered(
        headers, model="gpt-4o-2024-08-06", provider_request_id="req_" + _ID, reason="OK", stop="tool_calls",
        tls="TLSv1.3", tools=[""], upstream="", usage=usage,
    )  # fmt: skip


def _stainless(language: str, version: str, runtime: str, runtime_version: str) -> list[list[str]]:
    return [
        ["x-stainless-lang", language], ["x-stainless-package-version", version], ["x-stainless-os", "Linux"],
        ["x-stainless-arch", "x64"], ["x-stainless-runtime", runtime], ["x-stainless-runtime-version", runtime_version],
    ]  # fmt: skip


def _asked(headers: object, **members: object) -> str:
    usual = {"boundary": "decision", "class": "llm", "effect": "read", "http_version": "HTTP/1.1", "method": "POST"}
    ports = {"body": _BODY, "port": 443, "rules": _RULES, "scheme": "https"}
    return _line("http.request", **{**usual, **ports, "headers": headers, **members})


def _answered(headers: object, **members: object) -> str:
    usual = {"ended": "complete", "framing": "length", "http_version": "HTTP/1.1", "rules": _RULES}
    numbers = {"body": _BODY, "first_byte_us": 1, "req": 1, "seq": 2, "status": 200, "total_us": 1}
    return _line("http.response", **{**usual, **numbers, "headers": headers, **members})


def _line(event: str, **members: object) -> str:
    usual: dict[str, object] = {"mono_us": 1, "prev": _BEFORE, "run": "01a2", "seq": 1, "ts": "2026-11-30T0", "v": 1}
    text = json.dumps({**usual, "type": event, **members}, sort_keys=True, separators=(",", ":"))
    for spelled, mark in _MARK.items():
        text = text.replace(spelled, mark)
    return text


if __name__ == "__main__":
    FILE.write_bytes(made())

"""What an exchange means: the table of dialects, asked in order, and what all of them share.

Rules kept here:
- Nothing raises on what the wire brought: what no dialect knows is a tool or `other`, what cannot be read is empty.
- Labels stay small whatever the wire brought, so that they never make a record too long: words are cut at 128
  characters, lists at 64 items. Model, tool and receipt are whole: a draft puts long texts apart.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from store.core.baggage import trace
from store.core.model import HttpRequest
from store.labels import anthropic, bedrock, gemini, mcp, openai, other, telemetry
from store.labels.dialect import Answer, Boundary, Dialect, Effect, Kind, RequestLabels, ResponseLabels
from store.labels.wire import HeaderPairs, Request, Response

RULES = "edgetape/labels/2"
WORD_CHARACTERS_MAX = 128
ITEMS_MAX = 64

DIALECTS: tuple[Dialect, ...] = (telemetry, mcp, bedrock, anthropic, gemini, openai, other)

_REQUEST_IDS = (
    "x-request-id",
    "request-id",
    "x-oai-request-id",
    "x-amzn-requestid",
    "apim-request-id",
    "x-ms-request-id",
    "x-goog-request-id",
    "cf-ray",
)


def request_labels(
    method: bytes, scheme: bytes, host: bytes, port: int, path: bytes, headers: HeaderPairs, body: bytes
) -> RequestLabels:
    """The labels of a request. `body` keeps its content coding; b"" when it is not known (a streamed upload)."""
    return label(Request(method, scheme, host, port, path, headers, body))


def label(request: Request) -> RequestLabels:
    """The labels of a request: those of the first dialect that knows it, and what its headers say."""
    found = next(filter(None, (dialect.recognise(request) for dialect in DIALECTS)), None)
    labels = found or RequestLabels("other", "effect", "unknown")
    traced = trace(request.header("traceparent"))
    operation = _word(labels.operation)
    key = request.header("idempotency-key") or request.header("x-idempotency-key") or None
    if traced is None and key is None and operation == labels.operation:
        return labels  # as most are
    return replace(
        labels,
        operation=operation,
        idempotency_key=key,
        trace_id=traced[0] if traced else None,
        span_id=traced[1] if traced else None,
    )


def recorded(facts: HttpRequest) -> RequestLabels:
    """The labels that a stored request carries: what it takes to read its answer when its own body is gone."""
    return RequestLabels(
        kind=cast("Kind", facts.kind or "other"),
        boundary=cast("Boundary", facts.boundary or "effect"),
        effect=cast("Effect", facts.effect or "unknown"),
        operation=facts.operation,
        tool=facts.tool if isinstance(facts.tool, str) else None,
        model=facts.model if isinstance(facts.model, str) else None,
    )


def response_labels(request: RequestLabels, status: int, headers: HeaderPairs, body: bytes) -> ResponseLabels:
    """The labels of the response to `request`. `body` keeps its content coding, and may be cut."""
    response = Response(status, headers, body)
    answer = read(request, response)
    named = next(filter(None, (response.header(name) for name in _REQUEST_IDS)), None)
    written = request.boundary == "effect" and request.kind in ("tool", "other")
    return ResponseLabels(
        model=answer.model or None,
        usage=tuple((name[:WORD_CHARACTERS_MAX], count) for name, count in answer.usage[:ITEMS_MAX]),
        stop=_word(answer.stop),
        tools=tuple(call.name[:WORD_CHARACTERS_MAX] for call in answer.calls[:ITEMS_MAX]),
        provider_request_id=named or answer.id or None,
        receipt=other.receipt(response) if written else None,
    )


def answer_text(request: RequestLabels, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> Answer:
    """The answer to `request` put together: text, tool calls, reasoning. `body` keeps its content coding."""
    return read(request, Response(200, headers, body))


def read(request: RequestLabels, response: Response) -> Answer:
    """The answer to `request` as its dialect reads it."""
    return next(filter(None, (dialect.read(request, response) for dialect in DIALECTS)), Answer())


def _word(text: str | None) -> str | None:
    return text[:WORD_CHARACTERS_MAX] if text else None

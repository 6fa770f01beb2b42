"""The Gemini shape of a turn: what generateContent answers, and the one event of streamGenerateContent."""

from __future__ import annotations

from tests.support.dialogue import Json, Turn, encode


def content(turn: Turn) -> bytes:
    """The whole answer as one JSON object."""
    part: Json = {"text": turn.text}
    if turn.tool is not None:
        part = {"functionCall": {"name": turn.tool.name, "args": dict(turn.tool.arguments)}}
    candidate: Json = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage: Json = {
        "promptTokenCount": turn.tokens_in,
        "candidatesTokenCount": turn.tokens_out,
        "totalTokenCount": turn.tokens_in + turn.tokens_out,
    }
    return encode({"candidates": [candidate], "usageMetadata": usage, "responseId": f"r{turn.number:08d}"})


def events(turn: Turn) -> tuple[bytes, ...]:
    """The answer as one event."""
    return (b"data: " + content(turn) + b"\r\n\r\n",)

"""The OpenAI shape of a turn: a chat completion object, or its chunks as server-sent events."""

from __future__ import annotations

from tests.support.dialogue import EPOCH_S, Json, Turn, encode

FINISH = {"tool": "tool_calls", "length": "length", "stop": "stop"}


def completion(turn: Turn) -> bytes:
    """The whole answer as one JSON object."""
    message: dict[str, Json] = {"role": "assistant", "content": turn.text or None, "refusal": None}
    if turn.tool is not None:
        message["tool_calls"] = [_call(turn)]
    choice: Json = {"index": 0, "message": message, "logprobs": None, "finish_reason": FINISH[turn.stop]}
    return encode({**_envelope(turn, "chat.completion"), "choices": [choice], "usage": _usage(turn)})


def events(turn: Turn, usage: bool) -> tuple[bytes, ...]:
    """The answer as events, one a piece, closed by [DONE]; `usage` adds the usage chunk."""
    deltas: list[dict[str, Json]] = [{"role": "assistant", "content": "" if turn.tool is None else None}]
    deltas += [{"content": word} for word in turn.words]
    deltas += _call_deltas(turn)
    chunks: list[Json] = [_chunk(turn, delta, None) for delta in deltas]
    chunks.append(_chunk(turn, {}, FINISH[turn.stop]))
    if usage:
        chunks.append({**_envelope(turn, "chat.completion.chunk"), "choices": [], "usage": _usage(turn)})
    return (*(b"data: " + encode(chunk) + b"\n\n" for chunk in chunks), b"data: [DONE]\n\n")


def _envelope(turn: Turn, kind: str) -> dict[str, Json]:
    return {
        "id": f"chatcmpl-{turn.number:08d}",
        "object": kind,
        "created": EPOCH_S + turn.number,
        "model": turn.model,
        "system_fingerprint": "fp_scripted",
    }


def _chunk(turn: Turn, delta: dict[str, Json], finish: str | None) -> Json:
    choice: Json = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {**_envelope(turn, "chat.completion.chunk"), "choices": [choice]}


def _usage(turn: Turn) -> Json:
    total = turn.tokens_in + turn.tokens_out
    return {"prompt_tokens": turn.tokens_in, "completion_tokens": turn.tokens_out, "total_tokens": total}


def _call(turn: Turn) -> dict[str, Json]:
    assert turn.tool is not None
    arguments = encode(dict(turn.tool.arguments)).decode()
    function: Json = {"name": turn.tool.name, "arguments": arguments}
    return {"id": f"call_{turn.number:08d}", "type": "function", "function": function}


def _call_deltas(turn: Turn) -> list[dict[str, Json]]:
    if turn.tool is None:
        return []
    arguments = encode(dict(turn.tool.arguments)).decode()
    opening: Json = {**_call(turn), "index": 0, "function": {"name": turn.tool.name, "arguments": ""}}
    pieces = [arguments[start : start + 8] for start in range(0, len(arguments), 8)]
    rest: list[dict[str, Json]] = [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces]
    return [{"tool_calls": [opening]}, *rest]

"""The Anthropic shape of a turn: a message object, or its events as a server-sent event stream."""

from __future__ import annotations

from tests.support.dialogue import Json, Turn, encode

STOP = {"tool": "tool_use", "length": "max_tokens", "stop": "end_turn"}


def message(turn: Turn) -> bytes:
    """The whole answer as one JSON object."""
    ending: dict[str, Json] = {"stop_reason": STOP[turn.stop], "stop_sequence": None}
    block = _block(turn)
    if turn.tool is None:
        block["text"] = turn.text
    else:
        block["input"] = dict(turn.tool.arguments)
    return encode({**_envelope(turn), "content": [block], **ending, "usage": _usage(turn, turn.tokens_out)})


def events(turn: Turn) -> tuple[bytes, ...]:
    """The answer as named events, one a piece."""
    start: Json = {**_envelope(turn), "content": [], "stop_reason": None, "stop_sequence": None}
    assert isinstance(start, dict)
    start["usage"] = _usage(turn, 1)
    ending: Json = {"stop_reason": STOP[turn.stop], "stop_sequence": None}
    return (
        _event("message_start", {"message": start}),
        _event("content_block_start", {"index": 0, "content_block": _block(turn)}),
        _event("ping", {}),
        *(_event("content_block_delta", {"index": 0, "delta": delta}) for delta in _deltas(turn)),
        _event("content_block_stop", {"index": 0}),
        _event("message_delta", {"delta": ending, "usage": {"output_tokens": turn.tokens_out}}),
        _event("message_stop", {}),
    )


def _event(name: str, fields: dict[str, Json]) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + encode({"type": name, **fields}) + b"\n\n"


def _envelope(turn: Turn) -> dict[str, Json]:
    return {"id": f"msg_{turn.number:08d}", "type": "message", "role": "assistant", "model": turn.model}


def _usage(turn: Turn, tokens_out: int) -> Json:
    return {
        "input_tokens": turn.tokens_in,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": tokens_out,
    }


def _block(turn: Turn) -> dict[str, Json]:
    if turn.tool is None:
        return {"type": "text", "text": ""}
    return {"type": "tool_use", "id": f"toolu_{turn.number:08d}", "name": turn.tool.name, "input": {}}


def _deltas(turn: Turn) -> list[Json]:
    if turn.tool is None:
        return [{"type": "text_delta", "text": word} for word in turn.words]
    arguments = encode(dict(turn.tool.arguments)).decode()
    pieces = [arguments[start : start + 8] for start in range(0, len(arguments), 8)]
    return [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]

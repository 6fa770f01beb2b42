"""The shape of OpenAI's Responses API: a turn as a response object, or as its events."""

from __future__ import annotations

from tests.support.dialogue import EPOCH_S, Json, Turn, encode


def response(turn: Turn) -> bytes:
    """The whole answer as one JSON object."""
    return encode(_response(turn, "completed", [_item(turn)]))


def events(turn: Turn) -> tuple[bytes, ...]:
    """The answer as named, numbered events, one a piece."""
    item = _item(turn)
    empty: dict[str, Json] = {"content": []} if turn.tool is None else {"arguments": ""}
    began = {**item, "status": "in_progress", **empty}
    told: list[dict[str, Json]] = [
        {"type": "response.created", "response": _response(turn, "in_progress", [])},
        {"type": "response.output_item.added", "output_index": 0, "item": began},
        *_said(turn, item),
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": _response(turn, "completed", [item])},
    ]
    return tuple(_event({**event, "sequence_number": number}) for number, event in enumerate(told))


def _said(turn: Turn, item: dict[str, Json]) -> list[dict[str, Json]]:
    place: dict[str, Json] = {"item_id": item["id"], "output_index": 0}
    if turn.tool is not None:
        return [{"type": "response.function_call_arguments.done", **place, "arguments": item["arguments"]}]
    place["content_index"] = 0
    return [
        {"type": "response.content_part.added", **place, "part": _part("")},
        *({"type": "response.output_text.delta", **place, "delta": word} for word in turn.words),
        {"type": "response.output_text.done", **place, "text": turn.text},
    ]


def _event(event: dict[str, Json]) -> bytes:
    return b"event: " + str(event["type"]).encode() + b"\ndata: " + encode(event) + b"\n\n"


def _part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": []}


def _item(turn: Turn) -> dict[str, Json]:
    if turn.tool is None:
        whole: Json = [_part(turn.text)]
        told: dict[str, Json] = {"type": "message", "id": f"msg_{turn.number:08d}", "role": "assistant"}
        return {**told, "status": "completed", "content": whole}
    return {
        "type": "function_call",
        "id": f"fc_{turn.number:08d}",
        "call_id": f"call_{turn.number:08d}",
        "name": turn.tool.name,
        "arguments": encode(dict(turn.tool.arguments)).decode(),
        "status": "completed",
    }


def _response(turn: Turn, status: str, output: list[dict[str, Json]]) -> Json:
    usage: Json = {
        "input_tokens": turn.tokens_in,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": turn.tokens_out,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": turn.tokens_in + turn.tokens_out,
    }
    return {
        "id": f"resp_{turn.number:08d}",
        "object": "response",
        "created_at": EPOCH_S + turn.number,
        "status": status,
        "model": turn.model,
        "output": [*output],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "usage": usage if status == "completed" else None,
    }

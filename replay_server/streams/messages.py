"""Anthropic's messages: named events that open, fill and close the blocks of a message."""

from collections.abc import Iterator, Sequence

from replay_server.streams.spelling import event, words
from store.labels import tree
from store.labels.tree import Json

_INPUT = "partial_json"
# What a delta of this type adds, and to which member of its block.
_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
_TYPES = {member: kind for kind, member in _DELTAS.items()}


def knows(events: Sequence[dict[str, Json]]) -> bool:
    """Whether these are the events of a message."""
    return any(one.get("type") == "message_start" for one in events)


def assembled(events: Sequence[dict[str, Json]]) -> dict[str, Json]:
    """The message."""
    message: dict[str, Json] = {}
    usage: dict[str, Json] = {}
    blocks: dict[int, dict[str, Json]] = {}
    inputs: dict[int, str] = {}
    for one in events:
        place = tree.number(one.get("index"))
        match one.get("type"):
            case "message_start":
                message = dict(tree.members(one.get("message")))
                usage |= tree.members(message.get("usage"))
            case "content_block_start":
                blocks[place] = dict(tree.members(one.get("content_block")))
            case "content_block_delta":
                _add(blocks.setdefault(place, {}), inputs, place, tree.members(one.get("delta")))
            case "message_delta":
                message |= tree.members(one.get("delta"))
                usage |= tree.members(one.get("usage"))
    for place, spelled in inputs.items():
        blocks[place]["input"] = tree.parse(spelled or "{}")
    listed: list[Json] = [block for _, block in sorted(blocks.items())]
    return {**message, "content": listed, **({"usage": usage} if usage else {})}


def streamed(message: dict[str, Json]) -> list[bytes]:
    """The events."""
    usage = tree.members(message.get("usage"))
    opening: Json = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    pieces = [_event("message_start", message=opening)]
    for place, block in enumerate(map(tree.members, tree.items(message.get("content")))):
        pieces += _block(place, block)
    ending: Json = {name: message.get(name) for name in ("stop_reason", "stop_sequence")}
    spent: Json = {"output_tokens": usage.get("output_tokens", 0)}
    return [*pieces, _event("message_delta", delta=ending, usage=spent), _event("message_stop")]


def _block(place: int, block: dict[str, Json]) -> Iterator[bytes]:
    texts = {name: text for name in _TYPES if isinstance(text := block.get(name), str)}
    is_call = "input" in block
    bare: dict[str, Json] = {**block, **dict.fromkeys(texts, ""), **({"input": {}} if is_call else {})}
    yield _event("content_block_start", index=place, content_block=bare)
    for name, text in texts.items():
        for piece in [text] if name == "signature" else words(text):
            yield _event("content_block_delta", index=place, delta={"type": _TYPES[name], name: piece})
    if is_call:
        filled: Json = {"type": "input_json_delta", _INPUT: tree.spell(block["input"])}
        yield _event("content_block_delta", index=place, delta=filled)
    yield _event("content_block_stop", index=place)


def _event(name: str, **members: Json) -> bytes:
    return event({"type": name, **members}, name)


def _add(block: dict[str, Json], inputs: dict[int, str], place: int, delta: dict[str, Json]) -> None:
    kind = tree.text(delta.get("type"))
    if kind == "input_json_delta":
        inputs[place] = inputs.get(place, "") + tree.text(delta.get(_INPUT))
    elif kind == "citations_delta":
        block["citations"] = [*tree.items(block.get("citations")), delta.get("citation")]
    elif kind in _DELTAS:
        name = _DELTAS[kind]
        block[name] = tree.text(block.get(name)) + tree.text(delta.get(name))

"""OpenAI's responses: numbered events, the last of which carries the whole response."""

from collections.abc import Iterator, Sequence

from replay_server.streams.spelling import event, words
from store.labels import tree
from store.labels.tree import Json

_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


def knows(events: Sequence[dict[str, Json]]) -> bool:
    """Whether these are the events of a response that came to its end."""
    return any(one.get("type") in _ENDS for one in events)


def assembled(events: Sequence[dict[str, Json]]) -> dict[str, Json]:
    """The response; where a backend leaves its output empty, the items that came."""
    whole = next(tree.members(one.get("response")) for one in reversed(events) if one.get("type") in _ENDS)
    if tree.items(whole.get("output")):
        return whole
    items = {
        tree.number(one.get("output_index")): one.get("item")
        for one in events
        if one.get("type") == "response.output_item.done"
    }
    return {**whole, "output": [item for _, item in sorted(items.items())]}


def streamed(message: dict[str, Json]) -> list[bytes]:
    """The events, numbered from 0."""
    listed = list(_events(message))
    return [event({**one, "sequence_number": number}, str(one["type"])) for number, one in enumerate(listed)]


def _events(message: dict[str, Json]) -> Iterator[dict[str, Json]]:
    begun: Json = {**message, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for place, item in enumerate(map(tree.members, tree.items(message.get("output")))):
        yield from _item(place, item)
    status = tree.text(message.get("status")) or "completed"
    yield {"type": f"response.{status}", "response": message}


def _item(place: int, item: dict[str, Json]) -> Iterator[dict[str, Json]]:
    where: dict[str, Json] = {"output_index": place, "item_id": item.get("id")}
    parts = [tree.members(part) for part in tree.items(item.get("content"))] if item.get("type") == "message" else []
    bare: dict[str, Json] = {**item, **({"status": "in_progress"} if "status" in item else {})}
    bare |= {name: empty for name, empty in _empty(item) if name in item}
    yield {"type": "response.output_item.added", "output_index": place, "item": bare}
    for number, part in enumerate(parts):
        yield from _part({**where, "content_index": number}, part)
    if isinstance(arguments := item.get("arguments"), str):
        yield {"type": "response.function_call_arguments.delta", **where, "delta": arguments}
        yield {"type": "response.function_call_arguments.done", **where, "arguments": arguments}
    yield {"type": "response.output_item.done", "output_index": place, "item": item}


def _part(where: dict[str, Json], part: dict[str, Json]) -> Iterator[dict[str, Json]]:
    kind, name = ("refusal", "refusal") if part.get("type") == "refusal" else ("output_text", "text")
    text = tree.text(part.get(name))
    yield {"type": "response.content_part.added", **where, "part": {**part, name: ""}}
    for word in words(text):
        yield {"type": f"response.{kind}.delta", **where, "delta": word}
    yield {"type": f"response.{kind}.done", **where, name: text}
    yield {"type": "response.content_part.done", **where, "part": part}


def _empty(item: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    if item.get("type") == "message":
        yield "content", []
    yield "arguments", ""

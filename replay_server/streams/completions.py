"""Chat completions: chunks whose deltas add up to a message, ended by `[DONE]`."""

from collections.abc import Iterator, Sequence

from replay_server.streams.spelling import event, words
from store.labels import tree
from store.labels.tree import Json

_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")
_ONCE = ("id", "type", "role", "name", "index")  # some servers repeat these in every delta


def knows(events: Sequence[dict[str, Json]]) -> bool:
    """Whether these are chunks of chat completions."""
    return any("delta" in tree.members(choice) for one in events for choice in tree.items(one.get("choices")))


def assembled(events: Sequence[dict[str, Json]]) -> dict[str, Json]:
    """The chat completion."""
    whole: dict[str, Json] = {}
    choices: dict[int, dict[str, Json]] = {}
    for chunk in events:
        whole |= {name: value for name, value in chunk.items() if name != "choices" and value is not None}
        for choice in map(tree.members, tree.items(chunk.get("choices"))):
            number = tree.number(choice.get("index"))
            known = choices.setdefault(number, {"index": number, "message": {}, "finish_reason": None})
            _merge(tree.members(known["message"]), tree.members(choice.get("delta")))
            rest = {name: value for name, value in choice.items() if name not in ("delta", "index")}
            known |= {name: value for name, value in rest.items() if value is not None}
    listed: list[Json] = [choice for _, choice in sorted(choices.items())]
    return {**whole, "object": "chat.completion", "choices": listed}


def streamed(message: dict[str, Json]) -> list[bytes]:
    """The chunks."""
    known = {name: value for name, value in message.items() if name not in ("choices", "usage")}
    envelope: dict[str, Json] = {**known, "object": "chat.completion.chunk"}
    pieces: list[bytes] = []
    for choice in map(tree.members, tree.items(message.get("choices"))):
        number, reason = choice.get("index", 0), choice.get("finish_reason")
        told = [(delta, None) for delta in _deltas(tree.members(choice.get("message")))]
        for delta, ended in (*told, ({}, reason)):
            listed: Json = [{"index": number, "delta": delta, "finish_reason": ended}]
            pieces.append(event({**envelope, "choices": listed}))
    if message.get("usage") is not None:
        pieces.append(event({**envelope, "choices": [], "usage": message["usage"]}))
    return [*pieces, b"data: [DONE]\n\n"]


def _deltas(message: dict[str, Json]) -> Iterator[Json]:
    texts = {name: value for name, value in message.items() if name in _TEXTS and isinstance(value, str)}
    first = {name: value for name, value in message.items() if name not in texts and name != "tool_calls"}
    yield first | ({"content": ""} if "content" in texts else {})
    for name, text in texts.items():
        for word in words(text):
            yield {name: word}
    for number, call in enumerate(tree.items(message.get("tool_calls"))):
        yield {"tool_calls": [{"index": number, **tree.members(call)}]}


def _merge(known: dict[str, Json], delta: dict[str, Json]) -> None:
    for name, value in delta.items():
        have = known.get(name)
        match value:
            case str() if isinstance(have, str) and name not in _ONCE:
                known[name] = have + value
            case dict() if isinstance(have, dict):
                _merge(have, value)
            case list():
                known[name] = _listed(tree.items(have), value)
            case None if name in known:
                pass
            case _:
                known[name] = value


def _listed(known: list[Json], delta: list[Json]) -> list[Json]:
    """Items that name their place are added to the one that has it; others follow."""
    for item in delta:
        place = item.get("index") if isinstance(item, dict) else None
        if not isinstance(item, dict) or not isinstance(place, int):
            known.append(item)
            continue
        rest = {name: value for name, value in item.items() if name != "index"}
        while len(known) <= place:
            known.append({})
        _merge(tree.members(known[place]), rest)
    return known

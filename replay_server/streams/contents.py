"""Gemini's generateContent: each event of a stream is an answer of the plain form, with the next parts of it."""

from collections.abc import Sequence

from replay_server.streams.spelling import event, words
from store.labels import tree
from store.labels.tree import Json


def knows(events: Sequence[dict[str, Json]]) -> bool:
    """Whether these are answers of generateContent."""
    return any(isinstance(one.get("candidates"), list) for one in events)


def assembled(events: Sequence[dict[str, Json]]) -> dict[str, Json]:
    """The answer as generateContent gives it; pieces of a text are one part."""
    whole: dict[str, Json] = {}
    candidates: dict[int, dict[str, Json]] = {}
    for one in events:
        whole |= one
        for candidate in map(tree.members, tree.items(one.get("candidates"))):
            number = tree.number(candidate.get("index"))
            content = tree.members(candidate.get("content"))
            known = candidates.setdefault(number, {})
            before = tree.members(known.get("content"))
            parts = _joined([*tree.items(before.get("parts")), *tree.items(content.get("parts"))])
            known |= candidate
            if before or content:
                known["content"] = {**before, **content, "parts": parts}
    listed: list[Json] = [candidate for _, candidate in sorted(candidates.items())]
    return {**whole, "candidates": listed} if listed else whole


def streamed(message: dict[str, Json]) -> list[bytes]:
    """The events: a part each, a word each of a text; what ends a candidate, and the usage, stand in the last ones."""
    envelope = {name: value for name, value in message.items() if name not in ("candidates", "usageMetadata")}
    pieces: list[dict[str, Json]] = []
    for candidate in map(tree.members, tree.items(message.get("candidates"))):
        content = tree.members(candidate.get("content"))
        place = {name: value for name, value in candidate.items() if name == "index"}
        parts = [piece for part in tree.items(content.get("parts")) for piece in _pieces(part)]
        told: list[dict[str, Json]] = [{**place, "content": {**content, "parts": [part]}} for part in parts] or [place]
        ended = {name: value for name, value in candidate.items() if name != "content"}
        listed: list[dict[str, Json]] = [*told[:-1], told[-1] | ended]
        pieces += [{**envelope, "candidates": [one]} for one in listed]
    pieces = pieces or [envelope]
    if "usageMetadata" in message:
        pieces[-1] |= {"usageMetadata": message["usageMetadata"]}
    return [event(piece).replace(b"\n\n", b"\r\n\r\n") for piece in pieces]


def _joined(parts: Sequence[Json]) -> list[Json]:
    """Texts one after the other, of one kind, as one; a signature or any other member ends a text."""
    joined: list[Json] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(last, dict) and isinstance(part, dict) and _kind(part) is not None and _kind(last) == _kind(part):
            joined[-1] = {**last, "text": tree.text(last.get("text")) + tree.text(part.get("text"))}
        else:
            joined.append(part)
    return joined


def _kind(part: dict[str, Json]) -> bool | None:
    """Whether a part is a thought, where it is nothing but text."""
    return part.get("thought") is True if part.keys() <= {"text", "thought"} and "text" in part else None


def _pieces(part: Json) -> list[Json]:
    if not isinstance(part, dict) or _kind(part) is None:
        return [part]
    return [{**part, "text": word} for word in words(tree.text(part["text"]))] or [part]

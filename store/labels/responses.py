"""Puts an answer of the responses API together: from one JSON object, or from the events of its stream.

The realtime API says the same in nearly the same events; what was said aloud is told by its transcript.
A stream that ended well carries the whole response in its last event; one that was cut is put together from what came.
"""

from dataclasses import dataclass, field, replace

from store.labels import completions, tree
from store.labels.dialect import Answer, Call
from store.labels.tree import Json
from store.labels.wire import Response

_TEXT_DELTAS = (
    "response.output_text.delta", "response.refusal.delta", "response.text.delta",
    "response.output_audio_transcript.delta", "response.audio_transcript.delta",
)  # fmt: skip
_WORDS = ("text", "refusal", "transcript")
_REASONING_DELTAS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_CALL_DELTAS = ("response.function_call_arguments.delta", "response.custom_tool_call_input.delta")


def answer(response: Response) -> Answer:
    """The answer of the responses API."""
    if not response.is_stream:
        body = tree.members(response.json)
        return _whole(body, tree.items(body.get("output")))
    draft = _Draft()
    for message in response.messages:
        draft.take(message)
    return draft.answer()


@dataclass(slots=True)
class _Draft:
    """What has come so far: the newest response object, the items by their place, and why it failed."""

    body: dict[str, Json] = field(default_factory=dict)
    items: dict[int, dict[str, Json]] = field(default_factory=dict)
    error: str = ""

    def take(self, message: dict[str, Json]) -> None:
        """The data of one event."""
        kind, place = tree.text(message.get("type")), tree.number(message.get("output_index"))
        if "response" in message:
            self.body = tree.members(message["response"])
        if kind in ("response.output_item.added", "response.output_item.done"):
            # A copy, which deltas are added to.
            item = tree.members(message.get("item"))
            self.items[place] = {name: [*value] if isinstance(value, list) else value for name, value in item.items()}
        elif kind in _TEXT_DELTAS:
            self._append(place, "content", message)
        elif kind in _REASONING_DELTAS:
            self._append(place, "summary", message)
        elif kind in _CALL_DELTAS:
            item = self.items.setdefault(place, {"type": "function_call"})
            name = "input" if item.get("type") == "custom_tool_call" else "arguments"
            item[name] = tree.text(item.get(name)) + tree.text(message.get("delta"))
        elif kind == "error":
            self.error = tree.text(message.get("message")) or completions.complaint(message)

    def _append(self, place: int, name: str, message: dict[str, Json]) -> None:
        kind = "message" if name == "content" else "reasoning"
        item = self.items.setdefault(place, {"type": kind})
        parts = item.get(name)
        if not isinstance(parts, list):
            parts = item[name] = []
        parts.append({"text": message.get("delta")})

    def answer(self) -> Answer:
        """The finished answer. Some backends leave `output` empty in the last event: then the items count."""
        output = tree.items(self.body.get("output")) or [item for _, item in sorted(self.items.items())]
        whole = _whole(self.body, output)
        return replace(whole, error=whole.error or self.error)


def _whole(body: dict[str, Json], output: list[Json]) -> Answer:
    parts = [tree.members(item) for item in output]
    known = completions.facts(body)
    return replace(
        known,
        text="".join(_text(item) for item in parts if item.get("type") == "message"),
        reasoning="\n".join(filter(None, (_reasoning(item) for item in parts if item.get("type") == "reasoning"))),
        calls=tuple(_call(item) for item in parts if tree.text(item.get("type")).endswith("_call")),
        stop=_stop(body),
        error=completions.complaint(body),
    )


def _text(item: dict[str, Json]) -> str:
    parts = [tree.members(part) for part in tree.items(item.get("content"))]
    return "".join(next(filter(None, (tree.text(part.get(name)) for name in _WORDS)), "") for part in parts)


def _reasoning(item: dict[str, Json]) -> str:
    return completions.content(item.get("summary")) or completions.content(item.get("content"))


def _call(item: dict[str, Json]) -> Call:
    arguments = item.get("arguments", item.get("input", item.get("action")))
    spelled = arguments if isinstance(arguments, str) else tree.spell(arguments) if arguments else ""
    name = tree.text(item.get("name")) or tree.text(item.get("type")).removesuffix("_call")
    return Call(name, spelled, tree.text(item.get("call_id")) or tree.text(item.get("id")))


def _stop(body: dict[str, Json]) -> str:
    reason = tree.members(body.get("incomplete_details")).get("reason")
    return tree.text(reason) or tree.text(body.get("status"))

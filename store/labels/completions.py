"""Puts a chat completion together: from one JSON object, or from the deltas of its stream.

Also read are the spellings of servers that speak nearly the same: `reasoning_content` and `reasoning` beside `content`,
content as a list of parts, whole messages in a stream, one `message` without choices, the legacy `text` and
`function_call`.
"""

from dataclasses import dataclass, field

from store.labels import tree
from store.labels.dialect import Answer, Call
from store.labels.tree import Json
from store.labels.wire import Response


def answer(response: Response) -> Answer:
    """The answer of a chat completion or a legacy completion."""
    draft = _Draft(("delta", "message") if response.is_stream else ("message", "delta"))
    bodies = response.messages if response.is_stream else (tree.members(response.json),)
    for body in bodies:
        draft.take(body)
    return draft.answer()


def facts(body: dict[str, Json]) -> Answer:
    """What an object of this dialect says about itself: id, model, usage."""
    return Answer(id=tree.text(body.get("id")), model=tree.text(body.get("model")), usage=_usage(body))


def _usage(body: dict[str, Json]) -> tuple[tuple[str, int], ...]:
    usage = tree.counts(body.get("usage")) or tree.counts(tree.members(body.get("x_groq")).get("usage"))
    return tuple(usage.items())


def complaint(body: Json) -> str:
    """The message of an error body, "" without one."""
    error = tree.members(body).get("error")
    return tree.text(error) or tree.text(tree.members(error).get("message"))


@dataclass(slots=True)
class _CallDraft:
    name: str = ""
    arguments: str = ""
    id: str = ""


@dataclass(slots=True)
class _Draft:
    """What has come so far. Text is that of the first choice; calls are those of all.

    `places`: where a choice keeps its message, the likelier first. Perplexity fills both: the one that the form of the
    answer does not call for repeats the other.
    """

    places: tuple[str, str]

    id: str = ""
    model: str = ""
    usage: tuple[tuple[str, int], ...] = ()
    stop: str = ""
    error: str = ""
    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: dict[tuple[int, int], _CallDraft] = field(default_factory=dict)

    def take(self, body: dict[str, Json]) -> None:
        """One JSON object: a whole completion or a chunk of one."""
        self.id = self.id or tree.text(body.get("id"))
        self.model = self.model or tree.text(body.get("model"))
        # Of the pieces of a stream hardly one has these.
        if "usage" in body or "x_groq" in body:
            self.usage = _usage(body) or self.usage
        if "error" in body:
            self.error = self.error or complaint(body)
        choices = tree.items(body.get("choices")) or ([body] if "message" in body else [])
        for choice in choices:
            self._choice(tree.members(choice))

    def _choice(self, choice: dict[str, Json]) -> None:
        number = tree.number(choice.get("index"))
        likelier, other = self.places
        message = tree.members(choice.get(likelier if likelier in choice else other))
        if number == 0:
            self.content.append(
                content(message.get("content")) or tree.text(message.get("refusal")) or tree.text(choice.get("text"))
            )
            self.reasoning.append(_reasoning(message))
            self.stop = tree.text(choice.get("finish_reason")) or self.stop
        for place, call in enumerate(tree.items(message.get("tool_calls"))):
            self._call(number, place, tree.members(call))
        if "function_call" in message:
            self._call(number, -1, {"function": message["function_call"]})

    def _call(self, choice: int, place: int, call: dict[str, Json]) -> None:
        index = call.get("index")
        slot = (choice, index if isinstance(index, int) else place)
        named = tree.members(call.get("function")) or tree.members(call.get("custom"))
        arguments = named.get("arguments", named.get("input"))
        spelled = arguments if isinstance(arguments, str) else tree.spell(arguments) if arguments else ""
        draft = self.calls.get(slot)
        given = tree.text(call.get("id"))
        if draft is None or (given and draft.id and given != draft.id and named.get("name")):
            # some servers stream every call under the same index: another id with a name is another call
            slot = slot if draft is None else (choice, len(self.calls))
            draft = self.calls[slot] = _CallDraft()
        draft.name = draft.name or tree.text(named.get("name"))
        draft.id = draft.id or given
        draft.arguments += spelled

    def answer(self) -> Answer:
        """The finished answer."""
        calls = tuple(Call(draft.name, draft.arguments, draft.id) for draft in self.calls.values() if draft.name)
        return Answer(
            text="".join(self.content),
            calls=calls,
            reasoning="".join(self.reasoning),
            model=self.model,
            usage=self.usage,
            stop=self.stop,
            id=self.id,
            error=self.error,
        )


def content(value: Json) -> str:
    """The text of a message's content: a string, or the text parts of a list."""
    if isinstance(value, str):
        return value
    return "".join(tree.text(tree.members(part).get("text")) for part in tree.items(value))


def _reasoning(message: dict[str, Json]) -> str:
    told = tree.text(message.get("reasoning_content")) or tree.text(message.get("reasoning"))
    if told or "reasoning_details" in message:
        return told or content(message["reasoning_details"])
    parts = tree.items(message.get("content"))  # Mistral thinks in content parts
    return "".join([content(tree.members(part).get("thinking")) for part in parts]) if parts else ""

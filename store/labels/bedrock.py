"""The Bedrock dialect: Converse and InvokeModel, as one JSON object or as an AWS event stream, on any host.

What InvokeModel carries is the model's own dialect: Anthropic's messages are read by their dialect.
"""

import re
from dataclasses import dataclass, field
from urllib.parse import unquote

from store.labels import tree
from store.labels.dialect import Answer, Call, RequestLabels
from store.labels.settings import chosen, settings
from store.labels.tree import Json
from store.labels.wire import Request, Response

_ROUTE = re.compile(
    r"/model/([^/]+)/(converse|converse-stream|invoke|invoke-with-response-stream|count-tokens)$", re.IGNORECASE
)
_EMBEDS = re.compile(r"embed", re.IGNORECASE)
_EMBEDDED = {"inputText", "texts", "taskType"}  # for a model that is named by its ARN alone


def recognise(request: Request) -> RequestLabels | None:
    """The labels of a request for a model's answer, or for an embedding."""
    found = _ROUTE.search(request.route)
    if request.verb != "POST" or found is None:
        return None
    model, operation = unquote(found[1]), found[2]
    if operation == "count-tokens":
        return RequestLabels("other", "input", "read", operation="bedrock.count_tokens", model=model)
    if operation.startswith("converse"):
        steering = tree.sources(bytes(request.sources.get("inferenceConfig", b"")))
        return RequestLabels("llm", "decision", "read", operation="converse", model=model, settings=chosen(steering))
    if _EMBEDS.search(model) or (request.sources.keys() & _EMBEDDED and "textGenerationConfig" not in request.sources):
        return RequestLabels("embedding", "input", "read", operation="bedrock.embed", model=model)
    own = "messages" if "anthropic_version" in request.sources else "bedrock.invoke"
    return RequestLabels("llm", "decision", "read", operation=own, model=model, settings=settings(request))


def read(labels: RequestLabels, response: Response) -> Answer | None:
    """The answer to a request for a model's answer."""
    match labels.operation:
        case "converse":
            return _converse(response)
        case "bedrock.count_tokens":
            return Answer(
                usage=tuple(tree.counts({"inputTokens": tree.members(response.json).get("inputTokens")}).items())
            )
        case "bedrock.embed":
            counted = {"inputTextTokenCount": tree.members(response.json).get("inputTextTokenCount")}
            return Answer(usage=tuple(tree.counts(counted).items()), error=_complaint(response))
        case "bedrock.invoke":
            return _invoked(response)
    return None


def _counted(response: Response, name: str) -> Answer:
    counted = tree.counts({name: tree.members(response.json).get(name)})
    return Answer(usage=tuple(counted.items()), error=_complaint(response))


def _complaint(response: Response) -> str:
    return tree.text(tree.members(response.json).get("message")) if response.status >= 400 else ""


def _invoked(response: Response) -> Answer:
    """What the models of other makers say, as far as they say it in one of the usual members."""
    parts = response.messages if response.is_stream else (tree.members(response.json),)
    said = [_text_of(part) for part in parts]
    return Answer("".join(said), error=_complaint(response))


def _text_of(part: dict[str, Json]) -> str:
    for name in ("outputText", "generation", "completion"):
        if isinstance(part.get(name), str):
            return tree.text(part[name])
    for listed in ("results", "outputs", "generations"):
        for item in tree.items(part.get(listed)):
            return tree.text(tree.members(item).get("outputText") or tree.members(item).get("text"))
    return ""


def _converse(response: Response) -> Answer:
    draft = _Draft()
    if response.is_stream:
        for message in response.messages:
            draft.take(message)
    else:
        draft.whole(tree.members(response.json))
    draft.error = draft.error or _complaint(response)
    return draft.answer()


@dataclass(slots=True)
class _Draft:
    """What has come so far: content blocks by place, the pieces of their texts, usage and stop reason."""

    blocks: dict[int, dict[str, Json]] = field(default_factory=dict)
    pieces: dict[tuple[int, str], list[str]] = field(default_factory=dict)
    usage: dict[str, int] = field(default_factory=dict)
    stop: str = ""
    error: str = ""

    def whole(self, body: dict[str, Json]) -> None:
        """An answer as one object."""
        content = tree.members(tree.members(body.get("output")).get("message")).get("content")
        self.blocks = dict(enumerate(tree.members(block) for block in tree.items(content)))
        self.usage, self.stop = tree.counts(body.get("usage")), tree.text(body.get("stopReason"))

    def take(self, message: dict[str, Json]) -> None:
        """One message of a stream: {its event type: what it says}."""
        for kind, value in message.items():
            said = tree.members(value)
            place = tree.number(said.get("contentBlockIndex"))
            match kind:
                case "contentBlockStart":
                    self.blocks[place] = tree.members(said.get("start"))
                case "contentBlockDelta":
                    self.blocks.setdefault(place, {})
                    self._delta(place, tree.members(said.get("delta")))
                case "messageStop":
                    self.stop = tree.text(said.get("stopReason"))
                case "metadata":
                    self.usage |= tree.counts(said.get("usage"))
                case _ if kind.endswith("Exception"):
                    self.error = tree.text(said.get("message")) or kind

    def _delta(self, place: int, delta: dict[str, Json]) -> None:
        pieces = {
            "text": delta.get("text"),
            "input": tree.members(delta.get("toolUse")).get("input"),
            "reasoning": tree.members(delta.get("reasoningContent")).get("text"),
        }
        for name, piece in pieces.items():
            if isinstance(piece, str):
                self.pieces.setdefault((place, name), []).append(piece)

    def answer(self) -> Answer:
        """The finished answer; it does not name the model."""
        blocks = sorted(self.blocks.items())
        return Answer(
            text="".join(tree.text(block.get("text")) + self._joined(place, "text") for place, block in blocks),
            reasoning="".join(_reasoning(block) + self._joined(place, "reasoning") for place, block in blocks),
            calls=tuple(self._call(place, block) for place, block in blocks if "toolUse" in block),
            usage=tuple(self.usage.items()),
            stop=self.stop,
            error=self.error,
        )

    def _joined(self, place: int, name: str) -> str:
        return "".join(self.pieces.get((place, name), ()))

    def _call(self, place: int, block: dict[str, Json]) -> Call:
        use = tree.members(block.get("toolUse"))
        arguments = self._joined(place, "input") or tree.spell(use.get("input", {}))
        return Call(tree.text(use.get("name")), arguments, tree.text(use.get("toolUseId")))


def _reasoning(block: dict[str, Json]) -> str:
    said = tree.members(tree.members(block.get("reasoningContent")).get("reasoningText"))
    return tree.text(said.get("text"))

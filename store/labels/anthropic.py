"""The Anthropic dialect: messages as one JSON object or as an event stream, on its own hosts, Vertex and gateways."""

import re
from dataclasses import dataclass, field
from urllib.parse import unquote

from store.labels import completions, tree
from store.labels.dialect import Answer, Call, Effect, RequestLabels
from store.labels.settings import settings
from store.labels.tree import Json
from store.labels.wire import Request, Response

_VERTEX = re.compile(r"/publishers/anthropic/models/([^/:]+):(?:streamRawPredict|rawPredict)$")
_TOOL_USES = ("tool_use", "server_tool_use", "mcp_tool_use")


def recognise(request: Request) -> RequestLabels | None:
    """The labels of a request for a message, or for a count of its tokens."""
    if request.verb != "POST":
        return None
    vertex = _VERTEX.search(request.route)
    route = request.route.rstrip("/")
    if vertex is None and not _speaks(request, route):
        return None
    named = tree.text(request.member("model")) or (unquote(vertex[1]) if vertex else None)
    if route.endswith("/count_tokens"):
        return RequestLabels("other", "input", "read", operation="messages.count_tokens", model=named)
    # a remote tool acts from within the provider
    effect: Effect = "unknown" if "mcp_servers" in request.sources else "read"
    return RequestLabels("llm", "decision", effect, operation="messages", model=named, settings=settings(request))


def read(labels: RequestLabels, response: Response) -> Answer | None:
    """The answer to a request for a message."""
    if labels.operation not in ("messages", "messages.count_tokens"):
        return None
    draft = _Draft()
    if response.is_stream:
        for message in response.messages:
            draft.take(message)
    else:
        draft.whole(tree.members(response.json))
    return draft.answer()


def _speaks(request: Request, route: str) -> bool:
    """Other services have messages too: the version header, or a model beside the messages, tells them apart."""
    if not route.endswith(("/messages", "/messages/count_tokens")):
        return bool(request.header("anthropic-version")) and "messages" in request.sources
    if request.header("anthropic-version") or request.site.endswith("api.anthropic.com"):
        return True
    if request.sources:
        return "messages" in request.sources and "model" in request.sources
    return "/v1/messages" in route and not request.content


@dataclass(slots=True)
class _Draft:
    """What has come so far: the message's own members, its content blocks by place, and the text still to be joined."""

    message: dict[str, Json] = field(default_factory=dict)
    usage: dict[str, int] = field(default_factory=dict)
    blocks: dict[int, dict[str, Json]] = field(default_factory=dict)
    pieces: dict[tuple[int, str], list[str]] = field(default_factory=dict)
    error: str = ""

    def whole(self, body: dict[str, Json]) -> None:
        """A message as one object."""
        self.message, self.usage = body, _usage(body)
        self.blocks = dict(enumerate(tree.members(block) for block in tree.items(body.get("content"))))
        self.error = completions.complaint(body)

    def take(self, event: dict[str, Json]) -> None:
        """The data of one event of a stream."""
        place = tree.number(event.get("index"))
        match event.get("type"):
            case "message_start":
                self.whole(tree.members(event.get("message")))
            case "content_block_start":
                self.blocks[place] = tree.members(event.get("content_block"))
            case "content_block_delta":
                self._delta(place, tree.members(event.get("delta")))
            case "message_delta":
                self.message = self.message | tree.members(event.get("delta"))
                self.usage |= _usage(event)
            case "error":
                self.error = completions.complaint(event)

    def _delta(self, place: int, delta: dict[str, Json]) -> None:
        for name in ("text", "thinking", "partial_json"):
            if isinstance(piece := delta.get(name), str):
                self.pieces.setdefault((place, name), []).append(piece)

    def answer(self) -> Answer:
        """The finished answer."""
        blocks = [(place, block) for place, block in sorted(self.blocks.items())]
        return Answer(
            text="".join(self._joined(place, block, "text") for place, block in blocks),
            reasoning="".join(self._joined(place, block, "thinking") for place, block in blocks),
            calls=tuple(self._call(place, block) for place, block in blocks if block.get("type") in _TOOL_USES),
            model=tree.text(self.message.get("model")),
            usage=tuple(self.usage.items()),
            stop=tree.text(self.message.get("stop_reason")),
            id=tree.text(self.message.get("id")),
            error=self.error,
        )

    def _joined(self, place: int, block: dict[str, Json], name: str) -> str:
        return tree.text(block.get(name)) + "".join(self.pieces.get((place, name), ()))

    def _call(self, place: int, block: dict[str, Json]) -> Call:
        streamed = "".join(self.pieces.get((place, "partial_json"), ()))
        return Call(
            tree.text(block.get("name")), streamed or tree.spell(block.get("input")), tree.text(block.get("id"))
        )


def _usage(body: dict[str, Json]) -> dict[str, int]:
    """The counts of a message; an answer to count_tokens is a count itself."""
    return tree.counts(body.get("usage")) or tree.counts({"input_tokens": body.get("input_tokens")})

"""The Gemini dialect of Google AI and Vertex AI: generateContent, its stream, token counts and embeddings.

A stream is server-sent events (`alt=sse`) or one JSON array of the same objects.
"""

import re
from collections.abc import Callable
from urllib.parse import unquote

from store.labels import completions, tree
from store.labels.dialect import Answer, Call, RequestLabels
from store.labels.settings import chosen
from store.labels.tree import Json
from store.labels.wire import Request, Response

_PATH = re.compile(
    r"/models/([^/:]+)(?::|%3[aA])(generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents"
    r"|predict)$"
)
_GENERATE = ("generateContent", "streamGenerateContent")
_EMBED = ("embedContent", "batchEmbedContents")


def recognise(request: Request) -> RequestLabels | None:
    """The labels of a request to a model of Google; `predict` is one when the model embeds."""
    found = _PATH.search(request.route)
    if request.verb != "POST" or found is None:
        return None
    model, operation = unquote(found[1]), found[2]
    if operation in _GENERATE:
        config = request.sources.get("generationConfig", request.sources.get("generation_config"))
        settings = chosen(tree.sources(b"" if config is None else bytes(config)))
        return RequestLabels("llm", "decision", "read", operation, model=model, settings=settings)
    if operation == "countTokens":
        return RequestLabels("other", "input", "read", operation, model=model)
    embeds = operation in _EMBED or "embedding" in model
    return RequestLabels("embedding", "input", "read", operation, model=model) if embeds else None


def read(labels: RequestLabels, response: Response) -> Answer | None:
    """The answer of the methods above."""
    if labels.operation not in (*_GENERATE, *_EMBED, "countTokens", "predict"):
        return None
    if response.is_stream:
        bodies = list(response.messages)
    else:
        whole = response.json
        bodies = [tree.members(part) for part in (whole if isinstance(whole, list) else [whole])]
    parts = [part for body in bodies for part in _parts(body)]
    return Answer(
        text="".join(tree.text(part.get("text")) for part in parts if part.get("thought") is not True),
        reasoning="".join(tree.text(part.get("text")) for part in parts if part.get("thought") is True),
        calls=tuple(_call(tree.members(part["functionCall"])) for part in parts if "functionCall" in part),
        model=_last(bodies, lambda body: tree.text(body.get("modelVersion"))) or "",
        usage=tuple((_last(bodies, _usage) or {}).items()),
        stop=_last(bodies, _stop) or "",
        id=_last(bodies, lambda body: tree.text(body.get("responseId"))) or "",
        error=_last(bodies, completions.complaint) or "",
    )


def _last[T](bodies: list[dict[str, Json]], told: Callable[[dict[str, Json]], T]) -> T | None:
    """The newest word on something."""
    return next((word for body in reversed(bodies) if (word := told(body))), None)


def _candidate(body: dict[str, Json]) -> dict[str, Json]:
    return next((tree.members(candidate) for candidate in tree.items(body.get("candidates"))), {})


def _parts(body: dict[str, Json]) -> list[dict[str, Json]]:
    content = tree.members(_candidate(body).get("content"))
    return [tree.members(part) for part in tree.items(content.get("parts"))]


def _call(call: dict[str, Json]) -> Call:
    return Call(tree.text(call.get("name")), tree.spell(call.get("args")), tree.text(call.get("id")))


def _usage(body: dict[str, Json]) -> dict[str, int]:
    """The counts of an answer; an answer to countTokens is a count itself."""
    return tree.counts(body.get("usageMetadata")) or tree.counts({"totalTokens": body.get("totalTokens")})


def _stop(body: dict[str, Json]) -> str:
    blocked = tree.members(body.get("promptFeedback")).get("blockReason")
    return tree.text(_candidate(body).get("finishReason")) or tree.text(blocked)

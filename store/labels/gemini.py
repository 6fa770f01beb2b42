"""The Gemini dialect of Google AI and Vertex AI: generateContent, its stream, token counts, embeddings, the Live API.

A stream is server-sent events (`alt=sse`) or one JSON array of the same objects. The Live API speaks on a WebSocket
(https://ai.google.dev/api/live): its `setup` is read as a request, what its server says up to the end of a turn as the
stream that answers.
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
_LIVE_PATH = re.compile(r"(?:GenerativeService|LlmBidiService)[./]BidiGenerateContent(?:Constrained)?$")
LIVE = "BidiGenerateContent"
_GENERATE = ("generateContent", "streamGenerateContent")
_EMBED = ("embedContent", "batchEmbedContents")


def recognise(request: Request) -> RequestLabels | None:
    """The labels of a request to a model of Google; `predict` is one when the model embeds."""
    if request.verb != "POST":
        return None
    found = _PATH.search(request.route)
    if found is None:
        return _set_up(request)
    model, operation = unquote(found[1]), found[2]
    if operation in _GENERATE:
        settings = _settings(request.sources)
        return RequestLabels("llm", "decision", "read", operation, model=model, settings=settings)
    if operation == "countTokens":
        return RequestLabels("other", "input", "read", operation, model=model)
    embeds = operation in _EMBED or "embedding" in model
    return RequestLabels("embedding", "input", "read", operation, model=model) if embeds else None


def _set_up(request: Request) -> RequestLabels | None:
    """The first message of a Live session, which names its model; those that follow name none."""
    setup = request.sources.get("setup") if _LIVE_PATH.search(request.route) else None
    if setup is None:
        return None
    said = tree.sources(bytes(setup))
    model = tree.text(tree.parse(bytes(said["model"]))) if "model" in said else ""
    return RequestLabels("llm", "decision", "read", LIVE, model=model.rpartition("/")[2], settings=_settings(said))


def _settings(sources: tree.Sources) -> tuple[tuple[str, str], ...]:
    config = sources.get("generationConfig", sources.get("generation_config"))
    return chosen(tree.sources(b"" if config is None else bytes(config)))


def read(labels: RequestLabels, response: Response) -> Answer | None:
    """The answer of the methods above."""
    if labels.operation == LIVE:
        return _turn(list(response.messages))
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


def _turn(bodies: list[dict[str, Json]]) -> Answer:
    """What a Live model said in one turn; of what it said aloud the words are its transcription, where there is one."""
    contents = [tree.members(body.get("serverContent")) for body in bodies]
    calls = [each for body in bodies for each in tree.items(tree.members(body.get("toolCall")).get("functionCalls"))]
    return Answer(
        text="".join(
            _words(one, thought=False) + tree.text(tree.members(one.get("outputTranscription")).get("text"))
            for one in contents
        ),
        reasoning="".join(_words(one, thought=True) for one in contents),
        calls=tuple(_call(tree.members(call)) for call in calls),
        usage=tuple((_last(bodies, _usage) or {}).items()),
        stop="interrupted" if any(one.get("interrupted") is True for one in contents) else "",
        error=_last(bodies, completions.complaint) or "",
    )


def _words(content: dict[str, Json], *, thought: bool) -> str:
    parts = (tree.members(part) for part in tree.items(tree.members(content.get("modelTurn")).get("parts")))
    return "".join(tree.text(part.get("text")) for part in parts if (part.get("thought") is True) == thought)


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

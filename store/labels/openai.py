"""The OpenAI dialect, which half the world speaks: chat completions, responses, embeddings, and what lies beside them.

Recognised by path and shape on any host, so a llama.cpp or vLLM on localhost, Azure, Groq, Mistral, Ollama's /v1 and a
gateway under a prefix are understood alike.
"""

import re
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import parse_qs, unquote

from store.labels import completions, responses, tree
from store.labels.dialect import Answer, Boundary, Kind, RequestLabels
from store.labels.settings import settings
from store.labels.wire import Request, Response


class _Endpoint(NamedTuple):
    """`members`: a JSON body has one of them; without any listed the path alone is telling."""

    operation: str
    kind: Kind
    members: tuple[str, ...] = ()


_ENDPOINTS = {
    "/chat/completions": _Endpoint("chat.completions", "llm"),
    "/completions": _Endpoint("completions", "llm", ("prompt",)),
    "/responses": _Endpoint("responses", "llm", ("model", "input", "prompt", "previous_response_id")),
    "/responses/compact": _Endpoint("responses.compact", "llm", ("model", "input", "previous_response_id")),
    "/responses/input_tokens": _Endpoint("responses.input_tokens", "other", ("model", "input")),
    "/realtime": _Endpoint("realtime", "llm", ("type",)),  # a message of its WebSocket, read as a request
    "/embeddings": _Endpoint("embeddings", "embedding", ("input",)),
    "/embed": _Endpoint("embeddings", "embedding", ("input", "inputs", "texts", "images")),
    "/api/embed": _Endpoint("embeddings", "embedding", ("input",)),
    "/api/generate": _Endpoint("generate", "llm", ("prompt", "model")),
    "/images/generations": _Endpoint("images.generations", "llm", ("prompt",)),
    "/images/edits": _Endpoint("images.edits", "llm", ("prompt",)),
    "/audio/speech": _Endpoint("audio.speech", "llm", ("input",)),
    "/audio/transcriptions": _Endpoint("audio.transcriptions", "llm", ("model",)),
    "/audio/translations": _Endpoint("audio.translations", "llm", ("model",)),
    "/moderations": _Endpoint("moderations", "llm", ("input",)),
}
_PLAIN = {endpoint.operation for endpoint in _ENDPOINTS.values()}  # but for those that `read` knows better
_BOUNDARIES: dict[Kind, Boundary] = {"llm": "decision"}
_SUFFIX = re.compile(r"(/[a-z]+)?(/[a-z_]+)/?$")
_RETRIEVE = re.compile(r"/responses/resp_[^/]+/?$")
_DEPLOYMENT = re.compile(r"/deployments/([^/]+)/")
_REMOTE_TOOL = re.compile(rb'"type"\s*:\s*"mcp"')
_VERSION = re.compile(r"/v\d+/")
_HOSTS = (".openai.com", ".openai.azure.com")


def recognise(request: Request) -> RequestLabels | None:
    """The labels of a request to one of the endpoints above, or of one that asks for a stored response."""
    if request.verb == "GET" and _RETRIEVE.search(request.route):
        return RequestLabels("llm", "decision", "read", operation="responses.retrieve")
    if request.verb != "POST":
        return None
    endpoint = _endpoint(request) or _by_shape(request)
    if endpoint is None:
        return None
    remote = _REMOTE_TOOL.search(bytes(request.sources.get("tools", b"")))
    return RequestLabels(
        endpoint.kind,
        _BOUNDARIES.get(endpoint.kind, "input"),
        "unknown" if remote else "read",  # a remote tool acts from within the provider
        operation=endpoint.operation,
        model=_model(request),
        settings=settings(request),
    )


def read(labels: RequestLabels, response: Response) -> Answer | None:
    """The answer of the endpoints above."""
    match labels.operation:
        case "chat.completions" | "completions" | "chat":
            return completions.answer(response)
        case "responses" | "responses.retrieve" | "responses.compact" | "realtime":
            return responses.answer(response)
        case "generate":
            return _generated(response)
        case str() as operation if operation in _PLAIN:
            return _plain(response)
    return None


def _endpoint(request: Request) -> _Endpoint | None:
    found = _SUFFIX.search(request.route)
    if found is None:
        return None
    endpoint = _ENDPOINTS.get(found[0].rstrip("/")) or _ENDPOINTS.get(found[2])
    if endpoint is None or not endpoint.members:
        return endpoint
    if request.sources:
        fits = any(name in request.sources for name in endpoint.members)
    else:  # no JSON object to look at: a form, a streamed upload
        fits = bool(_VERSION.search(request.route)) or f".{request.site}".endswith(_HOSTS)
    return endpoint if fits else None


def _by_shape(request: Request) -> _Endpoint | None:
    """A gateway may serve any path: a model and a list of messages with roles is a chat."""
    if "model" not in request.sources or b'"role"' not in bytes(request.sources.get("messages", b"")):
        return None
    return _Endpoint("chat", "llm") if tree.text(request.member("model")) else None


def _model(request: Request) -> str | None:
    deployment = _DEPLOYMENT.search(request.route)
    named = tree.text(request.member("model"))
    if not named and request.route.endswith("/realtime"):
        return next(iter(parse_qs(request.query).get("model", ())), None)
    return named or (unquote(deployment[1]) if deployment else None)


def _generated(response: Response) -> Answer:
    """The answer to Ollama's /api/generate: whole, or a piece a line."""
    parts = response.messages if response.is_stream else (tree.members(response.json),)
    last = parts[-1] if parts else {}
    return Answer(
        text="".join(tree.text(part.get("response")) for part in parts),
        reasoning="".join(tree.text(part.get("thinking")) for part in parts),
        model=tree.text(last.get("model")),
        usage=tuple(tree.counts({name: last.get(name) for name in ("prompt_eval_count", "eval_count")}).items()),
        stop=tree.text(last.get("done_reason")),
        error=tree.text(last.get("error")),
    )


def _plain(response: Response) -> Answer:
    """What every JSON answer may tell: model, usage, id, error."""
    messages = response.messages if response.is_stream else ()
    body = messages[-1] if messages else tree.members(response.json)
    told = completions.facts(body)
    counted = tree.counts({"input_tokens": body.get("input_tokens")})  # the answer of input_tokens is a count itself
    return replace(told, usage=told.usage or tuple(counted.items()), error=completions.complaint(body))

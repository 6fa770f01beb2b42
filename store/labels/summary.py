"""One line in plain words for each exchange: what was asked, and what came back."""

from store.labels import classify, other, tree
from store.labels.describe import line, plural, quoted, shape, size
from store.labels.dialect import Answer, Call, RequestLabels
from store.labels.tree import Json
from store.labels.wire import Request, Response

_OUTPUT_TOKENS = ("completion_tokens", "output_tokens", "candidatesTokenCount", "responseTokenCount")
_CONVERSATIONS = (
    "chat.completions",
    "chat",
    "messages",
    "responses",
    "generateContent",
    "streamGenerateContent",
)
_CUT = ("length", "max_tokens", "max_output_tokens", "model_length", "MAX_TOKENS")
_REFUSED = ("content_filter", "refusal", "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "RECITATION")
_REASONS = {
    400: "bad request",
    401: "not authenticated",
    403: "forbidden",
    404: "not found",
    408: "timed out",
    409: "conflict",
    413: "too large",
    422: "not valid",
    429: "too many requests",
    502: "bad gateway",
    503: "unavailable",
    504: "gateway timed out",
    529: "overloaded",
}
_TARGET_CHARACTERS_MAX = 72
_CALLS_SHOWN = 2


def summary(request: Request, response: Response | None) -> str:
    """The exchange in one printable line; `response` is None when no status line came.

    `asked gpt-4o (12 messages) -> "The contract …" 34 tokens`,
    `GET compliance.json?code=GB-SCT -> 200, empty list`.
    """
    labels = classify.label(request)
    return f"{_asked(labels, request)} -> {_told(labels, response) if response else 'no answer'}"


def _asked(labels: RequestLabels, request: Request) -> str:
    model = line(labels.model or "a model", 60)
    match labels.kind:
        case "llm":
            return f"asked {model}{_size_of_question(labels, request)}"
        case "embedding":
            return f"embedded {plural(_count(request, 'input', 'requests', 'instances') or 1, 'text')} with {model}"
        case "mcp" if labels.tool:
            return f"called {line(labels.tool, 60)} over MCP"
        case "mcp":
            return f"{line(labels.operation or 'a message', 60)} over MCP"
        case "auth":
            return f"fetched a token from {line(request.site, 60)}"
        case "telemetry":
            return f"sent telemetry to {line(request.site, 60)}"
        case "tool" if labels.operation != request.verb:
            return f"called {line(labels.operation or '', 60)} at {line(request.site, 60)}"
    return f"{line(request.verb, 20)} {_target(request)}"


def _size_of_question(labels: RequestLabels, request: Request) -> str:
    if labels.operation == "responses.retrieve":
        return " for a stored response"
    count = _count(request, "messages", "input", "contents")
    if labels.operation in _CONVERSATIONS:
        return f" ({plural(count, 'message')})" if count else ""
    return f" ({labels.operation})"


def _count(request: Request, *names: str) -> int:
    """How many items the first of these members has; a text or an object alone is one."""
    source = next((request.sources[name] for name in names if name in request.sources), None)
    return 0 if source is None else tree.length(source) or int(bytes(source)[:1] in (b'"', b"{"))


def _target(request: Request) -> str:
    """The end of the path, with its query: enough to know it again in a list."""
    name = request.route.rstrip("/").rpartition("/")[2] or request.site
    return line(f"{name}?{request.query}" if request.query else name, _TARGET_CHARACTERS_MAX)


def _told(labels: RequestLabels, response: Response) -> str:
    answer = classify.read(labels, response)
    if response.status >= 400 or answer.error:
        reason = quoted(answer.error) if answer.error else _reason(response.status)
        return f"{response.status}, {reason}" if response.status >= 400 else f"error: {reason}"
    if labels.kind == "llm":
        return _model_said(answer) or f"{response.status}, {_body(response)}"
    if labels.kind == "mcp" and answer.text:
        return shape(told) if (told := tree.parse(answer.text)) is not None else quoted(answer.text)
    if labels.kind == "embedding":
        return plural(_vectors(tree.members(response.json)), "vector")
    if labels.kind in ("auth", "telemetry"):
        return str(response.status)
    return f"{response.status}, {_body(response)}"


def _vectors(body: dict[str, Json]) -> int:
    lists = (tree.items(body.get(name)) for name in ("data", "embeddings", "predictions"))
    return next((len(found) for found in lists if found), int("embedding" in body))


def _model_said(answer: Answer) -> str:
    parts = [quoted(answer.text)] if answer.text.strip() else []
    if answer.calls:
        shown = ", ".join(_call(call) for call in answer.calls[:_CALLS_SHOWN])
        rest = len(answer.calls) - _CALLS_SHOWN
        parts.append(f"calls {shown}" + (f" and {rest} more" if rest > 0 else ""))
    if answer.stop in _REFUSED:
        parts.append("refused")
    tokens = next((count for name, count in answer.usage if name in _OUTPUT_TOKENS), None)
    if tokens is not None:
        parts.append(plural(tokens, "token"))
    if not parts and answer.stop:
        parts.append(f"nothing ({line(answer.stop, 40)})")
    said = " ".join(parts)
    return f"{said}, cut at its limit" if answer.stop in _CUT else said


def _call(call: Call) -> str:
    arguments = ", ".join(
        f"{name}={tree.spell(value)}" for name, value in tree.members(tree.parse(call.arguments)).items()
    )
    return f"{line(call.name, 40)}({line(arguments, 32)})"


def _body(response: Response) -> str:
    if not response.content:
        return "no body" if not response.body else f"{size(len(response.body))} that cannot be read"
    if response.json is not None:
        return shape(response.json)
    if response.is_stream:
        return plural(len(response.events), "event")
    if other.is_text(response):
        return quoted(response.content[:400].decode("utf-8", "replace"))
    return f"{size(len(response.content))} of {line(response.media_type or 'unknown type', 40)}"


def _reason(status: int) -> str:
    return _REASONS.get(status, "server error" if status >= 500 else "refused")

"""What is left: tools behind plain HTTP, tokens being fetched, and traffic that says nothing about the agent's task.

Effects follow the method (RFC 9110, section 9.2): safe methods read, PUT and DELETE can be repeated, POST and PATCH
write unless an idempotency key says otherwise, and a POST whose path or body is a question may do either.
"""

import re
from urllib.parse import unquote

from store.labels import completions, tree
from store.labels.dialect import Answer, Boundary, Effect, RequestLabels
from store.labels.tree import Json
from store.labels.wire import Request, Response

TEXT_TYPES = re.compile(r"text/|application/(json|xml|x-www-form-urlencoded|graphql|yaml|x-ndjson)$|.+\+(json|xml)$")

_EFFECTS: dict[str, Effect] = {
    "GET": "read",
    "HEAD": "read",
    "OPTIONS": "read",
    "TRACE": "read",
    "QUERY": "read",
    "PUT": "idempotent",
    "DELETE": "idempotent",
    "POST": "write",
    "PATCH": "write",
}
_QUESTION = re.compile(r"[/:_.-](search|query|lookup|find|list|retrieve|rerank|tokenize|count_?tokens)$", re.IGNORECASE)
_MUTATION = re.compile(r"\s*mutation\b")
_TOKEN = re.compile(
    r"/(oauth2?|connect|auth)(/v\d(\.\d)?)?/token$|/o/oauth2/|/oauth/device/code$|/computeMetadata/.*/token$"
)
_TOKEN_HOSTS = re.compile(
    r"(oauth2\.googleapis\.com|(^|\.)sts(\.[a-z0-9-]+)?\.amazonaws\.com|login\.microsoftonline\.com)$"
)
_GRANT = re.compile(rb"(^|&)grant_type=")
_INSTALLER = re.compile(r"(pip|uv|poetry|npm|yarn|pnpm|cargo|debian apt-http)[/ ]", re.IGNORECASE)
_PROVIDER = re.compile(
    r"(^|\.)(openai\.com|openai\.azure\.com|anthropic\.com|mistral\.ai|groq\.com|x\.ai|deepseek\.com|openrouter\.ai"
    r"|generativelanguage\.googleapis\.com)$"
)
_NAME = re.compile(r"[A-Za-z][A-Za-z_.-]*[A-Za-z0-9]?")
_RECEIPTS = ("receipt", "receipt_id", "confirmation_id", "transaction_id", "id")


def recognise(request: Request) -> RequestLabels:
    """The labels of any request."""
    effect = _effect(request)
    boundary: Boundary = "input" if effect == "read" else "effect"
    if _is_token_request(request):
        return RequestLabels("auth", "input", "idempotent", operation="token")
    if request.verb in ("OPTIONS", "TRACE", "CONNECT") or _is_housekeeping(request):
        return RequestLabels("other", boundary, effect)
    return RequestLabels("tool", boundary, effect, operation=request.verb, tool=_name(request.route))


def read(labels: RequestLabels, response: Response) -> Answer:
    """The answer as text, where it is text; of what fetches tokens, nothing."""
    if labels.kind == "auth" or not is_text(response):
        return Answer()
    body = tree.members(response.json) if response.content[:1] == b"{" else {}
    text = response.content.decode("utf-8", "replace")
    return Answer(text, error=completions.complaint(body) if response.status >= 400 else "")


def receipt(response: Response) -> str | None:
    """What proves that a write was done: where the new thing lies, or the id it was given."""
    if not 200 <= response.status < 300:
        return None
    if location := response.header("location"):
        return location
    body = tree.members(response.json)
    return next((spelled for name in _RECEIPTS if (spelled := _short(body.get(name)))), None)


def is_text(response: Response) -> bool:
    """Whether a body is meant for reading."""
    return bool(TEXT_TYPES.match(response.media_type)) or response.content[:1] in (b"{", b"[")


def _effect(request: Request) -> Effect:
    effect = _EFFECTS.get(request.verb, "unknown")
    if effect != "write":
        return effect
    if request.header("idempotency-key") or request.header("x-idempotency-key"):
        return "idempotent"
    if request.verb == "POST" and request.route.rstrip("/").endswith("/graphql"):
        return "write" if _MUTATION.match(tree.text(request.member("query"))) else "unknown"
    asks = request.verb == "POST" and _QUESTION.search(request.route.rstrip("/"))
    return "unknown" if asks else effect


def _is_token_request(request: Request) -> bool:
    form = request.verb == "POST" and _GRANT.search(request.content[:4096])
    return bool(form or _TOKEN.search(request.route) or _TOKEN_HOSTS.search(request.site))


def _is_housekeeping(request: Request) -> bool:
    """Packages being installed, and what a model provider serves besides models: files, batches, settings."""
    return bool(_INSTALLER.match(request.header("user-agent")) or _PROVIDER.search(request.site))


def _name(route: str) -> str | None:
    """The last part of a path that is a name: no number, no identifier."""
    parts = (unquote(part) for part in reversed(route.split("/")))
    return next((part for part in parts if _NAME.fullmatch(part) and len(part) <= 64), None)


def _short(value: Json) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and len(value) <= 200 else ""

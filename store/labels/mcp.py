"""JSON-RPC 2.0 over HTTP: MCP (streamable HTTP) by its methods and headers, any other as a tool.

An MCP request may be one message or a list of them; a list is labelled by its first request. What a tool does cannot
be seen in the call, so its effect is unknown.
"""

import re

from store.labels import completions, tree
from store.labels.dialect import Answer, Effect, RequestLabels
from store.labels.tree import Json
from store.labels.wire import Request, Response

_METHOD = re.compile(
    r"initialize|ping|(tools|resources|prompts|completion|logging|notifications|roots|sampling|elicitation)/.+"
)
_ACTS = ("tools/call", "tasks/cancel", "sampling/createMessage", "elicitation/create")
_SESSION = ("mcp-session-id", "mcp-protocol-version")
_LISTEN = RequestLabels("mcp", "input", "read", operation="listen")
_END = RequestLabels("mcp", "input", "idempotent", operation="end")


def recognise(request: Request) -> RequestLabels | None:
    """The labels of a JSON-RPC message, and of what opens and ends an MCP session."""
    in_session = any(request.header(name) for name in _SESSION)
    if request.verb in ("GET", "DELETE") and in_session:
        return _LISTEN if request.verb == "GET" else _END
    if request.verb != "POST":
        return None
    message = _message(request)
    if message.get("jsonrpc") != "2.0":
        return None
    method = tree.text(message.get("method"))
    if in_session or _METHOD.fullmatch(method):
        return _mcp(method, tree.members(message.get("params")))
    return RequestLabels("tool", "effect", "unknown", operation=method or "answer") if method else None


def read(labels: RequestLabels, response: Response) -> Answer | None:
    """What the newest result or error says."""
    if labels.kind != "mcp":
        return None
    bodies = response.messages if response.is_stream else (tree.members(response.json),)
    told = [body for body in bodies if "result" in body or "error" in body]
    if not told:
        return Answer()
    result = tree.members(told[-1].get("result"))
    text = completions.content(result.get("content")) or (tree.spell(result) if result else "")
    error = completions.complaint(told[-1]) or (text if result.get("isError") is True else "")
    return Answer(text, stop="error" if error else "", error=error)


def _mcp(method: str, params: dict[str, Json]) -> RequestLabels:
    effect: Effect = "unknown" if method in _ACTS else "read"
    name = tree.text(params.get("name")) if method in ("tools/call", "prompts/get") else ""
    return RequestLabels(
        "mcp",
        "effect" if effect == "unknown" else "input",
        effect,
        operation=method or "answer",  # a client answers what the server asked
        tool=name or None,
    )


def _message(request: Request) -> dict[str, Json]:
    """The members that matter of the first message with a method."""
    if request.content.lstrip()[:1] == b"[":
        batch = [tree.members(item) for item in tree.items(tree.parse(request.content))]
        return next((message for message in batch if "method" in message), batch[0] if batch else {})
    if "jsonrpc" not in request.sources:
        return {}
    return {name: request.member(name) for name in ("jsonrpc", "method", "params")}

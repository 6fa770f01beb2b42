"""What a note says in one line. What the agent claims is shown as its claim, and nothing is made of it."""

from store.core.errors import Malformed
from store.core.jsontext import Node, parse, shown

# The members that make the line, in the order in which they are told; the first that is there leads.
_TOLD = {
    "decision": ("summary",),
    "state": ("name", "hash"),
    "policy": ("verdict", "version"),
    "approval": ("verdict", "subject", "who"),
    "retrieval": ("document_ids", "corpus_version"),
    "effect": ("effect", "committed", "receipt"),
}


def line(kind: str, content: bytes) -> str:
    """`policy: verdict approved, version 7`; the kind alone where nothing more can be read."""
    try:
        said = parse(content)
    except Malformed:
        return kind
    told = [(name, said[name]) for name in _TOLD.get(kind, ()) if name in said] if isinstance(said, dict) else []
    return f"{kind}: {', '.join(_member(kind, name, value) for name, value in told)}" if told else kind


def _member(kind: str, name: str, value: Node) -> str:
    text = value if isinstance(value, str) else shown(value)
    if name in ("summary", kind):
        return text
    if name == "committed":
        return "committed" if value is True else "not committed"
    return f"{name.replace('_', ' ')} {text}"

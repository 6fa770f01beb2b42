"""What an LLM request repeats: its messages, and beside them its frame (model, settings, tools, system prompt).

A marker that moves along (Anthropic's cache_control) and the two spellings of a plain text are no difference.
"""

from collections.abc import Iterator

import msgspec

from store.core.form import Form
from store.core.jsontext import Node, digest

MESSAGES = ("messages", "contents", "input", "prompt")
SYSTEM = ("system", "systemInstruction", "system_instruction", "instructions")
TOOLS = (
    "tools", "tool_choice", "functions", "function_call", "toolConfig", "tool_config", "parallel_tool_calls",
)  # fmt: skip
SYSTEM_ROLES = ("system", "developer")
_DIGEST_BYTES = 8
_MOVING = "cache_control"


class Conversation(msgspec.Struct, frozen=True):
    """An LLM request in short: digests of its frame's parts by name, and one of 8 bytes for each message."""

    frame: dict[str, bytes]
    messages: tuple[bytes, ...]

    def common_prefix(self, other: "Conversation") -> int:
        """How many messages both begin with."""
        pairs = zip(self.messages, other.messages, strict=False)
        return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(self.messages), len(other.messages)))


def conversation(form: Form) -> Conversation | None:
    """The conversation that a request carries, if it is one of the shapes that LLM providers take."""
    body = form.body
    if not isinstance(body, dict):
        return None
    name = history(body)
    if name is None:
        return None
    said = body[name]
    items: list[Node] = said if isinstance(said, list) else [said]
    spoken = len(items) - sum(1 for _ in leading_system(items))
    frame: dict[str, Node] = {}
    for member, value in body.items():
        if member == name:
            continue
        group = (
            "model"
            if member == "model"
            else "tools"
            if member in TOOLS
            else "system"
            if member in SYSTEM
            else "settings"
        )
        frame.setdefault(group, [])
        part = frame[group]
        assert isinstance(part, list)
        part.append([member, value])
    if spoken < len(items):
        frame["system"] = [frame.get("system"), list(items[: len(items) - spoken])]
    return Conversation(
        {group: digest(_sorted(value)) for group, value in frame.items()},
        tuple(digest(_plain(item))[:_DIGEST_BYTES] for item in items[len(items) - spoken :]),
    )


def history(body: dict[str, Node]) -> str | None:
    """The name of the member that holds the messages, None where the body is no LLM request."""
    for name in MESSAGES:
        value = body.get(name)
        if isinstance(value, list) and (value or "model" in body):
            return name
        if isinstance(value, str) and "model" in body:
            return name
    return None


def leading_system(items: list[Node]) -> Iterator[Node]:
    """The messages at the beginning that are the system prompt."""
    for item in items:
        if not (isinstance(item, dict) and item.get("role") in SYSTEM_ROLES):
            return
        yield item


def messages(body: Node) -> list[Node]:
    """The messages of an LLM request, the leading system prompt among them; none of any other."""
    name = history(body) if isinstance(body, dict) else None
    said = body[name] if isinstance(body, dict) and name is not None else []
    return said if isinstance(said, list) else [said]


def _plain(item: Node) -> Node:
    """A message as it is compared with itself in a later request."""
    if not isinstance(item, dict):
        return item
    kept = {name: member for name, member in item.items() if name != _MOVING}
    content = kept.get("content")
    if isinstance(content, list):
        blocks: list[Node] = [_plain(block) for block in content]
        only = blocks[0] if len(blocks) == 1 else None
        alone = isinstance(only, dict) and only.get("type") == "text" and only.keys() == {"type", "text"}
        kept["content"] = only["text"] if isinstance(only, dict) and alone else blocks
    return kept


def _sorted(value: Node) -> Node:
    """The members of a frame's part in one order, which is that of their names: what they hold may be long."""
    if isinstance(value, list) and all(isinstance(item, list) and item and isinstance(item[0], str) for item in value):
        return sorted(value, key=_name)
    return value


def _name(member: Node) -> str:
    assert isinstance(member, list)
    assert isinstance(member[0], str)
    return member[0]

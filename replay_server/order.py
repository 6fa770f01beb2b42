"""What of the recorded order has to be kept: conversations and their lanes (lane rules, version 1).

- A conversation is what an LLM request repeats: its messages, and beside them its frame (model, settings, tools,
  system prompt).
- A request belongs to the lane of the newest earlier one that it extends: same system prompt, and all messages of
  that one first.
- Only a dependency is order: a request is reordered when the one that it extends has not been asked for yet.
"""

import hashlib
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Literal

from store.core.form import Endpoint, Form
from store.core.jsontext import Node, digest

LANE_RULES = "edgetape/lanes/1"
MESSAGES = ("messages", "contents", "input", "prompt")
SYSTEM = ("system", "systemInstruction", "system_instruction", "instructions")
TOOLS = (
    "tools", "tool_choice", "functions", "function_call", "toolConfig", "tool_config", "parallel_tool_calls",
)  # fmt: skip
SYSTEM_ROLES = ("system", "developer")
_DIGEST_BYTES = 8

type Order = Literal["causal", "strict", "any"]


@dataclass(frozen=True, slots=True)
class Conversation:
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
        tuple(digest(item)[:_DIGEST_BYTES] for item in items[len(items) - spoken :]),
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


class Lanes:
    """Which recorded request extends which, learned one request after another in recorded order."""

    def __init__(self) -> None:
        self._newest: dict[bytes, int] = {}
        self._parents: dict[int, int] = {}

    def place(self, index: int, endpoint: Endpoint, said: Conversation) -> None:
        """Finds the lane of the request `index`."""
        prefixes = list(_prefixes(endpoint, said))
        for prefix in reversed(prefixes[:-1]):
            if prefix in self._newest:
                self._parents[index] = self._newest[prefix]
                break
        if prefixes:
            self._newest[prefixes[-1]] = index

    def parent(self, index: int) -> int | None:
        """The request that `index` extends, None where it begins a lane."""
        return self._parents.get(index)


def missing(index: int, order: Order, lanes: Lanes, asked: Container[int], first_waiting: int | None) -> int | None:
    """The recorded request that should have been asked for before `index`, None where the order is kept.

    `first_waiting` is the earliest one that has not been asked for, `index` itself counted.
    """
    match order:
        case "any":
            return None
        case "strict":
            return first_waiting if first_waiting is not None and first_waiting < index else None
        case "causal":
            parent = lanes.parent(index)
            return parent if parent is not None and parent not in asked else None


def _prefixes(endpoint: Endpoint, said: Conversation) -> Iterator[bytes]:
    running = hashlib.sha256(repr(endpoint).encode() + said.frame.get("system", b"")).digest()
    for message in said.messages:
        running = hashlib.sha256(running + message).digest()
        yield running


def _sorted(value: Node) -> Node:
    """The members of a frame's part in one order."""
    return sorted(value, key=repr) if isinstance(value, list) else value

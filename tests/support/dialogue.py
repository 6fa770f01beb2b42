"""What the scripted provider says, before it takes the shape of one provider or another.

- Pure: the same request, number and script give the same answer; ids and dates come from the answer's number.
- A script is `{"tools": [{"name": ..., "args": {...}}, ...], "final": "..."}`: with i tool results in the
  conversation the answer is tool call i, and after the last one the final text. A `careful` one asks for tools only
  where the request offers some (agents ask for a title beside the first turn, without any).
- Without a script the text is chosen by the conversation's digest, so it differs between conversations.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

type Json = bool | int | float | str | list[Json] | dict[str, Json] | None

EPOCH_S = 1_767_225_600  # 2026-01-01T00:00:00Z
CONVERSATION = ("messages", "input", "contents")
SENTENCES = (
    "The clause is ordinary and needs no change.",
    "The clause limits liability to the fees paid in the last year.",
    "The clause lets either side end the contract with thirty days notice.",
    "The clause moves the duty to insure to the supplier.",
    "The clause asks for written consent before any assignment.",
    "The clause keeps both sides' information secret for five years.",
    "The clause is broad; a lawyer should read it once more.",
    "The clause sets the price and the day of payment.",
)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the scripted model asks for."""

    name: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Script:
    """What to answer: tool calls in turn, then the final text (None: a sentence by digest)."""

    tools: Sequence[ToolCall] = ()
    final: str | None = None
    salt: str = ""
    careful: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer before it takes a provider's shape."""

    number: int
    model: str
    words: tuple[str, ...]
    tool: ToolCall | None
    stop: str
    tokens_in: int

    @property
    def text(self) -> str:
        return "".join(self.words)

    @property
    def tokens_out(self) -> int:
        return max(1, len(self.words))


def parse_script(text: str, salt: str = "") -> Script:
    """Read a script from JSON; raises ValueError when it is none."""
    spec = json.loads(text)
    tools = tuple(ToolCall(str(tool["name"]), dict(tool.get("args", {}))) for tool in spec.get("tools", ()))
    return Script(tools, spec.get("final"), salt)


def plan(body: Mapping[str, Json], number: int, script: Script) -> Turn:
    """Decide the answer to a chat, messages or responses request."""
    messages = next((body[name] for name in CONVERSATION if name in body), [])
    conversation = json.dumps([body.get("system"), messages], sort_keys=True)
    done = _tool_results(messages if isinstance(messages, list) else [])
    model = str(body.get("model", "scripted-1"))
    tokens_in = max(1, len(conversation) // 4)
    if done < len(script.tools) and (body.get("tools") or not script.careful):
        return Turn(number, model, (), script.tools[done], "tool", tokens_in)
    digest = hashlib.sha256((script.salt + conversation).encode()).digest()
    text = script.final if script.final is not None else SENTENCES[digest[0] % len(SENTENCES)]
    words = _words(text)
    limit = body.get("max_tokens") or body.get("max_completion_tokens")
    if isinstance(limit, int) and len(words) > limit:
        return Turn(number, model, words[:limit], None, "length", tokens_in)
    return Turn(number, model, words, None, "stop", tokens_in)


def _words(text: str) -> tuple[str, ...]:
    parts = text.split(" ")
    return (parts[0], *(" " + part for part in parts[1:]))


def _tool_results(messages: Sequence[Json]) -> int:
    count = 0
    for message in messages:
        if not isinstance(message, dict):
            continue
        content = message.get("content", message.get("parts"))
        blocks = content if isinstance(content, list) else []
        count += message.get("role") == "tool" or message.get("type") == "function_call_output"
        count += sum(isinstance(block, dict) and _is_result(block) for block in blocks)
    return count


def _is_result(block: Mapping[str, Json]) -> bool:
    return block.get("type") == "tool_result" or "functionResponse" in block


def encode(value: Json) -> bytes:
    """JSON as a provider sends it: compact, in the order given."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()

"""What a drift says: where and how a live request left the recording, what changed first, and what follows from it.

An LLM request repeats its conversation, so one early change stands in every later request. A change that was reported
before (same place, same values on both sides) is a consequence; only a request with a change of its own is a cause.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice

from replay_server.conversation import SYSTEM, TOOLS, history, leading_system
from replay_server.rules import Ignore
from store.core.compare import ABSENT, Absent, Difference, Side, differences, folded
from store.core.form import Form
from store.core.jsontext import Node, shown
from store.labels.describe import plural

CHANGES_MAX = 1000
SETTINGS = frozenset(
    (
        "frequency_penalty", "generationConfig", "generation_config", "inferenceConfig", "logit_bias", "logprobs",
        "max_completion_tokens", "max_output_tokens", "max_tokens", "n", "options", "presence_penalty", "reasoning",
        "reasoning_effort", "response_format", "seed", "stop", "stop_sequences", "stream", "stream_options",
        "temperature", "text", "thinking", "top_k", "top_logprobs", "top_p", "verbosity",
    )
)  # fmt: skip


class Kind(StrEnum):
    """What changed, in the order in which changes of one request are told."""

    MODEL = "model"
    SETTING = "decoding setting"
    TOOLS = "tool schema"
    SYSTEM = "system prompt"
    HISTORY = "history"
    ARGUMENTS = "tool arguments"
    OTHER = "other"


_RANKS = {kind: rank for rank, kind in enumerate(Kind)}


@dataclass(frozen=True, slots=True)
class Change:
    """One place that differs; `place` is body, query or header, `pointer` a JSON Pointer (RFC 6901) in it."""

    kind: Kind
    place: str
    pointer: str
    recorded: Side
    live: Side
    inside: str = ""
    detail: str = ""
    rule: str = ""

    @property
    def where(self) -> str:
        """The place as a person reads it."""
        inside = f" inside {self.inside}" if self.inside else ""
        return f"{self.place} {self.pointer}{inside}".rstrip()

    @property
    def values(self) -> tuple[str, str]:
        """What was recorded and what is live, folded where long."""
        return folded(self.recorded, self.live)

    @property
    def identity(self) -> tuple[str, ...]:
        """Equal for the same change in a later request; a shortened history stays the same while it slides along."""
        if self.detail.startswith("history truncated"):
            return (self.place, self.pointer.rpartition("/")[0], "truncated")
        sides = ("" if isinstance(side, Absent) else f"={shown(side)}" for side in (self.recorded, self.live))
        return (self.place, self.pointer, self.inside, *sides)


def changes(recorded: Form, live: Form) -> list[Change]:
    """Every place where `live` differs from `recorded`, causes of the greatest reach first."""
    found = islice(differences(recorded.document, live.document), CHANGES_MAX)
    listed = sorted(
        (_change(recorded, live, difference) for difference in found), key=lambda change: _RANKS[change.kind]
    )
    if not listed:
        detail = "a secret stands where another one was recorded"
        return [Change(Kind.OTHER, "secret", "", ABSENT, ABSENT, detail=detail)]
    return listed


@dataclass(slots=True)
class Causes:
    """The changes that were reported, and the step that each was first seen at."""

    _steps: dict[tuple[str, ...], int] = field(default_factory=dict)

    def sort(self, step: int, found: list[Change]) -> tuple[list[Change], int | None]:
        """The changes that are new at `step`; where none is, the step that this one follows from."""
        new = [change for change in found if change.identity not in self._steps]
        follows = None if new else self._steps[found[0].identity]
        for change in new:
            self._steps[change.identity] = step
        return new, follows


def ranges(steps: list[int]) -> str:
    """`9-12 and 14` for [9, 10, 11, 12, 14]."""
    spans: list[tuple[int, int]] = []
    for step in sorted(set(steps)):
        if spans and spans[-1][1] == step - 1:
            spans[-1] = spans[-1][0], step
        else:
            spans.append((step, step))
    words = [str(first) if first == last else f"{first}-{last}" for first, last in spans]
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def _change(recorded: Form, live: Form, found: Difference) -> Change:
    _, part, *tokens = found.pointer.split("/")
    place = "header" if part == "headers" else part
    pointer = "".join(f"/{token}" for token in tokens)
    kind, detail = _kind(recorded, live, place, tokens)
    rule = _rule(recorded, live, place, tokens, found)
    return Change(kind, place, pointer, found.recorded, found.live, found.inside, detail, rule)


def _kind(recorded: Form, live: Form, place: str, tokens: list[str]) -> tuple[Kind, str]:
    if place in ("header", "path", "opcode"):
        return (Kind.MODEL if place == "path" else Kind.OTHER), ""
    was, became = recorded.body, live.body
    said = history(was) if isinstance(was, dict) else None
    if place == "query" or not isinstance(was, dict) or not isinstance(became, dict) or said is None or not tokens:
        return Kind.ARGUMENTS, ""
    member = tokens[0]
    if member == said:
        return _history_kind(_items(was.get(said)), _items(became.get(said)), tokens[1:])
    if member == "model":
        return Kind.MODEL, ""
    for kind, names in ((Kind.TOOLS, TOOLS), (Kind.SYSTEM, SYSTEM), (Kind.SETTING, SETTINGS)):
        if member in names:
            return kind, ""
    return Kind.OTHER, ""


def _history_kind(was: list[Node], became: list[Node], tokens: list[str]) -> tuple[Kind, str]:
    at = int(tokens[0]) if tokens and tokens[0].isdecimal() else 0
    if at < max(_system_count(was), _system_count(became)):
        return Kind.SYSTEM, ""
    fewer = len(was) - len(became)
    if fewer > 0 and _is_subsequence(became, was):
        missing = "is missing" if fewer == 1 else "are missing"
        return Kind.HISTORY, f"history truncated: {fewer} of {plural(len(was), 'message')} {missing}"
    if fewer < 0 and _is_subsequence(was, became):
        return Kind.HISTORY, f"history extended: {plural(-fewer, 'more message')} than recorded"
    if at + 1 + _system_count(became[at + 1 :]) == len(became):  # what agents put in after it is no message of anyone's
        return Kind.HISTORY, "the newest message differs"
    return Kind.HISTORY, "history rewritten"


def _rule(recorded: Form, live: Form, place: str, tokens: list[str], found: Difference) -> str:
    if place != "body":
        return str(Ignore(place, f"/{tokens[0]}")) if tokens else ""
    inside = found.inside
    if found.recorded is ABSENT or found.live is ABSENT:
        if inside:
            inside = ""  # a list inside the string may have changed its length: only the whole string is sure to do
        elif any(isinstance(_at(form.body, tokens[:-1]), list) for form in (recorded, live)):
            tokens = tokens[:-1]  # one item more or less moves all others: only the whole list is sure to do
    if not tokens:
        return ""
    return str(Ignore("body", "".join(f"/{token}" for token in tokens) + (f"#{inside}" if inside else "")))


def _at(node: Node, tokens: list[str]) -> Node:
    for token in tokens:
        match node:
            case dict():
                node = node.get(token.replace("~1", "/").replace("~0", "~"))
            case list() if token.isdecimal() and int(token) < len(node):
                node = node[int(token)]
            case _:
                return None
    return node


def _items(node: Node) -> list[Node]:
    return node if isinstance(node, list) else [node]


def _system_count(items: list[Node]) -> int:
    return sum(1 for _ in leading_system(items))


def _is_subsequence(few: list[Node], many: list[Node]) -> bool:
    rest: Iterator[Node] = iter(many)
    return all(any(item == other for other in rest) for item in few)

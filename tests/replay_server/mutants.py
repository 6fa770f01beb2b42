"""Changes of an agent, each as what its run would look like, and what a replay has to say of it."""

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from tests.replay_server.taped import Taped

_DATE = re.compile(r"20\d\d-\d\d-\d\d")
_IDS = re.compile(r'"(reservation_id|user_id|payment_id|flight_number|file_name|path)": ?"([^"]+)"')


@dataclass(frozen=True)
class Mutant:
    """`found` is (what: drifted, reordered, ..., kind of the drift, step)."""

    steps: list[Taped]
    found: tuple[str, str, int]


type Make = Callable[[list[Taped], random.Random], Mutant]


def _llm(steps: list[Taped], conversation: str = "agent") -> list[int]:
    return [at for at, step in enumerate(steps) if step.kind == "llm" and step.conversation == conversation]


def _tools(steps: list[Taped]) -> list[int]:
    return [at for at, step in enumerate(steps) if step.kind == "tool"]


def _from(steps: list[Taped], first: int, change: Callable[[Any], None], kind: str) -> Mutant:
    """Every request of the agent from one on has this change of its body."""
    changed = list(steps)
    for at in _llm(steps):
        if at >= first:
            value = steps[at].value
            change(value)
            changed[at] = steps[at].saying(value)
    return Mutant(changed, ("drifted", kind, first + 1))


def _member(name: str, value: object, kind: str) -> Make:
    def make(steps: list[Taped], rng: random.Random) -> Mutant:
        return _from(steps, rng.choice(_llm(steps)), lambda body: body.update({name: value}), kind)

    return make


def system_prompt(steps: list[Taped], rng: random.Random) -> Mutant:
    """One word of the system prompt."""

    def change(body: Any) -> None:  # noqa: ANN401
        holder, name = (body, "system") if "system" in body else (body["messages"][0], "content")
        if isinstance(holder[name], list):
            holder, name = holder[name][0], "text"
        words = holder[name].split(" ")
        words[seed % len(words)] += "?"
        holder[name] = " ".join(words)

    seed = rng.randrange(1000)
    return _from(steps, rng.choice(_llm(steps)), change, "system prompt")


def tool_schema(steps: list[Taped], rng: random.Random) -> Mutant:
    """A tool that is described otherwise."""
    number = rng.randrange(100)

    def change(body: Any) -> None:  # noqa: ANN401
        tools = body["tools"]
        tool = tools[number % len(tools)]
        tool.get("function", tool)["description"] += " Use it with care."

    return _from(steps, rng.choice(_llm(steps)), change, "tool schema")


def dropped_tool(steps: list[Taped], rng: random.Random) -> Mutant:
    """One tool less."""
    number = rng.randrange(100)
    return _from(
        steps, rng.choice(_llm(steps)), lambda body: body["tools"].pop(number % len(body["tools"])), "tool schema"
    )


def first_message(steps: list[Taped], rng: random.Random) -> Mutant:
    """The task in other words."""
    del rng

    def change(body: Any) -> None:  # noqa: ANN401
        message = next(one for one in body["messages"] if one["role"] == "user")
        if isinstance(message["content"], list):
            message["content"][0]["text"] = "Please. " + message["content"][0]["text"]
        else:
            message["content"] = "Please. " + message["content"]

    return _from(steps, _llm(steps)[0], change, "history")


def shortened(steps: list[Taped], rng: random.Random) -> Mutant:
    """The history without one early message, from some turn on."""
    first = rng.choice(_llm(steps)[2:])
    return _from(steps, first, lambda body: body["messages"].pop(1), "history")


def result(steps: list[Taped], rng: random.Random) -> Mutant:
    """A tool's result that is handed on changed: another date, or another number where it has none."""
    first = rng.choice([llm for llm in _llm(steps) if llm and steps[llm - 1].kind == "tool"])
    number = len(steps[first].value["messages"]) - 1

    def change(body: Any) -> None:  # noqa: ANN401
        holder, name = body["messages"][number], "content"
        while not isinstance(holder[name], str):
            holder, name = holder[name][0], "text" if "text" in holder[name][0] else "content"
        found = _DATE.search(holder[name])
        if found:
            holder[name] = holder[name].replace(found[0], _later(found[0]), 1)
        else:
            holder[name] = re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), holder[name], count=1)

    return _from(steps, first, change, "history")


def swapped_id(steps: list[Taped], rng: random.Random) -> Mutant:
    """Another valid id in the arguments of one tool."""
    known: dict[str, set[str]] = {}
    for step in steps:
        for text in (step.body, step.answer):
            for name, value in _IDS.findall(text):
                known.setdefault(name, set()).add(value)
    places = [(at, name, value) for at in _tools(steps) for name, value in _IDS.findall(steps[at].body)]
    at, name, value = rng.choice(places)
    others = sorted(known[name] - {value}) or [value[::-1]]
    body = steps[at].body.replace(f'"{value}"', f'"{rng.choice(others)}"', 1)
    return _instead(steps, at, body)


def swapped_date(steps: list[Taped], rng: random.Random) -> Mutant:
    """Another date in the arguments of one tool."""
    places = [(at, found) for at in _tools(steps) for found in _DATE.findall(steps[at].body)]
    at, found = rng.choice(places)
    return _instead(steps, at, steps[at].body.replace(found, _later(found), 1))


def _instead(steps: list[Taped], at: int, body: str) -> Mutant:
    changed = [*steps[:at], steps[at].saying(json.loads(body)), *steps[at + 1 :]]
    return Mutant(changed, ("drifted", "tool arguments", at + 1))


def _later(found: str) -> str:
    return str(date.fromisoformat(found) + timedelta(days=1))


def too_early(steps: list[Taped], rng: random.Random) -> Mutant:
    """A tool that is called before the model asked for it."""
    at = rng.choice([at for at in _tools(steps) if at and steps[at - 1].conversation == "agent"])
    changed = [*steps[: at - 1], steps[at], steps[at - 1], *steps[at + 1 :]]
    return Mutant(changed, ("reordered", str(at), at + 1))


def without_result(steps: list[Taped], rng: random.Random) -> Mutant:
    """A turn that goes on before its tool was called."""
    at = rng.choice([at for at in _tools(steps) if at + 1 in _llm(steps)])
    changed = [*steps[:at], steps[at + 1], steps[at], *steps[at + 2 :]]
    return Mutant(changed, ("reordered", str(at + 1), at + 2))


def retried(steps: list[Taped], rng: random.Random) -> Mutant:
    """A request that is sent twice."""
    asked = [(step.url, step.body) for step in steps]
    at = rng.choice([at for at in range(len(steps)) if asked.count(asked[at]) == 1])
    return Mutant([*steps[: at + 1], *steps[at:]], ("exhausted", "", at + 1))


def dropped(steps: list[Taped], rng: random.Random) -> Mutant:
    """A tool that is not called any more."""
    at = rng.choice(_tools(steps))
    return Mutant([*steps[:at], *steps[at + 1 :]], ("never_requested", "", at + 1))


def extra(steps: list[Taped], rng: random.Random) -> Mutant:
    """A tool that never was called."""
    at = rng.randrange(len(steps))
    tool = steps[_tools(steps)[0]]
    new = Taped(**{**tool.__dict__, "url": "http://tools.internal:8700/v1/tools/send_certificate"})
    return Mutant([*steps[:at], new, *steps[at:]], ("unexpected", "", at + 1))


ONE_OF_EACH: dict[str, Make] = {
    "the model": _member("model", "gpt-4.1", "model"),
    "a decoding setting": _member("temperature", 0.73, "decoding setting"),
    "the system prompt": system_prompt,
    "a tool's description": tool_schema,
    "one tool less": dropped_tool,
    "the task": first_message,
    "a shortened history": shortened,
    "a tool's result": result,
    "a tool too early": too_early,
    "a turn without its result": without_result,
    "a retry": retried,
    "a call less": dropped,
    "a call more": extra,
}

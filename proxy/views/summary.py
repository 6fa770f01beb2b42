"""What a run came to, in one sentence: exchanges, models, tools, bytes."""

from collections.abc import Iterable
from dataclasses import dataclass

from proxy.views.spoken import spoken
from proxy.words import count, shown, size
from store.core.errors import EdgetapeError
from store.core.event import Event
from store.core.model import HttpRequestEnd, TunnelOpen
from store.core.text import Apart, Text
from store.core.words import noun
from store.exchange import Exchange, Step
from store.reader import Reader

NAMES_MAX = 4


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts over one run; `body_bytes` is the length of its bodies, both ways."""

    exchanges: int
    failed: int
    tunnels: int
    models: tuple[str, ...]
    tools: tuple[str, ...]
    body_bytes: int

    @property
    def sentence(self) -> str:
        """`12 exchanges (1 failed); model gpt-4o; tools lookup, notify; 34 KB`."""
        parts = [count(self.exchanges, "exchange") + (f" ({self.failed} failed)" if self.failed else "")]
        parts += [_names("model", self.models)] if self.models else []
        parts += [_names("tool", self.tools)] if self.tools else []
        parts += [count(self.tunnels, "tunnel")] if self.tunnels else []
        return "; ".join((*parts, size(self.body_bytes)))

    def as_record(self) -> dict[str, object]:
        """The same as --json prints it."""
        return {
            "exchanges": self.exchanges,
            "failed": self.failed,
            "tunnels": self.tunnels,
            "models": list(self.models),
            "tools": list(self.tools),
            "body_bytes": self.body_bytes,
        }


def summary(steps: Iterable[Step], reader: Reader) -> Summary:
    """Counts what happened. The order of names is that of their first use."""
    models: dict[str, None] = {}
    tools: dict[str, None] = {}
    exchanges = failed = tunnels = body_bytes = 0
    for step in steps:
        if not isinstance(step, Exchange):
            tunnels += isinstance(step.event.facts, TunnelOpen)
            continue
        exchanges += 1
        failed += step.response is None
        body_bytes += _bytes(step, reader)
        if step.facts.model is not None:
            models[shown(reader.text(step.request, step.facts.model))] = None
        tools |= dict.fromkeys(_tools(step, reader))
        talk = spoken(step, reader) if step.messages else None
        if talk is not None:
            models |= dict.fromkeys(shown(model.encode()) for model in talk.models)
            tools |= dict.fromkeys(shown(tool.encode()) for tool in talk.tools)
    return Summary(exchanges, failed, tunnels, tuple(models), tuple(tools), body_bytes)


def _tools(step: Exchange, reader: Reader) -> list[str]:
    """The tool that the request calls, and those that the answer asks for."""
    named: list[tuple[Event, Text]] = []
    if step.facts.tool is not None:
        named.append((step.request, step.facts.tool))
    if step.outcome is not None and step.response is not None:
        named += [(step.outcome, tool) for tool in step.response.tools or ()]
    return [shown(reader.text(event, name)) for event, name in named]


def _bytes(step: Exchange, reader: Reader) -> int:
    bodies: list[tuple[Event, Apart | None]] = [(step.request, step.facts.body)]
    if step.upload is not None and isinstance(step.upload.facts, HttpRequestEnd):
        bodies.append((step.upload, step.upload.facts.body))
    if step.outcome is not None and step.response is not None:
        bodies.append((step.outcome, step.response.body))
    return sum(_length(reader, event, apart) for event, apart in bodies if apart is not None)


def _length(reader: Reader, event: Event, apart: Apart) -> int:
    try:
        return reader.opening(event, apart).length
    except EdgetapeError:
        return 0  # erased meanwhile: nothing of it is there any more


def _names(one: str, names: tuple[str, ...]) -> str:
    told = ", ".join(names[:NAMES_MAX])
    more = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
    return f"{noun(len(names), one)} {told}{more}"

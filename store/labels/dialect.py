"""What a dialect knows how to say: the labels of a request, and the answer that a response spells."""

from dataclasses import dataclass
from typing import Literal, Protocol

from store.labels.wire import Request, Response

Kind = Literal["llm", "tool", "mcp", "embedding", "auth", "telemetry", "other"]
Boundary = Literal["input", "decision", "effect"]
Effect = Literal["read", "idempotent", "write", "unknown"]


@dataclass(frozen=True, slots=True)
class RequestLabels:
    """What a request asks for. Members are named as in the event (`http.request`); None is "not said".

    `settings` are (name, JSON source text), in the order of the body. Where an operator's own rule had a say (`own`),
    `rules` is their version, and `receipt` says where the answer has one; neither is a member.
    """

    kind: Kind
    boundary: Boundary
    effect: Effect
    operation: str | None = None
    tool: str | None = None
    model: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    idempotency_key: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    rules: str = ""
    receipt: str = ""


@dataclass(frozen=True, slots=True)
class ResponseLabels:
    """What a response tells. Members are named as in the event (`http.response`); None is "not said".

    `usage` counts what the provider counted, under its own names, nested ones dotted; `tools` are the names of the
    tools that the model asked for, in order.
    """

    model: str | None = None
    usage: tuple[tuple[str, int], ...] = ()
    stop: str | None = None
    tools: tuple[str, ...] = ()
    provider_request_id: str | None = None
    receipt: str | None = None
    rules: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that a model asked for: `arguments` is JSON text as the model wrote it, or free text."""

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer put together from one body or from the pieces of a stream.

    `id` is the provider's name for the answer; `error` its complaint, "" when it made none.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str = ""
    model: str = ""
    usage: tuple[tuple[str, int], ...] = ()
    stop: str = ""
    id: str = ""
    error: str = ""


class Dialect(Protocol):
    """One way of speaking HTTP; a module with these two functions is one."""

    def recognise(self, request: Request) -> RequestLabels | None:
        """The labels of a request of this dialect, None for any other. Reads no header that all dialects share."""

    def read(self, labels: RequestLabels, response: Response) -> Answer | None:
        """The answer to a request of this dialect, None for any other. What the body does not tell stays empty."""

"""The recorded runs of real agents in `runs`, as steps that a test records, changes and walks again."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import zstandard

from replay_server.session import Session
from tests.replay_server.recording import Pairs, Recording
from tests.replay_server.walking import ask

NAMES = ("airline", "booking", "repair")


@dataclass(frozen=True)
class Taped:
    """One exchange; `body` is JSON text."""

    kind: str
    conversation: str
    method: str
    url: str
    headers: Pairs
    body: str
    status: int
    answer_headers: Pairs
    answer: str

    @property
    def value(self) -> Any:  # noqa: ANN401  # the JSON of any provider
        """What the body says."""
        return json.loads(self.body)

    def saying(self, value: object) -> "Taped":
        """The same request with another body."""
        return replace(self, body=json.dumps(value))


@cache
def taped(name: str) -> tuple[Taped, ...]:
    """The steps of a run."""
    packed = (Path(__file__).parent / "runs" / f"{name}.jsonl.zst").read_bytes()
    return tuple(_taped(json.loads(line)) for line in zstandard.decompress(packed).splitlines())


def writer(steps: tuple[Taped, ...]) -> Callable[[Recording], None]:
    """What records these steps."""

    def tell(recording: Recording) -> None:
        for step in steps:
            request = recording.ask(step.method, step.url, step.body.encode(), step.headers)
            framing = "chunked" if "text/event-stream" in str(step.answer_headers) else "length"
            recording.answer(
                request,
                step.answer.encode(),
                status=step.status,
                headers=step.answer_headers,
                framing="chunked" if framing == "chunked" else "length",
            )

    return tell


def walk(session: Session, steps: list[Taped]) -> None:
    """Asks for all of them, whatever is answered."""
    for step in steps:
        ask(session, step.method, step.url, step.body.encode(), step.headers)


def _taped(line: dict[str, Any]) -> Taped:
    def pairs(name: str) -> Pairs:
        return tuple((name.encode(), value.encode()) for name, value in line[name])

    return Taped(
        kind=line["kind"],
        conversation=line["conversation"],
        method=line["method"],
        url=line["url"],
        headers=pairs("request_headers"),
        body=line["request"],
        status=line["status"],
        answer_headers=pairs("response_headers"),
        answer=line["response"],
    )

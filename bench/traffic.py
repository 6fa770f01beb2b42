"""The agent runs that are measured: as they were recorded, and with changes that real agents bring about."""

import gzip
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import zstandard

VARIABLE = "EDGETAPE_TEST_DATA"
_FILE = "agent_runs.jsonl.zst"
_WINDOW_BYTES = 1 << 27
_FIRST_TEXT = re.compile(rb'"(?:content|text)":"')


class Exchange(msgspec.Struct, frozen=True):
    """One request and its answer, as a line of the file has it."""

    run: str
    conversation: str
    kind: str
    method: str
    url: str
    status: int
    t: float
    request_headers: list[tuple[str, str]]
    response_headers: list[tuple[str, str]]
    request_body: str
    response_body: str

    @property
    def bodies(self) -> tuple[bytes, bytes]:
        """Request and answer, as bytes."""
        return self.request_body.encode(), self.response_body.encode()


class Run(msgspec.Struct, frozen=True):
    """A run to be measured: its exchanges, and the bodies that crossed the wire (request, answer, answer's coding)."""

    name: str
    exchanges: list[Exchange]
    wire: list[tuple[bytes, bytes, str]]

    @property
    def bodies(self) -> list[bytes]:
        """Every body that is not empty, in order, with its content coding undone."""
        return [body for exchange in self.exchanges for body in exchange.bodies if body]

    @property
    def raw_bytes(self) -> int:
        """The length of all bodies together."""
        return sum(map(len, self.bodies))


def runs(wanted: set[str]) -> dict[str, Run]:
    """The runs of these names, or all for none, in the order of the file."""
    exchanges: dict[str, list[Exchange]] = {}
    for exchange in _lines():
        if not wanted or exchange.run in wanted:
            exchanges.setdefault(exchange.run, []).append(exchange)
    return {name: _run(name, found) for name, found in exchanges.items()}


def names() -> list[str]:
    """The names of all runs, in the order of the file."""
    return list(dict.fromkeys(exchange.run for exchange in _lines()))


def with_clock(run: Run) -> Run:
    """The same run with the time of day near the front of every prompt, another one at each call."""

    def clocked(at: int, exchange: Exchange) -> Exchange:
        now = f"The time is {9 + at // 360:02}:{at // 6 % 60:02}:{at % 6 * 10:02}. "
        body = _FIRST_TEXT.sub(lambda match: match.group() + now.encode(), exchange.request_body.encode(), count=1)
        return msgspec.structs.replace(exchange, request_body=body.decode())

    exchanges = [
        clocked(at, exchange) if exchange.kind == "llm" else exchange for at, exchange in enumerate(run.exchanges)
    ]
    return _run(f"{run.name} + clock", exchanges)


def with_gzip(run: Run) -> Run:
    """The same run with every answer compressed on the wire, as zlib does it unasked."""
    wire = [(request, gzip.compress(answer, 6, mtime=0), "gzip") for request, answer, _ in run.wire]
    return Run(f"{run.name} + gzip", run.exchanges, wire)


def _run(name: str, exchanges: list[Exchange]) -> Run:
    return Run(name, exchanges, [(*exchange.bodies, "") for exchange in exchanges])


def _lines() -> Iterator[Exchange]:
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise SystemExit(f"{VARIABLE} names no folder: it must hold {_FILE}")
    decoder = msgspec.json.Decoder(Exchange)
    with Path(folder, _FILE).open("rb") as file:
        text = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES).stream_reader(file)
        for line in io.TextIOWrapper(text, "utf-8"):
            yield decoder.decode(line)

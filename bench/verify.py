"""How fast a store is verified: events a second without bodies, bodies in MB a second, and in how much memory.

    python -m bench.verify [--tries N] [--write]

The stores are written by the real writer: runs of a chat client's requests, as they are stored. Each verification is a
process of its own that does nothing else; what is told is its processor time on one core, and its greatest size.
"""

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import click

from bench import page, size
from store.core.draft import Draft, Sheet
from store.core.model import Agent, HttpRequest, HttpResponse, Policies, RunOpen
from store.core.redact import stored
from store.core.text import Pairs
from store.verify import verify
from store.writer import Writer

_EVENTS_GOAL = 20_000
_BODIES_GOAL = 150.0
_GROWTH_GOAL = 1.1
_TURNS = 140
_ASKED: Pairs = [
    ["host", "api.example.com"],
    ["accept", "application/json"],
    ["content-type", "application/json"],
    ["user-agent", "Client/Python 1.99.1"],
    ["x-client-lang", "python"],
    ["x-client-version", "1.99.1"],
    ["x-client-os", "Linux"],
    ["x-client-arch", "x64"],
    ["authorization", "Bearer <edgetape:bearer:1>"],
    ["accept-encoding", "gzip, deflate"],
]
_ANSWERED: Pairs = [
    ["date", "Mon, 30 Nov 2026 01:02:03 GMT"],
    ["content-type", "application/json"],
    ["x-request-id", "req_0123456789abcdef0123456789abcdef"],
    ["x-processing-ms", "812"],
    ["server", "edge"],
]


def record(folder: Path, runs: int, exchanges: int, *, bodies: bool) -> int:
    """Fills a store with runs of so many exchanges; with `bodies` each is a conversation. Bytes of bodies."""
    source, total = random.Random(1), 0  # noqa: S311  # the same text each time
    words = ["".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=source.randrange(2, 10))) for _ in range(5000)]
    writer = Writer.open(folder / "store", folder / "keys")
    for _ in range(runs):
        run, ticket = writer.open_run(Draft(_opening()))
        said = ""
        for number in range(exchanges):
            said += " ".join(source.choices(words, k=250)) if bodies else ""
            answer = " ".join(source.choices(words, k=80)) if bodies else ""
            total += len(said) + len(answer)
            ticket = writer.append(run, _answer(answer), after=writer.append(run, _request(said)))
            if number % 200 == 0:
                ticket.result()
        writer.close_run(run, "normal").result()
    writer.close()
    return total


def _opening() -> RunOpen:
    policies = Policies(redaction="none/1", classification="none/1")
    return RunOpen(origin="", mode="record", recorder="bench/1", clock="system", policies=policies, agent=Agent())


def _request(said: str) -> Draft:
    sheet = Sheet()
    return sheet.draft(
        HttpRequest(
            method="POST",
            scheme="https",
            host="api.example.com",
            port=443,
            path="/v1/chat/completions",
            http_version="HTTP/1.1",
            headers=_ASKED,
            body=sheet.apart(stored(said.encode())) if said else None,
            kind="llm",
            boundary="decision",
            effect="read",
            operation="chat.completions",
            model="model-1",
            settings=[["temperature", "0.0"]],
        )
    )


def _answer(said: str) -> Draft:
    sheet = Sheet()
    return sheet.draft(
        HttpResponse(
            req=-1,
            status=200,
            http_version="HTTP/1.1",
            headers=_ANSWERED,
            ended="complete",
            framing="length",
            body=sheet.apart(stored(said.encode())) if said else None,
            model="model-1-2026",
            usage=[["prompt_tokens", 1234], ["completion_tokens", 77]],
            stop="stop",
        )
    )


def measure(folder: Path) -> None:
    """Verifies a store, and prints the events, the seconds of CPU, and the greatest size of this process in MB."""
    begun = time.process_time()
    verdict = verify(folder / "store", folder / "keys", jobs=1)
    took = time.process_time() - begun
    assert verdict.exit_code == 0, verdict.line
    print(json.dumps({"events": verdict.events, "cpu_s": took, "mb": _greatest_mb()}))  # noqa: T201  # read by the caller


def _greatest_mb() -> float:
    """The greatest size of this process. What getrusage tells would be that of its parent, if that was greater."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def tried(folder: Path, tries: int) -> tuple[int, list[float], list[float]]:
    """Events, seconds and MB of so many verifications, each in a process of its own."""
    results = []
    for _ in range(tries):
        command = [sys.executable, "-m", "bench.verify", "--measure", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
        results.append(json.loads(done.stdout))
    return results[0]["events"], [each["cpu_s"] for each in results], [each["mb"] for each in results]


def spread(values: Sequence[float], digits: int = 0) -> str:
    """The median, with the least and the most."""
    median, least, most = statistics.median(values), min(values), max(values)
    return f"{median:,.{digits}f} ({least:,.{digits}f} - {most:,.{digits}f})"


def table(tries: int) -> str:
    """The figures as a table in Markdown."""
    with tempfile.TemporaryDirectory() as place:
        few, many, said = (Path(place, name) for name in ("few", "many", "said"))
        record(few, 1, 1000, bodies=False)
        record(many, 1, 10_000, bodies=False)
        body_bytes = record(said, 6, _TURNS, bodies=True)
        _, _, few_mb = tried(few, tries)
        events, many_s, many_mb = tried(many, tries)
        _, said_s, said_mb = tried(said, tries)
    rates = [events / took for took in many_s]
    speeds = [body_bytes / 1e6 / took for took in said_s]
    growth = statistics.median(many_mb) / statistics.median(few_mb)
    rows = [
        ["what", "measured", "goal"],
        ["---"] * 3,
        [
            "events a second, no bodies, one core",
            _goal(spread(rates), statistics.median(rates) < _EVENTS_GOAL),
            f">= {_EVENTS_GOAL:,}",
        ],
        [
            "MB of bodies a second, their events included, one core",
            _goal(spread(speeds), statistics.median(speeds) < _BODIES_GOAL),
            f">= {_BODIES_GOAL:.0f}",
        ],
        ["MB of memory, a run of 2,002 events", spread(few_mb), ""],
        [
            "MB of memory, a run of 20,002 events",
            _goal(spread(many_mb), growth > _GROWTH_GOAL),
            f"the same (<= {_GROWTH_GOAL} times)",
        ],
        [f"MB of memory, {body_bytes / 1e6:.0f} MB of bodies", spread(said_mb), ""],
    ]
    return "\n".join(map(size.line, rows))


def _goal(text: str, missed: bool) -> str:
    return f"{text}*" if missed else text


@click.command()
@click.option("--tries", default=5, help="How often each is measured.")
@click.option("--write", is_flag=True, help="Write the section of docs/benchmarks.md.")
@click.option("--measure", "folder", type=click.Path(path_type=Path), hidden=True)
def main(tries: int, write: bool, folder: Path | None) -> None:
    """Print the table; a star marks a goal that is missed."""
    if folder is not None:
        measure(folder)
        return
    text = f"`python -m bench.verify`, {tries} tries each. {page.machine()}\n\n{table(tries)}"
    click.echo(text)
    if write:
        page.write("verify", text)


if __name__ == "__main__":
    main()

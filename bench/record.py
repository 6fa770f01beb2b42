"""What recording costs: edgetape side by side with mitmproxy's own command, which records nothing, and which saves.

    python -m bench.record [--rounds N] [--seconds S] [--exchanges N] [--write]

All recorders run at once and wait; each is loaded in turn, in short rounds, so that what else the machine does falls on
all alike. What is told are medians of the ratios of a round. Processor time of the recorder's processes for an exchange
is the steadier figure.
"""

import signal
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version

import click

from bench import page
from bench.client import Order
from bench.contest import Contestant, Ring, Turn, loading, ring, turn
from bench.size import line

BARE, SAVING, GROUP, STRICT = "mitmdump -q", "mitmdump -q -w", "edgetape", "edgetape, strict"
_STREAMS = 50
_POSTS_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked for in one row, and the goals: requests a second, and the median wait, in times of mitmdump's."""

    name: str
    kind: str
    clients: int
    bytes: int = 2048
    repeated: int = 0
    rate_goal: float | None = None
    wait_goal: float | None = None


LOADS = (
    Load("2 KB, 1 client", "keep", 1, rate_goal=2.0, wait_goal=0.6),
    Load("2 KB, 8 clients", "keep", 8, rate_goal=2.0, wait_goal=0.6),
    Load("2 KB, 64 clients", "keep", 64, rate_goal=2.0, wait_goal=0.6),
    Load("60 KB up and down, nothing repeated", "keep", 8, 60_000, rate_goal=1.5),
    Load("60 KB up and down, 56 KB of each the conversation so far", "keep", 8, 60_000, 56_000, rate_goal=1.5),
    Load("a new TLS connection for each", "fresh", 1, wait_goal=0.45),
)


def measured(place: Ring, contestants: Sequence[Contestant], load: Load, rounds: int, seconds: float) -> list[str]:
    """The rows of one load: each contestant's figures, in times of the first one's."""
    turns: dict[str, list[Turn]] = {each.name: [] for each in contestants}
    for number in range(rounds):
        for each in contestants if number % 2 else tuple(reversed(contestants)):
            turns[each.name].append(turn(each, _order(place, each, load, seconds)))
    first = turns[contestants[0].name]
    return [_row(load, each, turns[each.name], first) for each in contestants]


def _order(place: Ring, contestant: Contestant, load: Load, seconds: float) -> Order:
    return Order(
        kind=load.kind,  # type: ignore[arg-type]
        proxy=contestant.proxy,
        target=place.target,
        trusted=contestant.trusted,
        clients=load.clients,
        seconds=seconds,
        request_bytes=load.bytes,
        answer_bytes=load.bytes,
        repeated_bytes=load.repeated,
    )


def _row(load: Load, contestant: Contestant, turns: Sequence[Turn], first: Sequence[Turn]) -> str:
    failures = [failure for each in turns for failure in each.figures.failures]
    assert not failures, failures
    ours = contestant.name == GROUP
    rate = [one.rate / other.rate for one, other in zip(turns, first, strict=True)]
    wait = [_wait_ms(one) / _wait_ms(other) for one, other in zip(turns, first, strict=True)]
    cpu = [one.cpu_ms / other.cpu_ms for one, other in zip(turns, first, strict=True)]
    return line(
        [
            load.name,
            contestant.name,
            spread([each.rate for each in turns], 0),
            _held(spread(rate, 2), load.rate_goal if ours else None, statistics.median(rate), least=True),
            spread([_wait_ms(each) for each in turns], 1),
            _held(spread(wait, 2), load.wait_goal if ours else None, statistics.median(wait)),
            spread([each.cpu_ms for each in turns], 2),
            spread(cpu, 2),
        ]
    )


def _wait_ms(one: Turn) -> float:
    return statistics.median(one.figures.took_ms)


def strictly(place: Ring, group: Contestant, strict: Contestant, rounds: int, seconds: float) -> str:
    """What strict durability adds to the median wait of a client that asks one thing after another."""
    load = LOADS[0]
    added = []
    for _ in range(rounds):
        waits = [_wait_ms(turn(each, _order(place, each, load, seconds))) for each in (group, strict)]
        added.append(waits[1] - waits[0])
    return line(
        ["strict, on top of group, 2 KB, 1 client", _held(spread(added, 1), 3.0, statistics.median(added)), "< 3"]
    )


def streamed(
    place: Ring, direct: Contestant, ours: Contestant, rounds: int, chunks: int = 200, every_ms: int = 5
) -> list[str]:
    """What recording adds to the chunks of many event streams while somebody uploads long bodies."""
    first, middle, last = list[float](), list[float](), list[float]()
    for _ in range(rounds):
        plain, recorded = (_streams(place, each, chunks, every_ms) for each in (direct, ours))
        first.append(_percentile(recorded.figures.first_ms, 50) - _percentile(plain.figures.first_ms, 50))
        middle.append(_percentile(recorded.figures.took_ms, 50) - _percentile(plain.figures.took_ms, 50))
        last.append(_percentile(recorded.figures.took_ms, 99) - _percentile(plain.figures.took_ms, 99))
    rows = (("first chunk, p50", first, 2.0), ("a chunk, p50", middle, 1.0), ("a chunk, p99", last, 10.0))
    what = f"{_STREAMS} streams of {chunks} chunks at {every_ms} ms beside posts of 4 MB: "
    return [
        line([what + name, _held(spread(added, 1), goal, statistics.median(added)), f"< {goal:.0f}"])
        for name, added, goal in rows
    ]


def _streams(place: Ring, contestant: Contestant, chunks: int, every_ms: int) -> Turn:
    basis = Order("stream", contestant.proxy, place.target, contestant.trusted, _STREAMS, 60.0)
    basis = replace(basis, chunks=chunks, chunk_ms=every_ms)
    posts = replace(basis, kind="keep", clients=1, seconds=30.0, request_bytes=_POSTS_BYTES, answer_bytes=64)
    with loading(posts):
        return turn(contestant, basis)


def grown(place: Ring, ours: Contestant, exchanges: int, say: Callable[[str], None]) -> str:
    """How much memory the recorder has after a tenth of so many exchanges, and after all of them."""
    load, done, marks = LOADS[1], 0, list[float]()
    for part in (exchanges // 10, exchanges):
        while done < part:
            done += turn(ours, _order(place, ours, load, 10.0)).figures.exchanges
            say(f"{done:,} of {exchanges:,} exchanges, {ours.resident_mb:.0f} MB")
        marks.append(ours.resident_mb)
    growth = marks[1] / marks[0]
    told = f"{marks[0]:.0f} MB, then {marks[1]:.0f} MB"
    return line(
        [
            f"memory after {exchanges // 10:,} and after {exchanges:,} exchanges",
            _held(told, 1.1, growth),
            "flat (<= 1.1 times)",
        ]
    )


def spread(values: Sequence[float], digits: int) -> str:
    """The median, with the least and the most."""
    median, least, most = statistics.median(values), min(values), max(values)
    return f"{median:,.{digits}f} ({least:,.{digits}f} - {most:,.{digits}f})"


def _held(text: str, goal: float | None, value: float, *, least: bool = False) -> str:
    missed = goal is not None and (value < goal if least else value > goal)
    return f"{text}*" if missed else text


def _percentile(values: Sequence[float], percent: int) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def table(rounds: int, seconds: float, exchanges: int, say: Callable[[str], None]) -> str:
    """The figures as tables in Markdown."""
    with ring() as place:
        bare = place.mitmdump(BARE)
        saving = place.mitmdump(SAVING, "-w", str(place.folder / "flows"))
        group, strict = place.edgetape(GROUP), place.edgetape(STRICT, "--durability", "strict")
        rows = [
            line(["HTTPS through CONNECT", "recorder", "requests/s", "x", "wait p50, ms", "x", "CPU, ms", "x"]),
            line(["---"] * 8),
        ]
        for load in LOADS:
            rows += measured(place, (bare, saving, group), load, rounds, seconds)
            say(rows[-1])
        more = [line(["what is added", "ms", "goal"]), line(["---"] * 3)]
        more.append(strictly(place, group, strict, rounds, seconds))
        for chunks, every_ms in ((200, 5), (80, 50)):
            more += streamed(place, place.direct(), group, max(2, rounds // 2), chunks, every_ms)
        more.append(grown(place, group, exchanges, say))
    return "\n".join([*rows, "", *more])


def _words(rounds: int, seconds: float) -> str:
    versions: Mapping[str, str] = {name: version(name) for name in ("mitmproxy", "uvloop", "zstandard", "cryptography")}
    told = ", ".join(f"{name} {number}" for name, number in versions.items())
    return (
        f"`python -m bench.record`, {rounds} rounds of {seconds:.0f} s each. {page.machine()} {told}. "
        "Clients, server and all recorders share the machine.\n\n"
        "Goals, in times of bare `mitmdump -q`: 2 KB >= 2.0 the requests and <= 0.6 the wait; 60 KB >= 1.5 the "
        "requests; a new connection <= 0.45 the wait. A recorder's processor time is that of all its processes.\n\n"
        "mitmproxy's core, on which this is built, passes some 3,000 chunks a second and core; here they go past "
        "most of it (decision 0115). The slower streams are models at 20 words a second.\n"
    )


@click.command()
@click.option("--rounds", default=6, help="How often each recorder has its turn.")
@click.option("--seconds", default=2.0, help="How long a turn is.")
@click.option("--exchanges", default=10_000, help="How many to watch the memory over; 100000 is the full count.")
@click.option("--write", is_flag=True, help="Write the section of docs/benchmarks.md.")
def main(rounds: int, seconds: float, exchanges: int, write: bool) -> None:
    """Print the tables; a star marks a goal that is missed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # whoever ends this ends what it started
    text = _words(rounds, seconds) + "\n" + table(rounds, seconds, exchanges, lambda said: click.echo(said, err=True))
    click.echo(text)
    if write:
        page.write("record: what recording costs", text)


if __name__ == "__main__":
    main()

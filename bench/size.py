"""How many bytes a run's bodies take, live and sealed, beside what other recorders write; and how fast they come back.

    EDGETAPE_TEST_DATA=folder python -m bench.size [--all] [--peers] [--write] [RUN ...]

"whole" is all bodies of the run, with content codings undone, in one zstd frame at level 19 with a window of 128 MiB:
small, but nothing of it can be read alone. All figures of ours are of encrypted blocks.
"""

import gc
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
import zstandard

from bench import page, traffic
from bench.shelf import Shelf, percentile, sampled
from bench.traffic import Run

RUNS = (
    "tau-airline-gpt4o-00-0",
    "tau-airline-gpt4o-01-0",
    "swe-text-16",
    "swe-fc-anthropic-03",
    "stitched-openai-0",
    "stitched-openai-1",
    "stitched-openai-3-compacted",
    "stitched-anthropic-4",
    "interleaved-openai-0",
    "interleaved-anthropic-5",
)
_CLOCKED = ("stitched-openai-0", "interleaved-anthropic-5")
_GZIPPED = ("tau-airline-gpt4o-00-0", "stitched-openai-0", "stitched-openai-1")
_READS_MAX = 400
_MIB = 1e6
_GOALS = {"sealed": 1.05, "live": 1.2, "read_ms": 5.0, "writer": 100.0}
_WORDS = """\
`python -m bench.size --peers`. {} Bodies alone, in encrypted blocks; "whole" is all bodies of the run, content codings
undone, in one zstd frame of level 19 with a window of 128 MiB, of which nothing can be read alone. Reads are cold, of
one body each, opening the file included; MB are of raw bodies, per second of CPU.

Goals: live <= 1.2 and sealed <= 1.05 of whole, a read < 5 ms at the 99th percentile, writing >= 100 MB/s. A store keeps
answers in gzip as they came ("kept coded"); "undone" is what undoing the coding would give.
"""


def whole(run: Run) -> int:
    """All bodies in one frame, as small as zstd -19 --long=27 makes them."""
    parameters = zstandard.ZstdCompressionParameters.from_level(19, window_log=27, enable_ldm=True)
    return len(zstandard.ZstdCompressor(compression_params=parameters).compress(b"".join(run.bodies)))


def measured(run: Run, folder: Path, *, undo: bool = True) -> str:
    """A line of the table of sizes and speeds; goals that are missed are marked with a star."""
    shelf = Shelf(folder / f"{len(list(folder.iterdir()))}.db")
    shelf.record(run, undo=undo)
    bound, raw = whole(run), run.raw_bytes
    live = shelf.stored_bytes
    live_read = _reads(shelf)
    sealing_s = shelf.seal()
    sealed = shelf.stored_bytes
    cells = [
        run.name,
        f"{raw / _MIB:.2f}",
        f"{bound:,}",
        f"{live:,}",
        _goal(live / bound, "live"),
        f"{sealed:,}",
        _goal(sealed / bound, "sealed"),
        f"{raw / sealed:.0f}x",
        _goal(raw / _MIB / shelf.cpu_s, "writer", least=True, digits=0),
        f"{raw / _MIB / sealing_s:.0f}",
        live_read,
        _reads(shelf),
        f"{raw / _MIB / shelf.read_all():.0f}",
    ]
    return line(cells)


def growth(run: Run, folder: Path) -> str:
    """A line of the table of bytes a turn, live: what the turns of each stretch took."""
    shelf = Shelf(folder / f"{len(list(folder.iterdir()))}.db")
    shelf.record(run)
    turns = [at for at, exchange in enumerate(run.exchanges) if exchange.kind == "llm"]
    marks = [0, 10, 40, 70, 100, len(turns)]
    cells = [run.name]
    for begin, end in itertools.pairwise(marks):
        if end <= len(turns):
            before = shelf.grown[turns[begin] - 1] if begin else 0
            after = shelf.grown[turns[end] - 1] if end < len(turns) else shelf.grown[-1]
            cells.append(f"{(after - before) / (end - begin):,.0f}")
    return line(cells)


def compared(run: Run) -> Iterator[str]:
    """Lines of the table of other recorders' files: plain, gzip, zstd."""
    from bench import peers  # they are installed for this alone

    for name, write in peers.WRITERS.items():
        content = write(run)
        sizes = len(content), peers.gzipped(content), peers.zstandarded(content)
        yield line([run.name, name, *(f"{size:,}" for size in sizes)])


def _reads(shelf: Shelf) -> str:
    took = [shelf.read_cold(at) for at in sampled(len(shelf.places), _READS_MAX)]
    wall, cpu = ([each[clock] * 1000 for each in took] for clock in (0, 1))
    p99 = f"{_goal(percentile(wall, 99), 'read_ms')} (CPU {_goal(percentile(cpu, 99), 'read_ms')})"
    return f"{percentile(wall, 50):.2f} / {p99}"


def _goal(value: float, goal: str, *, least: bool = False, digits: int = 2) -> str:
    missed = value < _GOALS[goal] if least else round(value, 3) > _GOALS[goal]
    return f"{value:.{digits}f}{'*' if missed else ''}"


def line(cells: list[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join(cells) + " |"


def _header(*names: str) -> Iterator[str]:
    yield "\n" + line(list(names))
    yield "|" + "---|" * len(names)


def _text(found: dict[str, Run], folder: Path, *, peers: bool) -> Iterator[str]:
    clocked = [traffic.with_clock(found[name]) for name in _CLOCKED if name in found]
    gzipped = [traffic.with_gzip(found[name]) for name in _GZIPPED if name in found]
    yield from _header(
        *("run", "raw MB", "whole", "live", "/ whole", "sealed", "/ whole", "raw / sealed"),
        *("write MB/s", "seal MB/s", "live read ms p50 / p99", "sealed read ms p50 / p99", "read all MB/s"),
    )
    for run in [*found.values(), *clocked]:
        yield measured(run, folder)
    for run in gzipped:
        yield measured(Run(f"{run.name}, kept coded", run.exchanges, run.wire), folder, undo=False)
        yield measured(Run(f"{run.name}, undone", run.exchanges, run.wire), folder)
    yield from _header("live bytes a turn", "1-10", "11-40", "41-70", "71-100", "101-end")
    for run in [*found.values(), *clocked]:
        if sum(exchange.kind == "llm" for exchange in run.exchanges) > 100:
            yield growth(run, folder)
    if peers:
        yield from _header("run", "recorder", "plain", "gzip -6", "zstd -3")
        for run in found.values():
            yield from compared(run)


@click.command()
@click.option("--all", "every", is_flag=True, help="Measure every run of the file.")
@click.option("--peers", is_flag=True, help="Write the runs as vcrpy, mitmproxy and HAR do, too.")
@click.option("--write", is_flag=True, help="Write the tables into docs/benchmarks.md.")
@click.argument("names", nargs=-1)
def main(every: bool, peers: bool, write: bool, names: tuple[str, ...]) -> None:
    """Print the tables; a star marks a goal that is missed."""
    found = traffic.runs(set() if every else set(names or RUNS))
    gc.collect()
    gc.freeze()  # the runs in memory are not what is measured
    lines = []
    with tempfile.TemporaryDirectory() as place:
        for each in _text(found, Path(place), peers=peers):
            click.echo(each)
            lines.append(each)
    if write:
        page.write("size", "\n".join([_WORDS.format(page.machine()), *lines]))


if __name__ == "__main__":
    main()

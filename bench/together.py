"""How many bytes a whole run takes in a store, with everything: envelopes, openings, keys, indexes, log, free space.

    EDGETAPE_TEST_DATA=folder python -m bench.together [--write] [RUN ...]

The runs are written by the real writer, each exchange in commits of its own. "alone" is the file of a store that holds
the run and nothing else, with all that a store has anyway; "adds" is what a file grows by when the run comes to others.
"""

import gc
import itertools
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import click

from bench import page, size, traffic
from bench.traffic import Exchange, Run
from store.core.draft import Draft, Sheet
from store.core.model import Agent, HttpRequest, HttpResponse, Policies, RunOpen
from store.core.redact import stored
from store.database import FILE_NAME
from store.writer import Writer

SECTION = "size: everything together"
_GOAL = 2.0
_MARKS = (10, 40, 70, 100)
_TABLES = ("blocks", "event_blocks", "opening_blocks")
_SHORT = "tau-airline-gpt4o-"
_SHORT_RUNS = 30

_WORDS = """\
`python -m bench.together`. {} Bytes of a file after VACUUM, runs closed: bodies, envelopes, openings, keys, log and
SQLite's own. "adds" is what a run adds to a store that has others, "alone" is a store with this run and nothing else,
and in brackets how many times "whole" (see size) that is; the goal is {:.1f}.
"""


def asked(exchange: Exchange) -> Draft:
    """The request of an exchange."""
    sheet, url = Sheet(), urlsplit(exchange.url)
    body, _ = exchange.bodies
    return sheet.draft(
        HttpRequest(
            method=exchange.method,
            scheme=url.scheme,
            host=url.hostname or "",
            port=url.port or 443,
            path=url.path,
            http_version="HTTP/1.1",
            headers=[[name, value] for name, value in exchange.request_headers],
            query=sheet.apart(stored(url.query.encode())) if url.query else None,
            body=sheet.apart(stored(body)) if body else None,
        )
    )


def answered(exchange: Exchange) -> Draft:
    """Its answer."""
    sheet = Sheet()
    _, body = exchange.bodies
    return sheet.draft(
        HttpResponse(
            req=-1,
            status=exchange.status,
            http_version="HTTP/1.1",
            headers=[[name, value] for name, value in exchange.response_headers],
            ended="complete",
            framing="length",
            body=sheet.apart(stored(body)) if body else None,
        )
    )


def recorded(runs: Iterable[Run], folder: Path) -> tuple[int, list[int]]:
    """The bytes of the store's file with these runs in it, and what its rows took after each exchange."""
    writer = Writer.open(folder / "store", folder / "keys")
    grown = []
    opening = RunOpen(
        origin="", mode="record", recorder="bench/1", clock="system",
        policies=Policies(redaction="none/1", classification="none/1"), agent=Agent(),
    )  # fmt: skip
    with closing(sqlite3.connect(folder / "store" / FILE_NAME)) as connection:
        for run in runs:
            name, _ = writer.open_run(Draft(opening))
            for exchange in run.exchanges:
                writer.append(name, answered(exchange), after=writer.append(name, asked(exchange))).result()
                grown.append(_held(connection))
            writer.close_run(name, "agent_exit").result()
        writer.close()
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return (folder / "store" / FILE_NAME).stat().st_size, grown


def _held(connection: sqlite3.Connection) -> int:
    ((pages, free, page_bytes),) = connection.execute(
        "SELECT * FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
    ).fetchall()
    return (int(pages) - int(free)) * int(page_bytes)


def _tables(folder: Path) -> dict[str, int]:
    with closing(sqlite3.connect(folder / "store" / FILE_NAME)) as connection:
        rows = connection.execute(
            "SELECT COALESCE(m.tbl_name, s.name), SUM(s.pgsize) FROM dbstat s"
            " LEFT JOIN sqlite_master m ON m.name = s.name GROUP BY 1"
        ).fetchall()
    return {str(name): int(held) for name, held in rows}


def _against(held: int, bound: int) -> str:
    return f"{held:,} ({held / bound:.2f}{'*' if held > _GOAL * bound else ''})"


def _measured(run: Run) -> tuple[list[str], list[int]]:
    """A line of the table, and what the store held after each exchange."""
    with tempfile.TemporaryDirectory() as place:
        alone, grown = recorded([run], Path(place))
        tables = _tables(Path(place))
        added = recorded([run], Path(place))[0] - alone
    bound = size.whole(run)
    held = [f"{tables.get(name, 0):,}" for name in _TABLES]
    rest = alone - sum(tables.get(name, 0) for name in _TABLES)
    name = [run.name, str(len(run.exchanges)), f"{run.raw_bytes / 1e6:.2f}", f"{bound:,}"]
    return [*name, _against(added, bound), _against(alone, bound), *held, f"{rest:,}"], grown


def _growth(run: Run, grown: Sequence[int]) -> str | None:
    """A line of what the turns of each stretch took, live; None for a short run."""
    turns = [at for at, exchange in enumerate(run.exchanges) if exchange.kind == "llm"]
    if len(turns) <= _MARKS[-1]:
        return None
    marks = [grown[turns[mark] - 1] for mark in _MARKS] + [grown[-1]]
    counts = (30, 30, 30, len(turns) - _MARKS[-1])
    pairs = zip(itertools.pairwise(marks), counts, strict=True)
    return size.line([run.name, *(f"{(after - before) / count:,.0f}" for (before, after), count in pairs)])


def _short(runs: Sequence[Run]) -> Iterator[str]:
    """Many short runs in one store."""
    with tempfile.TemporaryDirectory() as place:
        held, _ = recorded(runs, Path(place))
    bound = sum(map(size.whole, runs))
    exchanges, raw = sum(len(run.exchanges) for run in runs), sum(run.raw_bytes for run in runs)
    yield f"{len(runs)} short runs of one agent in one store, {exchanges} exchanges, {raw / 1e6:.1f} MB: "
    yield f"{_against(held, bound)} bytes, each run's bound by itself being {bound:,} in all."


def _text(names: Sequence[str]) -> Iterator[str]:
    found = traffic.runs(set(names or size.RUNS))
    gc.collect()
    yield size.line(["run", "exchanges", "raw MB", "whole", "adds (/ whole)", "alone (/ whole)", *_TABLES, "rest"])
    yield "|" + "---|" * (7 + len(_TABLES))
    grown = []
    for run in found.values():
        cells, after = _measured(run)
        grown.append(_growth(run, after))
        yield size.line(cells)
    yield "\n| everything, live, bytes a turn | 11-40 | 41-70 | 71-100 | 101-end |\n|---|---|---|---|---|"
    yield from filter(None, grown)
    if not names:
        short = [name for name in traffic.names() if name.startswith(_SHORT)][:_SHORT_RUNS]
        yield "\n" + "".join(_short(list(traffic.runs(set(short)).values())))


@click.command()
@click.option("--write", is_flag=True, help="Write the tables into docs/benchmarks.md.")
@click.argument("names", nargs=-1)
def main(write: bool, names: tuple[str, ...]) -> None:
    """Print the tables; a star marks a goal that is missed."""
    lines = []
    for each in _text(names):
        click.echo(each)
        lines.append(each)
    if write:
        page.write(SECTION, "\n".join([_WORDS.format(page.machine(), _GOAL), *lines]))


if __name__ == "__main__":
    main()

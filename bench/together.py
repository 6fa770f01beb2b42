"""How many bytes a whole run takes in a store, with everything: envelopes, openings, places, indexes, log, free space.

    EDGETAPE_TEST_DATA=folder python -m bench.together [RUN ...]

The runs are written by the real writer, each exchange in commits of its own, into a store of their own.
"""

import gc
import itertools
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import click

from bench import size, traffic
from bench.traffic import Exchange, Run
from store.core.draft import Draft, Sheet
from store.core.model import Agent, HttpRequest, HttpResponse, Policies, RunOpen
from store.core.redact import stored
from store.database import FILE_NAME
from store.writer import Writer

_GOAL = 2.0
_MARKS = (10, 40, 70, 100)


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


def recorded(run: Run, folder: Path) -> tuple[Path, list[int]]:
    """The store's file with the run in it, and what its rows took after each exchange."""
    writer = Writer.open(folder / "store", folder / "keys")
    path, grown = folder / "store" / FILE_NAME, []
    opening = RunOpen(
        origin="", mode="record", recorder="bench/1", clock="system",
        policies=Policies(redaction="none/1", classification="none/1"), agent=Agent(),
    )  # fmt: skip
    with closing(sqlite3.connect(path)) as connection:
        name, _ = writer.open_run(Draft(opening))
        for exchange in run.exchanges:
            writer.append(name, answered(exchange), after=writer.append(name, asked(exchange))).result()
            grown.append(_held(connection))
        writer.close_run(name, "agent_exit").result()
        writer.close()
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path, grown


def _held(connection: sqlite3.Connection) -> int:
    ((pages, free, page),) = connection.execute(
        "SELECT * FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
    ).fetchall()
    return (int(pages) - int(free)) * int(page)


def _tables(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT COALESCE(m.tbl_name, s.name), SUM(s.pgsize) FROM dbstat s"
            " LEFT JOIN sqlite_master m ON m.name = s.name GROUP BY 1"
        ).fetchall()
    return {str(name): int(held) for name, held in rows}


@click.command()
@click.argument("names", nargs=-1)
def main(names: tuple[str, ...]) -> None:
    """Print the tables; a star marks a goal that is missed."""
    found = traffic.runs(set(names or size.RUNS))
    gc.collect()
    lines: list[list[str]] = []
    shown = ("events", "openings", "payloads", "blocks")
    click.echo("\n| run | exchanges | raw MB | whole | file | / whole | " + " | ".join(shown) + " | other |")
    click.echo("|" + "---|" * (7 + len(shown)))
    for run in found.values():
        with tempfile.TemporaryDirectory() as place:
            path, grown = recorded(run, Path(place))
            file_bytes, tables, bound = path.stat().st_size, _tables(path), size.whole(run)
        star = "*" if file_bytes > _GOAL * bound else ""
        other = file_bytes - sum(tables.get(name, 0) for name in shown)
        held = " | ".join(f"{tables.get(name, 0):,}" for name in shown)
        click.echo(
            f"| {run.name} | {len(run.exchanges)} | {run.raw_bytes / 1e6:.2f} | {bound:,} | {file_bytes:,} |"
            f" {file_bytes / bound:.2f}{star} | {held} | {other:,} |"
        )
        turns = [at for at, exchange in enumerate(run.exchanges) if exchange.kind == "llm"]
        if len(turns) > _MARKS[-1]:
            marks = [grown[turns[mark] - 1] for mark in _MARKS] + [grown[-1]]
            per = [
                f"{(after - before) / turned:,.0f}"
                for (before, after), turned in zip(
                    itertools.pairwise(marks), (30, 30, 30, len(turns) - _MARKS[-1]), strict=True
                )
            ]
            lines.append([run.name, *per])
    click.echo("\n| everything, live, bytes a turn | 11-40 | 41-70 | 71-100 | 101-end |\n|---|---|---|---|---|")
    for line in lines:
        click.echo(size.line(line))


if __name__ == "__main__":
    main()

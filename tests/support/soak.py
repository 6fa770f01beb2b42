"""What soaks have measured, as docs/soak.md has it: a row a test, each with the seed and the day of its own."""

import os
import platform
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version

import store

_HEAD = "| test | outcome | measured | seed | date |"
_PARTS = ("cryptography", "mitmproxy", "zstandard", "aiohttp")


@dataclass(frozen=True, slots=True)
class Row:
    """What one test came to: `passed` or `failed`, and its figures in words."""

    test: str
    outcome: str
    measured: str
    seed: int
    date: str

    @property
    def line(self) -> str:
        """As it stands in the table."""
        cells = (f"`{self.test}`", self.outcome, self.measured, str(self.seed), self.date)
        return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


@dataclass(frozen=True, slots=True)
class Run:
    """One soak: when, with which seed, which tests were asked for, how many ran, which of them failed."""

    date: str
    seed: int
    asked: str
    tests: int
    failed: tuple[str, ...]
    minutes: float

    @property
    def sentence(self) -> str:
        """What stands above the table."""
        outcome = f"FAILED: {', '.join(self.failed)}" if self.failed else "all passed"
        return f"{self.date}, seed {self.seed}, {self.asked}: {self.tests} tests in {self.minutes:.0f} min, {outcome}"


def page(before: str, run: Run, rows: Iterable[Row]) -> str:
    """The page after a soak: `rows` take the place of those of the same tests in the page as it was."""
    merged: dict[str, Row] = {row.test: row for row in read(before)}
    merged.update({row.test: row for row in rows})
    lines = [
        "# The last soak",
        "",
        "Written by `make soak`, which runs every test with its full counts; `make soak ARGS=PATH` runs some, and"
        " replaces their rows.",
        "",
        f"- last run: {run.sentence}",
        f"- versions: {versions()}",
        "",
        _HEAD,
        "|---|---|---|---|---|",
        *(merged[test].line for test in sorted(merged)),
        "",
    ]
    return "\n".join(lines)


def read(text: str) -> list[Row]:
    """The rows of a page; a page of another form has none."""
    _, _, table = text.partition(_HEAD)
    rows = []
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) == 5 and cells[3].isdecimal():
            rows.append(Row(cells[0].strip("`"), cells[1], cells[2], int(cells[3]), cells[4]))
    return rows


def versions() -> str:
    """What it ran with, and on."""
    parts: Mapping[str, str] = {
        "edgetape": store.__version__,
        "Python": platform.python_version(),
        "SQLite": sqlite3.sqlite_version,
        **{name: version(name) for name in _PARTS},
    }
    place = f"{platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} cores"
    return ", ".join(f"{name} {number}" for name, number in parts.items()) + f"; {place}"

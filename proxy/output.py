"""What verbs print on stdout, JSON for programs and aligned columns for people, and what they write to a file."""

import json
import os
import shutil
import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import click

from proxy.settings import Color
from proxy.talk import Talk, colored

if TYPE_CHECKING:  # most commands draw no timeline
    from proxy.views.timeline import Mark

_STYLES: dict["Mark", str] = {"good": "", "odd": "yellow", "bad": "red"}
_GOOD: "Mark" = "good"
_UNBOUNDED = 10_000  # a pipe has no edge to wrap at


def as_json_text(value: object) -> str:
    """`value` as --json prints it: indented, in the order given, non-ASCII text as it is."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def width() -> int:
    """The columns that a line may have: the terminal's, or as many as it likes where there is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _UNBOUNDED


def table(
    color: Color,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int] = (),
    marks: "Sequence[Mark] | None" = None,
) -> None:
    """Print rows under heads; the columns numbered in `right` are numbers; `marks` color the rows."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    with_color = colored(color, sys.stdout, os.environ)
    page = StringIO()
    console = Console(file=page, width=width(), force_terminal=with_color, no_color=not with_color, highlight=False)
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for index, head in enumerate(heads):
        last = index == len(heads) - 1
        grid.add_column(head, justify="right" if index in right else "left", no_wrap=not last, overflow="fold")
    for row, mark in zip(rows, marks or [_GOOD] * len(rows), strict=True):
        grid.add_row(*(Text(cell) for cell in row), style=_STYLES[mark])
    console.print(grid)
    for line in page.getvalue().splitlines():
        click.echo(line.rstrip(), color=with_color)


def keep(talk: Talk, path: Path | None, text: str) -> bool:
    """Writes a report to the file that was asked for, if one was; False, once that was said, where it cannot be."""
    from store.output import NotWritten

    try:
        if path is not None:
            write("the report", path, text.encode("utf-8", "backslashreplace"))
    except NotWritten as error:
        talk.error(str(error), error.hint)
        return False
    return True


def write(what: str, path: Path, content: bytes) -> None:
    """Writes a file that was asked for, whole or not at all. Raises NotWritten."""
    from store.output import put, written  # most commands write no file

    with written(what, path):
        put(path, content)

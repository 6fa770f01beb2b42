"""What one setting is, and the kinds of values that settings have."""

import getpass
import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import cast

import click

from store.core import address
from store.core.errors import EdgetapeError

type Kind = click.Choice[str] | click.Path | click.IntRange | click.FloatRange | type[str] | None
type Default = str | int | float | Callable[[], Path | str] | None

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class Place(click.Path):
    """A folder, or the URL of a store that a server keeps, which no error quotes: it may hold a password."""

    def convert(  # type: ignore[override]  # what it gives is ours
        self, value: str | PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        """A Path, or a Server."""
        if not isinstance(value, str) or not _SCHEME.match(value):
            return super().convert(value, param, ctx)
        try:
            return address.parse(value)
        except EdgetapeError as error:
            self.fail(f"{error}: {error.hint}", param, ctx)


class Seconds(click.FloatRange):
    """A number of seconds that can be waited for: neither endless nor no number (`nan` is in every range)."""

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """A finite float in the range."""
        number = float(super().convert(cast("float", value), param, ctx))  # which takes a text as well
        if not math.isfinite(number):
            self.fail(f"{number} is no number of seconds", param, ctx)
        return number


class Report(click.Path):
    """A file that is written when an agent has run: what can be known before of whether it can be is said at once."""

    def convert(  # type: ignore[override]  # what it gives is ours
        self, value: str | PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        """A Path, of which the folders that are there take a new file."""
        path = Path(str(super().convert(value, param, ctx))).absolute()
        there = next(folder for folder in path.parents if os.access(folder, os.F_OK))
        if not os.access(path, os.F_OK) and not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
            self.fail(f"{there} takes no new file", param, ctx)
        return Path(value)


FOLDER = click.Path(file_okay=False, path_type=Path)
STORE = Place(file_okay=False, path_type=Path)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
OUTPUT = click.Path(dir_okay=False, writable=True, path_type=Path)
REPORT = Report(dir_okay=False, writable=True, path_type=Path)
PORT = click.IntRange(0, 65535)
SECONDS, LONG = Seconds(min=0), Seconds(min=1)
COUNT = click.IntRange(min=1)
JOBS = click.IntRange(1, 256)  # more processes than a machine starts in passable time


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table; `member` is the parameter's name in the verb where it is not that of the flag, `flag_name`
    the flag where another row has its name.
    """

    name: str
    help: str
    kind: Kind = None
    default: Default = None
    default_text: str | bool = True
    short: str = ""
    flag: bool = False
    many: bool = False
    metavar: str | None = None
    member: str = ""
    flag_name: str = ""

    @property
    def variable(self) -> str:
        """The environment variable: EDGETAPE_ and the name."""
        return "EDGETAPE_" + self.name.upper().replace("-", "_")

    @property
    def flags(self) -> tuple[str, ...]:
        """How click is told of it."""
        return tuple(filter(None, (f"--{self.flag_name or self.name}", self.short, self.member)))


def account() -> str:
    """Whose account this is."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"

"""What one setting is, and the kinds of values that settings have."""

import getpass
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

type Kind = click.Choice[str] | click.Path | click.IntRange | click.FloatRange | type[str] | None
type Default = str | int | float | Callable[[], Path | str] | None

FOLDER = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
OUTPUT = click.Path(dir_okay=False, writable=True, path_type=Path)
PORT = click.IntRange(0, 65535)
SECONDS, LONG = click.FloatRange(min=0), click.FloatRange(min=1)
COUNT = click.IntRange(min=1)


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

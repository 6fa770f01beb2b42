"""What edgetape says to people: on stderr, as loud as they want it, in color where that can be seen."""

import contextlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TextIO

import click

from proxy.options import Shared
from proxy.settings import Color
from proxy.words import printable


@dataclass(frozen=True, slots=True)
class Talk:
    """`loudness` is -1 (only what went wrong), 0 or 1; `as_json` is for what gathers logs: an object a line."""

    loudness: int = 0
    color: bool = False
    as_json: bool = False

    @classmethod
    def of(cls, context: click.Context) -> "Talk":
        """As the command line asks for it."""
        shared = context.obj
        if not isinstance(shared, Shared):
            return cls()
        return cls(shared.loudness, colored(shared.color, sys.stderr, os.environ))

    def say(self, text: str) -> None:
        """What a person expects to be told."""
        if self.loudness >= 0:
            self._tell("info", text)

    def detail(self, text: str) -> None:
        """What only a curious person wants to know."""
        if self.loudness > 0:
            self._tell("debug", text)

    def event(self, what: str, about: Mapping[str, str | int], *, detail: bool = False) -> None:
        """Something that happened, told with its members to programs; `detail` is for the curious, among people."""
        if self.as_json and self.loudness >= 0:
            self._line({"level": "info", "event": what, **about})
        elif self.loudness >= int(detail):
            said = " ".join(f"{name}={printable(str(value), one_line=True)}" for name, value in about.items())
            self.always(f"edgetape: {what} {said}".rstrip())

    def warn(self, text: str, hint: str = "") -> None:
        """What must be seen, though the work went on."""
        self._sentence("warning", text, hint, "yellow")

    def error(self, text: str, hint: str = "") -> None:
        """Why the work did not get done."""
        self._sentence("error", text, hint, "red")

    def always(self, text: str) -> None:
        """A text as it is, on stderr."""
        # Where nobody can read any more (a closed pipe, a full disk) there is nobody to tell; the agent's exit code
        # must still be passed on.
        try:
            click.echo(text, err=True, color=self.color)
        except OSError:
            leave(sys.stderr)

    def _sentence(self, level: str, text: str, hint: str, color: str) -> None:
        if self.as_json:
            self._line({"level": level, "message": text, **({"hint": hint} if hint else {})})
            return
        text = f"warning: {text}" if level == "warning" else text
        self.always(click.style("edgetape:", fg=color, bold=True) + " " + printable(text))
        if hint:
            self.always(click.style("hint:", bold=True) + " " + printable(hint, one_line=True))

    def _tell(self, level: str, text: str) -> None:
        if self.as_json:
            self._line({"level": level, "message": text.removeprefix("edgetape: ")})
        else:
            self.always(printable(text))

    def _line(self, members: Mapping[str, str | int]) -> None:
        self.always(json.dumps({"time": datetime.now(UTC).isoformat(), **members}))


def leave(stream: TextIO) -> None:
    """Send what is still written to `stream` nowhere: else the interpreter fails when it flushes at its end."""
    with contextlib.suppress(OSError):  # a stream that is no file has nothing to be flushed to
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def colored(choice: Color, stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether to color what goes to `stream` (NO_COLOR, FORCE_COLOR and TERM=dumb are honoured)."""
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR") or environment.get("CLICOLOR_FORCE"):
        return True
    return stream.isatty() and environment.get("TERM") != "dumb"

"""What the demo says: chapters with their commands and output, promises kept or missing, and how long each took."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Telling:
    """Prints the story and keeps count; `missing` are the promises that were not seen."""

    missing: list[str] = field(default_factory=list)
    took: list[tuple[str, float]] = field(default_factory=list)

    @contextmanager
    def chapter(self, title: str) -> Iterator[None]:
        """A chapter with a number; its time is kept, and an early end is a promise that is missing."""
        self._line(f"\n{len(self.took) + 1}. {title}")
        began = time.monotonic()
        try:
            yield
        except (ValueError, TypeError, LookupError, OSError, subprocess.TimeoutExpired) as error:
            self.promise(False, f"{title}: ended early: {error!r}")
        self.took.append((title, time.monotonic() - began))

    def say(self, sentence: str) -> None:
        """One sentence of the story."""
        self._line(f"   {sentence}")

    def command(self, words: Sequence[str]) -> None:
        """A command as a user would type it."""
        self._line(f"   $ {shlex.join(words)}")

    def output(self, text: str, lines_max: int = 60) -> None:
        """What a command printed, cut after so many lines."""
        lines = text.rstrip("\n").splitlines()
        for line in lines[:lines_max]:
            self._line(f"   | {line}")
        if len(lines) > lines_max:
            self._line(f"   | ({len(lines) - lines_max} more lines)")

    def promise(self, kept: bool, sentence: str) -> bool:
        """Say whether something that the demo promises was seen."""
        self._line(f"   {'seen   ' if kept else 'MISSING'}  {sentence}")
        if not kept:
            self.missing.append(sentence)
        return kept

    def times(self) -> None:
        """The table of chapters and seconds."""
        self._line("\nWhat it did, and how long each part took")
        width = max(len(title) for title, _ in self.took)
        for number, (title, seconds) in enumerate(self.took, start=1):
            self._line(f"   {number}. {title:<{width}}  {seconds:6.1f} s")

    def _line(self, text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

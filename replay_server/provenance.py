"""Where a value came from: which recorded answer first said it, and whether an answer of this replay has said it.

A value counts as said when each run of letters and digits in it was, of six or more where it has such: that errs on the
side of "it came from an answer". Each answer is read once, when a value is first asked about.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

_RUN = re.compile(rb"[A-Za-z0-9]+")
_RUN_CHARS_MIN = 6
_LONG_RUN = re.compile(rb"[A-Za-z0-9]{%d,}" % _RUN_CHARS_MIN)

type Texts = Callable[[int], Iterable[bytes]]


@dataclass(slots=True)
class Provenance:
    """Of one replay. `answers` gives the texts of a recorded answer; `inputs` are what the agent was given besides."""

    answers: Texts
    inputs: Iterable[bytes] = ()
    _first: dict[bytes, int] = field(default_factory=dict)
    _read: int = 0
    _served: set[bytes] = field(default_factory=set)
    _unread: list[int] = field(default_factory=list)
    _began: bool = False

    def serve(self, index: int) -> None:
        """Takes note that a recorded answer went out to the agent."""
        self._unread.append(index)

    def hear(self, texts: Iterable[bytes]) -> None:
        """Takes note of an answer that no recording has, and that went out to the agent."""
        self._served.update(_runs(texts))

    def recorded_before(self, value: str, index: int) -> bool:
        """Whether an input, or the answer of an exchange before `index`, had `value`."""
        if not self._began:
            self._began = True
            for text in self.inputs:
                for run in _LONG_RUN.findall(text):
                    self._first[run] = -1
        for at in range(self._read, index):
            for run in _runs(self.answers(at)):
                self._first.setdefault(run, at)
        self._read = max(self._read, index)
        return all(self._first.get(run, index) < index for run in _parts(value))

    def served(self, value: str) -> bool:
        """Whether an answer that went out to the agent had `value`."""
        for index in self._unread:
            self._served.update(_runs(self.answers(index)))
        self._unread.clear()
        return all(run in self._served for run in _parts(value))


def _runs(texts: Iterable[bytes]) -> set[bytes]:
    return {run for text in texts for run in _LONG_RUN.findall(text)}


def _parts(value: str) -> list[bytes]:
    runs = _RUN.findall(value.encode("utf-8", "replace"))
    return [run for run in runs if len(run) >= _RUN_CHARS_MIN]

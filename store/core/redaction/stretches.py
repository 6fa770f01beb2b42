"""The long unbroken stretches of a window: what was drawn at random stands in one, and most of a text is none.

Rules kept here:
- A window is gone over once for all who look for such things; it ends a little behind its last byte, for what begins
  before that.
"""

import re
from dataclasses import dataclass

STRETCH_BYTES_MIN = 16
OVER_BYTES = 513

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/="
_LOOSE = _LETTERS + b".~"  # of which the credentials of a scheme consist, too (RFC 9110, section 11.2)
_KIND = bytes(ord("x") if byte in _LOOSE else ord(" ") for byte in range(256))
_LONG_ENOUGH = b"x" * STRETCH_BYTES_MIN
_RUN = re.compile(rb"[A-Za-z0-9_+/=-]{%d,}" % STRETCH_BYTES_MIN)
_DENSE_BYTES = 32
_SHORT_BYTES = 2 * STRETCH_BYTES_MIN

type Place = tuple[int, int]


@dataclass(slots=True)
class Window:
    """A part of a content, and where in it the stretches of token letters, dots and tildes are. Of one that crosses
    the border of a window each has its part.

    `runs` are where token letters alone begin between `start` and `stop`. `dense` is all stretches, with the byte
    before each: what begins in the window and has so many letters of a stretch in a row has them in there. `reach` is
    how far rules have looked that may look far behind the window; what was looked at is told to `saw`.
    """

    content: bytes
    start: int
    stop: int
    places: list[Place]
    runs: list[Place]
    dense: bytes
    reach: int = 0

    def saw(self, end: int) -> None:
        """A rule has looked at all up to `end`."""
        self.reach = max(self.reach, end)


def window(content: bytes, start: int, stop: int) -> Window:
    """What of a content begins between `start` and `stop`."""
    kinds = content[start : stop + OVER_BYTES].translate(_KIND)
    at = kinds.find(_LONG_ENOUGH)
    if at >= 0 and kinds.count(b" ", at) * _DENSE_BYTES < len(kinds) - at:
        places, dense = _among_many(kinds, start, stop), content[max(0, start - 1) : stop + OVER_BYTES]
    else:
        places, dense = _among_few(kinds, at, content, start, stop)
    runs: list[Place] = []
    dotted = b"." in dense or b"~" in dense
    for begin, end in places:
        if dotted and (content.find(b".", begin, end) >= 0 or content.find(b"~", begin, end) >= 0):
            runs += [found.span() for found in _RUN.finditer(content, begin, end)]
        else:
            runs.append((begin, end))
    if runs and runs[0][0] == start and start and content[start - 1] in _LETTERS:
        del runs[0]  # it began in the window before
    while runs and runs[-1][0] >= stop:
        runs.pop()
    return Window(content, start, stop, places, runs, dense)


def _among_few(kinds: bytes, at: int, content: bytes, start: int, stop: int) -> tuple[list[Place], bytes]:
    places: list[Place] = []
    dense = [content[max(0, start - 1) : start + _SHORT_BYTES]]  # where one that came before may end
    most = stop - start
    while 0 <= at < most:
        end = kinds.find(b" ", at + STRETCH_BYTES_MIN)
        begin, end = start + at, start + (end if end >= 0 else len(kinds))
        places.append((begin, end))
        dense.append(content[begin - 1 : end] if begin else content[:end])
        at = kinds.find(_LONG_ENOUGH, end - start)
    return places, b" ".join(dense)


def _among_many(kinds: bytes, start: int, stop: int) -> list[Place]:
    """The same of encoded bytes, which are hardly anything else."""
    places: list[Place] = []
    at = start
    for stretch in kinds.split(b" "):
        if len(stretch) >= STRETCH_BYTES_MIN and at < stop:
            places.append((at, at + len(stretch)))
        at += len(stretch) + 1
    return places


def core(word: bytes) -> bytes:
    """A part of a word that stands in a stretch wherever the word does; b"" for a word that has none."""
    found = _RUN.search(word, 0, OVER_BYTES - 1)
    return found[0] if found is not None else b""

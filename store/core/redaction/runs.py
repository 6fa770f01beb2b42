"""Where the shapes of tokens stand in a text: long unbroken runs are where one could begin; most of a text is none.

Rules kept here:
- What is longer than any token, such as an image in base64, is looked at where it begins and no further.
- Reading is by bytes and by window; a window's work does not grow with the body.
"""

import re
import string
from collections.abc import Iterator

from store.core.redaction.likeness import is_random
from store.core.redaction.shapes import INNERS, SHAPES, Shape
from store.core.redaction.spans import Span

RUN_BYTES_MIN = 16
RUN_BYTES_MAX = 512
_BEFORE_BYTES = 16  # a token may begin before its longest run: `ya29.`, `hvs.`

_TOKEN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/="
_KIND = bytes(ord("x") if byte in _TOKEN else ord(" ") for byte in range(256))
_LONG_ENOUGH = b"x" * RUN_BYTES_MIN

# A token begins where a word begins; an escape (\n, \u003d, %20) glues no letter to it. In base64 nothing begins.
_WORD = re.compile(rb"[A-Za-z0-9_+-]\Z")
_ESCAPE = re.compile(rb"(?:\\[nrtbf]|%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4})\Z")


def _by_head() -> dict[bytes, list[tuple[Shape, re.Pattern[bytes]]]]:
    table: dict[bytes, list[tuple[Shape, re.Pattern[bytes]]]] = {}
    for shape in SHAPES:
        rest = re.compile(shape.rest.encode())
        for head in shape.heads.split():
            table.setdefault(head.encode(), []).append((shape, rest))
    return table


def _either(words: list[str]) -> str:
    """A regular expression for any of these words, which reads no letter twice; the shortest of two wins."""
    if "" in words:
        return ""
    following: dict[str, list[str]] = {}
    for word in words:
        following.setdefault(word[0], []).append(word[1:])
    parts = [re.escape(first) + _either(rest) for first, rest in following.items()]
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"


_SHAPES = _by_head()
_HEADS = sorted(_SHAPES, key=len, reverse=True)
_HINT = re.compile(_either([head.decode() for head in _HEADS]).encode())
_BEGINNING_WITH = {first: [head for head in _HEADS if head[0] == first] for first in {head[0] for head in _HEADS}}
# One byte of each word is no letter: what has it nowhere has the word nowhere, which shows sooner.
_INNERS = [
    (inner, re.compile(inner.whole.encode()), inner.word.strip(string.ascii_letters.encode())[:1]) for inner in INNERS
]


def find(content: bytes, start: int, stop: int) -> Iterator[Span]:
    """The tokens of known shapes in the runs that begin between `start` and `stop`."""
    window = content[start : stop + RUN_BYTES_MAX + 1]
    yield from _inner(content, window, start, stop)
    kinds = window.translate(_KIND)
    at = 0
    if start and content[start - 1 : start].translate(_KIND) == b"x":
        at = kinds.find(b" ")  # the run that crosses the border belongs to the window before
    last = start - _BEFORE_BYTES
    while 0 <= at < stop - start:
        at = kinds.find(_LONG_ENOUGH, at)
        if not 0 <= at < stop - start:
            return
        end = kinds.find(b" ", at + RUN_BYTES_MIN)
        end = end if end >= 0 else len(kinds)
        limit = end if end - at <= RUN_BYTES_MAX else at + _BEFORE_BYTES
        for span in _within(content, max(last, start + at - _BEFORE_BYTES, 0), start + limit):
            yield span
            last = span.end
        last = max(last, start + end)
        at = end


def _within(content: bytes, place: int, limit: int) -> Iterator[Span]:
    """The tokens that begin between two places."""
    hint = _HINT.search(content, place, limit)
    while hint is not None:
        at = hint.start()
        before = content[max(0, at - 6) : at]
        span = None
        if not _WORD.search(before) or _ESCAPE.search(before):
            span = _token(content, at)
        if span is not None:
            yield span
        hint = _HINT.search(content, span.end if span is not None else at + 1, limit)


def _token(content: bytes, at: int) -> Span | None:
    for head in _BEGINNING_WITH[content[at]]:
        if content.startswith(head, at):
            for shape, rest in _SHAPES[head]:
                found = rest.match(content, at + len(head))
                if found is not None and (not shape.odd or is_random(found[0])):
                    return Span(at, found.end(), shape.kind, content[at : found.end()], learn=True)
    return None


def _inner(content: bytes, window: bytes, start: int, stop: int) -> Iterator[Span]:
    for inner, whole, sign in _INNERS:
        at = window.find(inner.word) if sign in window else -1
        while 0 <= at < stop - start:
            place = start + at
            found = whole.search(content, max(0, place - inner.before), place + RUN_BYTES_MAX)
            if found is not None and found.start() <= place < found.end():
                begin = found.start() + (2 if content[found.start() - 1 : found.start()] == b"%" else 0)
                yield Span(begin, found.end(), inner.kind, content[begin : found.end()], learn=True)
            at = window.find(inner.word, at + len(inner.word))

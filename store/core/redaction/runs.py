"""Where the shapes of tokens stand in a text: long unbroken runs are where one could begin; most of a text is none.

Rules kept here:
- What is longer than any token, such as an image in base64, is looked at where it begins and no further.
- Reading is by bytes and by window; a window's work does not grow with the body.
- A short beginning is no token where it is a matter of chance (`chance.py`).
"""

import re
import string
from collections.abc import Iterator

from store.core.redaction import chance, stretches
from store.core.redaction.likeness import is_random
from store.core.redaction.shapes import INNERS, SHAPES, Shape
from store.core.redaction.spans import Span
from store.core.redaction.stretches import Place, Window

RUN_BYTES_MAX = stretches.OVER_BYTES - 1
_BEFORE_BYTES = 16  # a token may begin before its longest run: `ya29.`, `hvs.`

# A token begins where a word begins; an escape (\n, \u003d, %20) glues no letter to it. In base64 nothing begins.
_ESCAPE = re.compile(rb"\\[nrtbf]|%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}")
_ESCAPE_BYTES_MAX = 6
_LONG_BYTES = 1024
_GLUED = bytes(byte if chr(byte).isascii() and (chr(byte).isalnum() or byte in b"_+-") else 32 for byte in range(256))


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
# A word that begins with a head. What goes before it is told by one byte first, for there are few such in a run.
_BEGIN = re.compile(
    rb"[^A-Za-z0-9_+-](?=HEAD|(?<=\\)(?:[nrtbf]|u[0-9A-Fa-f]{4})HEAD|(?<=%)[0-9A-Fa-f]{2}HEAD)".replace(
        b"HEAD", _HINT.pattern
    )
)
_BEGINNING_WITH = {first: [head for head in _HEADS if head[0] == first] for first in {head[0] for head in _HEADS}}
_HEADS_OF_TWO = frozenset(head for head in _HEADS if len(head) == 2)
# Of a head with other bytes among its first three, what goes before them is the whole word.
_BEGINNINGS = frozenset(head.translate(_GLUED).split()[0][:3] for head in _HEADS if len(head) > 2)
# One byte of each word is no letter: what has it nowhere has the word nowhere, which shows sooner.
_INNERS = [
    (inner, re.compile(inner.whole.encode()), inner.word.strip(string.ascii_letters.encode())[:1]) for inner in INNERS
]


def find(window: Window) -> Iterator[Span]:
    """The tokens of known shapes in the runs of a window."""
    yield from _inner(window)
    last = 0
    for place, limit in _zones(window):
        for at in _begins(window.content, max(last, place), limit):
            span = _token(window.content, at, limit) if at >= last else None
            if span is not None:
                yield span
                last = span.end


def _zones(window: Window) -> Iterator[Place]:
    """Where tokens may begin: in each run and shortly before it, as one where they touch."""
    begin = end = -1
    last = window.start - _BEFORE_BYTES
    for at, stop in window.runs:
        place = max(last, at - _BEFORE_BYTES, 0)
        last = stop
        if place > end:
            if end >= 0:
                yield begin, end
            begin = place
        end = stop if stop - at <= RUN_BYTES_MAX else at + _BEFORE_BYTES
    if end >= 0:
        yield begin, end


def _begins(content: bytes, place: int, limit: int) -> Iterator[int]:
    """The places between two where a word begins with a head, and perhaps others, in order."""
    first = max(0, place - _ESCAPE_BYTES_MAX)
    if limit - place > _LONG_BYTES:
        text = content[first:limit].replace(b"\\n", b"  ").replace(b"\\r", b"  ")
        if b"\\" not in text and b"%" not in text:
            at = first
            for word in text.translate(_GLUED).split(b" "):
                if (word[:2] in _HEADS_OF_TWO or word[:3] in _BEGINNINGS) and at >= place:
                    yield at
                at += len(word) + 1
            return
    if not place:
        yield 0
    for begin in _BEGIN.finditer(content, first, limit):
        if begin.end() >= place:
            yield begin.end()
        escape = _ESCAPE.match(content, begin.start())
        if escape is not None and escape.end() >= place:
            yield escape.end()


def _token(content: bytes, at: int, limit: int) -> Span | None:
    if _HINT.match(content, at, limit) is None:
        return None
    for head in _BEGINNING_WITH[content[at]]:
        if content.startswith(head, at):
            for shape, rest in _SHAPES[head]:
                found = rest.match(content, at + len(head))
                if found is not None and (not shape.odd or is_random(found[0])):
                    whole = Span(at, found.end(), shape.kind, content[at : found.end()], learn=True)
                    return None if chance.is_chance(content, whole, shape, head) else whole
    return None


def _inner(window: Window) -> Iterator[Span]:
    content, start, stop = window.content, window.start, window.stop
    for inner, whole, sign in _INNERS:
        # Each lies in a stretch, or ends before one.
        if sign not in window.dense or inner.word not in window.dense:
            continue
        at = content.find(inner.word, start, stop + len(inner.word) - 1)
        while at >= 0:
            found = whole.search(content, max(0, at - inner.before), at + RUN_BYTES_MAX)
            if found is not None and found.start() <= at < found.end():
                begin = found.start() + (2 if content[found.start() - 1 : found.start()] == b"%" else 0)
                yield Span(begin, found.end(), inner.kind, content[begin : found.end()], learn=True)
            at = content.find(inner.word, at + len(inner.word), stop + len(inner.word) - 1)

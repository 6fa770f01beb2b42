"""Secrets that an event stream brings in pieces: a model that writes out a key does so a few letters an event.

The texts of one strand (same member name, same index) are read as one; a secret that spans several of its pieces
leaves its mark in the first and nothing in the others. (Server-sent events, or lines of JSON.)
"""

import re
from bisect import bisect_right
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from store.core.redaction import texts
from store.core.redaction.known import Known
from store.core.redaction.spans import Span, drained
from store.core.redaction.values import string_end

_TEXT = re.compile(
    rb'"(text|content|delta|partial_json|arguments|thinking|reasoning|reasoning_content|reasoning_text|input|output'
    rb'|completion|response|transcript|value|code|refusal|message)"\s{0,4}:\s{0,4}"'
)
_INDEX = re.compile(rb'"(\w{0,16}index)"\s{0,4}:\s{0,4}(\d{1,6})')
_EVENT_BYTES_MAX = 64 * 1024
_STEP_EVENTS = 64
# What may be the beginning of a token: a word that goes on behind a dash, or one as the usual tokens begin.
_BEGUN = re.compile(
    rb"(?<![A-Za-z0-9])(?:[A-Za-z0-9]{1,16}[-_][A-Za-z0-9_-]*|eyJ[\w.-]*|ya29[\w.-]*|[A-Za-z0-9]{1,6})\Z"
)
_BEGINNINGS = (
    b"sk-", b"pk-lf-", b"gsk_", b"xai-", b"lsv2_", b"r8_", b"tvly-", b"hf_", b"pplx-", b"nvapi-", b"AIza", b"ya29.",
    b"AKIA", b"ASIA", b"ghp_", b"gho_", b"ghs_", b"ghu_", b"github_pat_", b"glpat-", b"npm_", b"pypi-", b"xoxb-",
    b"xoxp-", b"eyJ", b"SG.", b"dapi", b"hvs.",
)  # fmt: skip


@dataclass(slots=True)
class Strand:
    """The pieces of one text: where each stands in the content, and where in the text it begins."""

    places: list[tuple[int, int]] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    text: bytearray = field(default_factory=bytearray)

    def add(self, content: bytes, start: int, end: int) -> None:
        """One more piece."""
        self.begins.append(len(self.text))
        self.places.append((start, end))
        self.text += content[start:end]

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Where `text[start:end]` stands in the content."""
        for at in range(bisect_right(self.begins, start) - 1, len(self.places)):
            begin, (first, last) = self.begins[at], self.places[at]
            if begin >= end:
                return
            yield max(first, first + start - begin), min(last, first + end - begin)


def strands(content: bytes) -> Generator[None, None, list[Strand]]:
    """The texts that a stream brings in pieces."""
    found: dict[tuple[bytes, ...], Strand] = {}
    start = count = 0
    while start < len(content):
        end = content.find(b"\n", start)
        end = end if end >= 0 else len(content)
        if end - start <= _EVENT_BYTES_MAX:
            _event(content, start, end, found)
        start = end + 1
        count += 1
        if count % _STEP_EVENTS == 0:
            yield
    return list(found.values())


def find(content: bytes, known: Known) -> Generator[None, None, list[Span]]:
    """The secrets that stand in more than one piece."""
    found: list[Span] = []
    for strand in (yield from strands(content)):
        if len(strand.places) < 2:
            continue
        text = bytes(strand.text)
        for start, stop in texts.windows(len(text)):
            for span in (*texts.find(text, start, stop), *known.search(text, start, stop)):
                pieces = [(first, last) for first, last in strand.pieces(span.start, span.end) if last > first]
                if len(pieces) > 1:
                    found += _spread(span, pieces)
            yield
    return found


def unfinished(content: bytes, known: Known) -> int:
    """From where on the events of a stream that goes on may hold the beginning of a secret."""
    place = len(content)
    for strand in drained(strands(content)):
        tail = bytes(strand.text[-512:])
        size = max(known.begins(tail), begun(tail))
        if size:
            first, _ = next(strand.pieces(len(strand.text) - size, len(strand.text)))
            place = min(place, content.rfind(b"\n", 0, first) + 1)
    return place


def begun(tail: bytes) -> int:
    """How many of the last bytes of a text may be the beginning of a token of a known shape."""
    found = _BEGUN.search(tail)
    if found is None:
        return 0
    word = found[0]
    begins = any(each.startswith(word) or word.startswith(each) for each in _BEGINNINGS)
    return len(word) if begins or len(word) > 6 else 0


def _event(content: bytes, start: int, end: int, found: dict[tuple[bytes, ...], Strand]) -> None:
    event = content[start:end]
    if b'":' not in event:
        return
    indices = tuple(name + number for name, number in _INDEX.findall(event))
    at = 0
    while True:
        text = _TEXT.search(event, at)
        if text is None:
            return
        at = string_end(event, text.end(), 0)
        found.setdefault((text[1], *indices), Strand()).add(content, start + text.end(), start + at)


def _spread(span: Span, pieces: list[tuple[int, int]]) -> Iterator[Span]:
    for at, (start, end) in enumerate(pieces):
        yield Span(start, end, span.kind, span.secret, learn=span.learn, rest=at > 0)

"""Everything that a text may give away: tokens by their shape, values by their names, private keys, URLs.

Rules kept here:
- A window is small enough that no call holds up whoever waits for the interpreter; each is whole without its
  neighbours, since what begins in one may end in the next.
"""

import re
from collections.abc import Iterator

from store.core.redaction import addresses, runs, values
from store.core.redaction.spans import Span

WINDOW_BYTES = 16 * 1024
_OVER_BYTES = 64
_VALUES_MAX = 128
_ESCAPED_OFTEN = b"\\" * values.ESCAPES_NEAR
_KEY_BYTES_MAX = 64 * 1024

_KEY_BEGIN = re.compile(rb"-----BEGIN[ A-Z0-9_-]{0,64}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = b"-----END"
_KEY_REST = re.compile(rb"[A-Za-z0-9+/=\s\\:,.-]{0,65536}")


def windows(size: int) -> Iterator[tuple[int, int]]:
    """The windows of a content of this size, one after another."""
    for start in range(0, size, WINDOW_BYTES):
        yield start, min(size, start + WINDOW_BYTES)


def find(content: bytes, start: int, stop: int) -> Iterator[Span]:
    """The secrets that begin between `start` and `stop`."""
    yield from shaped(content, start, stop)
    yield from _named(content, start, stop)


def shaped(content: bytes, start: int, stop: int) -> Iterator[Span]:
    """Those that are known by their shape alone: what may be looked for in anything."""
    yield from runs.find(content, start, stop)
    yield from _private_keys(content, start, stop)


def _named(content: bytes, start: int, stop: int) -> Iterator[Span]:
    window = content[start : stop + _OVER_BYTES]
    lowered = window.lower()
    near = _before_values(lowered)
    for stem in values.STEMS:
        if (near is None or stem in near or stem.endswith(b" ")) and stem in lowered:
            for place in _places(lowered, stem, stop - start):
                span = values.after(content, start + place, stem)
                if span is not None:
                    yield span
    yield from _in_urls(content, window, start, stop, near)


def _before_values(lowered: bytes) -> bytes | None:
    """What stands shortly before each `:` and `=` of a window, and these: a name counts only there. None where those
    are so many that looking everywhere is no more work, or where a name may stand farther before them.
    """
    if lowered.count(b":") + lowered.count(b"=") > _VALUES_MAX or _ESCAPED_OFTEN in lowered:
        return None
    pieces: list[bytes] = []
    for sign in (b":", b"="):
        at = lowered.find(sign)
        while at >= 0:
            pieces.append(lowered[max(0, at - values.REACH_BYTES) : at + 1])
            at = lowered.find(sign, at + 1)
    return b"\0".join(pieces)


def _in_urls(content: bytes, window: bytes, start: int, stop: int, near: bytes | None) -> Iterator[Span]:
    for place in _places(window, b"://", stop - start) if b"/" in window else ():
        span = addresses.userinfo(content, start + place)
        if span is not None:
            yield span
    for hint in addresses.PATH_HINTS:
        for place in _places(window, hint, stop - start) if hint in window else ():
            yield from addresses.path_token(content, max(0, start + place - 8), start + place + 320)
    if b"?" not in window and b"&" not in window:
        return
    for hint in addresses.QUERY_HINTS:
        if near is None or hint.lower() in near:
            for place in _places(window, hint, stop - start):
                span = addresses.parameter(content, start + place)
                if span is not None:
                    yield span


def _private_keys(content: bytes, start: int, stop: int) -> Iterator[Span]:
    window = content[start : stop + _OVER_BYTES]
    for place in _places(window, b"-----BEGIN", stop - start) if b"-----BEGIN" in window else ():
        begin = _KEY_BEGIN.match(content, start + place)
        if begin is not None:
            end = content.find(_KEY_END, begin.end(), begin.end() + _KEY_BYTES_MAX)
            if end < 0:
                rest = _KEY_REST.match(content, begin.end())
                end = rest.end() if rest is not None else begin.end()
            yield Span(begin.end(), end, "private-key", content[begin.end() : end], learn=True)


def _places(window: bytes, word: bytes, size: int) -> Iterator[int]:
    at = window.find(word)
    while 0 <= at < size:
        yield at
        at = window.find(word, at + len(word))

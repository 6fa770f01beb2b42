"""Everything that a text may give away: tokens by their shape, values by their names, private keys, URLs.

Rules kept here:
- A window is small enough that no call holds up whoever waits for the interpreter; each is whole without its
  neighbours, since what begins in one may end in the next.
"""

import re
from collections.abc import Iterator, Sequence

from store.core.redaction import addresses, runs, stretches, values
from store.core.redaction.spans import Span
from store.core.redaction.stretches import Window

WINDOW_BYTES = 16 * 1024
_OVER_BYTES = 64
_URL_BYTES = len("://")
_QUERY_NAME_BYTES = max(map(len, addresses.QUERY_HINTS))
_VALUES_MAX = 128
_BEGIN_BYTES = 2048
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
    return within(stretches.window(content, start, stop))


def within(window: Window) -> Iterator[Span]:
    """The secrets that begin in a window."""
    yield from shaped(window)
    yield from values.schemed(window)
    yield from _named(window)


def shaped(window: Window) -> Iterator[Span]:
    """Those that are known by their shape alone: what may be looked for in anything."""
    yield from runs.find(window)
    yield from _private_keys(window.content, window.start, window.stop)


def _named(window: Window) -> Iterator[Span]:
    text = window.content[window.start : window.stop + _OVER_BYTES]
    near = _before_values(text)
    stems = values.STEMS if near is None else [stem for stem in values.STEMS if stem in near]
    lowered = text.lower() if stems else b""
    for stem in stems:
        for place in _places(lowered, stem, window.stop - window.start):
            span = values.after(window, window.start + place, stem)
            if span is not None:
                yield span
    yield from _in_urls(window.content, text, window.start, window.stop, near)


def _before_values(window: bytes) -> bytes | None:
    """What stands around each `:` and `=` of a window, in lower case: a name counts only before one, and a URL has one.
    None where those are so many that looking everywhere is no more work, or where a name may stand farther before them.
    """
    begin = window[:_BEGIN_BYTES]
    if begin.count(b":") + begin.count(b"=") > _VALUES_MAX * _BEGIN_BYTES // WINDOW_BYTES:
        return None
    if b"\\" in window and _ESCAPED_OFTEN in window:
        return None
    near = _before(window, (b":", b"="), values.REACH_BYTES, _URL_BYTES)
    return None if near is None else near.lower()


def _before(window: bytes, signs: Sequence[bytes], reach: int, over: int) -> bytes | None:
    """What stands around each of these signs, `reach` bytes before and `over` from it on; None where they are many."""
    pieces: list[bytes] = []
    for sign in signs:
        at = window.find(sign)
        while at >= 0:
            if len(pieces) > _VALUES_MAX:
                return None
            pieces.append(window[max(0, at - reach) : at + over])
            at = window.find(sign, at + 1)
    return b"\0".join(pieces)


def _in_urls(content: bytes, window: bytes, start: int, stop: int, near: bytes | None) -> Iterator[Span]:
    if b"/" in window:
        for place in _places(window, b"://", stop - start) if near is None or b"://" in near else ():
            span = addresses.userinfo(content, start + place)
            if span is not None:
                yield span
        for hint in addresses.PATH_HINTS:
            for place in _places(window, hint, stop - start):
                yield from addresses.path_token(content, max(0, start + place - 8), start + place + 320)
    if b"=" not in window or (b"?" not in window and b"&" not in window):
        return
    named = _before(window, (b"=",), _QUERY_NAME_BYTES, 1)
    for hint in addresses.QUERY_HINTS:
        if named is None or hint in named:
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

"""Sizes, durations, counts and foreign text as a person reads them."""

import re
from collections.abc import Mapping
from datetime import datetime

from store.core.words import noun

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_LINES = re.compile(r"[\t\n]")


def printable(text: str, *, one_line: bool = False) -> str:
    """`text` with its control characters spelled out: what was on the wire must not drive a terminal."""
    shown = _CONTROL.sub(_spelled, text)
    return _LINES.sub(_spelled, shown) if one_line else shown


def shown(raw: bytes, *, one_line: bool = True) -> str:
    """Bytes from the wire as text."""
    return printable(raw.decode("utf-8", "backslashreplace"), one_line=one_line)


def size(count: int) -> str:
    """`512 B`, `3.4 KB`, `12 MB`: bytes in powers of 1000."""
    if count < 1000:
        return f"{count} B"
    amount, units = count / 1000, iter(("KB", "MB", "GB", "TB"))
    unit = next(units)
    while amount >= 999.5 and unit != "TB":
        amount, unit = amount / 1000, next(units)
    return f"{amount:.1f} {unit}" if amount < 9.95 else f"{amount:.0f} {unit}"


def duration(microseconds: int) -> str:
    """`850 us`, `12 ms`, `3.4 s`, `2 min 5 s`, `1 h 2 min`."""
    if microseconds < 1000:
        return f"{microseconds} us"
    if microseconds < 999_500:
        return f"{microseconds / 1000:.0f} ms"
    seconds = microseconds / 1_000_000
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def count(number: int, one: str, many: str = "") -> str:
    """`1 exchange`, `12 exchanges`."""
    return f"{number:,} {noun(number, one, many)}"


def amounts(counted: Mapping[str, int]) -> str:
    """`12 input tokens, 1 output token`: what a model counted, under its own names, which are plurals."""
    words = ((name.replace("_", " "), number) for name, number in counted.items())
    return ", ".join(count(number, name.removesuffix("s"), name) for name, number in words)


def moment(stamp: str) -> str:
    """`2026-11-29 14:03:05Z` of an event's time."""
    return stamp.replace("T", " ")[:19] + "Z"


def microseconds_between(earlier: str, later: str) -> int:
    """How long after `earlier` `later` was; both are event times."""
    since = datetime.fromisoformat(later) - datetime.fromisoformat(earlier)
    return round(since.total_seconds() * 1_000_000)


def folded(text: str, width: int) -> str:
    """`text` cut in its middle to at most `width` characters."""
    if len(text) <= width:
        return text
    head = (width - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def _spelled(match: re.Match[str]) -> str:
    code = ord(match[0])
    return {9: "\\t", 10: "\\n", 13: "\\r"}.get(code, f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")

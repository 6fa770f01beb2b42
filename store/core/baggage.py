"""What the context of a distributed trace says: the members of W3C Baggage, and the ids of Trace Context."""

import re
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?")

RUN_HEADER = b"x-edgetape-run"
_BAGGAGE = b"baggage"
_TELLING = frozenset((RUN_HEADER, _BAGGAGE))


def member(baggage: str, key: str) -> str:
    """The value of a member, percent-decoded (W3C Baggage, section 3.3); empty where there is none."""
    for said in baggage.split(","):
        name, equals, value = said.partition(";")[0].partition("=")
        if equals and name.strip() == key:
            return unquote_to_bytes(value.strip().encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
    return ""


def run_named(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The run that a request says it belongs to: by our header, else by its baggage; empty where it says none."""
    telling = [(lower, value) for name, value in headers if (lower := name.lower()) in _TELLING]
    if not telling:
        return ""
    fields = [(name, value.decode("utf-8", "surrogateescape")) for name, value in telling]
    said = next((value.strip() for name, value in fields if name == RUN_HEADER), "")
    return said or member(",".join(value for name, value in fields if name == _BAGGAGE), "edgetape.run")


def trace(traceparent: str) -> tuple[str, str] | None:
    """Trace id and span id of a `traceparent` (W3C Trace Context, section 3.2); None where it is not one."""
    found = _TRACEPARENT.fullmatch(traceparent)
    return (found[1], found[2]) if found else None

"""The parts of a multipart body (RFC 2046, section 5.1), found by its boundary and free of it."""

import re
from dataclasses import dataclass

_BOUNDARY = re.compile(rb'boundary="?([^";,]+)"?', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Part:
    """One part: its headers (names in lower case) and its bytes."""

    headers: tuple[tuple[str, str], ...]
    body: bytes


def parts(body: bytes, content_type: bytes) -> list[Part] | None:
    """The parts in their order; None where the body does not keep the form that its media type promises."""
    found = _BOUNDARY.search(content_type)
    if found is None:
        return None
    delimiter = b"\r\n--" + found[1].strip()
    pieces = (b"\r\n" + body).split(delimiter)
    if len(pieces) < 2 or not pieces[-1].startswith(b"--"):
        return None
    read = [_part(piece) for piece in pieces[1:-1]]
    return None if None in read else [part for part in read if part is not None]


def _part(piece: bytes) -> Part | None:
    head, separator, body = piece.lstrip(b" \t").partition(b"\r\n\r\n")
    if not separator or not head.startswith(b"\r\n"):
        return None
    lines = head[2:].decode("utf-8", "surrogateescape").split("\r\n")
    pairs = [line.partition(":") for line in lines if line]
    return Part(tuple((name.strip().lower(), value.strip()) for name, _, value in pairs), body)

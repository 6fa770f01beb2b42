"""A body as a person can read it: content coding undone, JSON indented, events listed, binary as hex. Pure.

Rules kept here:
- Indenting moves nothing and changes no number: a member that stands twice is shown twice, 1.0 stays 1.0.
- Whatever was undone is said; what cannot be undone is said too, and shown as it is.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qsl

from proxy.words import printable, size
from store.core import coding
from store.core.errors import Malformed

UNPACKED_BYTES_MAX = 64 * 1024 * 1024
HEX_BYTES_MAX = 256

_PART = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+', re.DOTALL)
_LINE_END = re.compile(r"\r\n|\r|\n")
_CHARSET = re.compile(r"charset=\"?([\w.:-]+)", re.IGNORECASE)

type Kind = Literal["empty", "json", "events", "form", "text", "binary"]


@dataclass(frozen=True, slots=True)
class Readable:
    """`text` is for reading, of any number of lines; `note` says what had to be undone, or is empty."""

    kind: Kind
    text: str
    note: str = ""


def readable(body: bytes, media_type: str = "", content_coding: str = "") -> Readable:
    """How `body` reads; `media_type` and `content_coding` are the header fields' values."""
    if not body:
        return Readable("empty", "")
    content, note = undone(body, content_coding)
    text = _decoded(content, media_type)
    if text is None:
        return Readable("binary", _hex(content), note)
    kind, shown = _shaped(text, media_type.partition(";")[0].strip().lower())
    return Readable(kind, printable(shown.replace("\r\n", "\n")), note)


def undone(body: bytes, content_coding: str) -> tuple[bytes, str]:
    """The content behind a content coding, as far as it can be had, and a sentence about it."""
    if content_coding.strip().lower() in ("", "identity"):
        return body, ""
    try:
        content = coding.decode(body, content_coding, UNPACKED_BYTES_MAX)
    except Malformed as error:
        try:
            part = coding.decode(body, content_coding, UNPACKED_BYTES_MAX, partial=True)
        except Malformed:
            part = b""
        return part or body, f"{content_coding} could not be undone in full: {error}"
    return content, f"{content_coding} undone: {size(len(body))} became {size(len(content))}"


def _decoded(content: bytes, media_type: str) -> str | None:
    named = _CHARSET.search(media_type)
    try:
        text = content.decode(named[1] if named else "utf-8")
    except (UnicodeDecodeError, LookupError):
        return None
    # NUL never stands in text for people, and is the surest sign of the other kind.
    return None if "\0" in text else text


def _shaped(text: str, media_type: str) -> tuple[Kind, str]:
    if media_type == "text/event-stream":
        return "events", _events(text)
    if media_type == "application/x-www-form-urlencoded":
        return "form", "\n".join(f"{name} = {value}" for name, value in parse_qsl(text, keep_blank_values=True))
    if media_type.endswith("json") or text.lstrip()[:1] in ("{", "["):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return "text", text
        return "json", indented(text)
    return "text", text


def indented(text: str) -> str:
    """Valid JSON, a member or an item a line; \\u escapes in strings are undone."""
    out: list[str] = []
    depth = 0
    parts = list(_parts(text))
    for index, part in enumerate(parts):
        if part in ("{", "["):
            depth += 1
            out.append(part if parts[index + 1] in ("}", "]") else part + _break(depth))
        elif part in ("}", "]"):
            depth -= 1
            out.append(part if parts[index - 1] in ("{", "[") else _break(depth) + part)
        elif part == ",":
            out.append(part + _break(depth))
        else:
            out.append(": " if part == ":" else part)
    return "".join(out)


def _parts(text: str) -> Iterator[str]:
    for match in _PART.finditer(text):
        part = match[0]
        yield json.dumps(json.loads(part), ensure_ascii=False) if "\\u" in part else part


def _break(depth: int) -> str:
    return "\n" + "  " * depth


def _events(text: str) -> str:
    """Each event a block: its number, then its lines with the fields in front."""
    blocks: list[list[str]] = [[]]
    for line in _LINE_END.split(text):
        if line:
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    return "\n".join(f"[{number}] " + "\n    ".join(block) for number, block in enumerate(blocks, 1) if block)


def _hex(content: bytes) -> str:
    rows = []
    for start in range(0, min(len(content), HEX_BYTES_MAX), 16):
        row = content[start : start + 16]
        letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        rows.append(f"{start:08x}  {row.hex(' '):<47}  {letters}")
    if len(content) > HEX_BYTES_MAX:
        rows.append(f"... {size(len(content) - HEX_BYTES_MAX)} more")
    return "\n".join(rows)

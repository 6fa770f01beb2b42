"""The lines of a bundle's members: leaves, events, openings, annotations as NDJSON; pure.

docs/format.md, section 9.
"""

import base64
import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from store.core import canonical, digest
from store.core.annotation import Kept, Words
from store.core.errors import Malformed
from store.core.shape import Count, Run
from store.core.text import Hex32
from store.envelopes import Envelope

RUN_CHARS = 36
_HASH = re.compile(rb"[0-9a-f]{64}")


class OpeningLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An opening as a bundle spells it: which commitment it opens; `salt` is base64url without padding."""

    run: Run
    seq: Count
    pointer: str
    salt: str
    sha256: Hex32
    length: Count

    @property
    def salt_bytes(self) -> bytes:
        """The salt."""
        return salt_of(self.salt)


def salt_of(text: str) -> bytes:
    """What `spelled` spells. Raises ValueError."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def spelled(salt: bytes) -> str:
    """Base64url without padding (RFC 4648, section 5)."""
    return base64.urlsafe_b64encode(salt).decode().rstrip("=")


def opening(raw: bytes) -> OpeningLine:
    """The opening that a line spells. Raises Malformed."""
    try:
        line = msgspec.convert(canonical.parse(raw), OpeningLine)
        if spelled(line.salt_bytes) != line.salt or len(line.salt_bytes) != digest.SALT_BYTES:
            raise Malformed("not an opening: its salt is not 32 bytes in base64url")
    except (msgspec.ValidationError, ValueError) as error:
        raise Malformed(f"not an opening: {error}") from None
    return line


def annotation_line(kept: Kept) -> bytes:
    """An annotation as a bundle spells it, with its words if they are there. Raises Malformed for what is no record."""
    line: dict[str, canonical.Json] = {"annotation": canonical.parse(kept.raw)}
    if isinstance(kept.words, Words):
        line |= {"salt": spelled(kept.words.salt), "text": kept.words.text.decode("utf-8", "replace")}
    return canonical.encode(line)


def annotations(lines: Iterable[bytes], runs: Sequence[str]) -> dict[str, list[Kept]]:
    """The annotations of these lines by run, each where it says that it stands, else behind the one before it."""
    found: dict[str, list[Kept]] = {}
    run, number = runs[0] if runs else "", -1
    for raw in lines:
        kept = Kept(number + 1, raw, None)
        with contextlib.suppress(Malformed, ValueError):
            run, kept = _annotation(canonical.parse(raw))
        number = kept.number
        found.setdefault(run, []).append(kept)
    return found


def _annotation(line: canonical.Record) -> tuple[str, Kept]:
    match line:
        case {"annotation": dict() as record}:
            run, number = record.get("run"), record.get("number")
            if not isinstance(run, str) or not isinstance(number, int):
                raise Malformed("not an annotation: it does not say where it stands")
            words = None
            if line.keys() == {"annotation", "salt", "text"}:
                words = Words(salt_of(str(line["salt"])), str(line["text"]).encode())
                if len(words.salt) != digest.SALT_BYTES or spelled(words.salt) != line["salt"]:
                    raise Malformed("not an annotation: its salt is not 32 bytes in base64url")
            elif len(line) > 1:
                raise Malformed("not an annotation")
            return run, Kept(number, canonical.encode(record), words)
    raise Malformed("not an annotation")


def joined(lines: Iterable[bytes]) -> bytes:
    """One member of these lines, each with its line feed."""
    return b"".join(line + b"\n" for line in lines)


def split(member: bytes | memoryview) -> list[bytes]:
    """The lines of a member. Raises Malformed when the last one has no line feed."""
    *lines, rest = bytes(member).split(b"\n")
    if rest:
        raise Malformed("its last line has no line feed")
    return lines


def hashes(member: bytes | memoryview, count: int) -> list[bytes]:
    """The hash that is kept with each of `count` events. Raises Malformed for another number or form of lines."""
    lines = split(member)
    if len(lines) != count or not all(_HASH.fullmatch(line) for line in lines):
        raise Malformed("it has not one hash an event, a line each")
    return [bytes.fromhex(line.decode()) for line in lines]


def new_key(raw: bytes) -> str | None:
    """The vkey that a leaf brings into force, whether rightly or not: store.created and key.rotate do."""
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    match record:
        case {"v": 1, "type": "store.created", "vkey": str() as vkey}:
            return vkey
        case {"v": 1, "type": "key.rotate", "new": str() as vkey}:
            return vkey
    return None


def point(raw: bytes) -> int:
    """How many leaves the log had when the run of this first event began; 0 where it does not say."""
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError):
        return 0
    match record:
        case {"type": "run.open", "checkpoint": {"size": int() as size}}:
            return size
    return 0


def event_rows(lines: Sequence[bytes], kept: Sequence[bytes], runs: Sequence[str]) -> Iterator[Envelope]:
    """Each line with the place it takes: where it says that it stands, else behind the line before it."""
    run, seq = runs[0] if runs else "", -1
    for raw, hashed in zip(lines, kept, strict=True):
        said = _said(raw)
        run, seq = said if said is not None else (run, seq + 1)
        yield Envelope(run, seq, hashed, raw)


def _said(raw: bytes) -> tuple[str, int] | None:
    """Where a line says that it stands, read leniently: whether it is right is judged by what follows."""
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    match record:
        case {"run": str() as run, "seq": int() as seq} if not isinstance(seq, bool) and 0 <= seq < 1 << 53:
            return (run, seq) if run.isascii() and len(run) == RUN_CHARS else None
    return None

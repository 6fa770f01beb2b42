"""Section 8: events and openings of a closed run out of their blocks."""

import re
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

import zstandard

from tests.support.verifier.hashes import event_hash

LARGEST = 1 << 23
SOME = 512
BYTES = {1: 32, 2: 16, 3: 8}
PRIMER = (files("store.sealed") / "primer-1.txt").read_bytes()  # wherever the program lies; none of its code
PRIMERS = {b"\1": zstandard.ZstdCompressionDict(PRIMER, dict_type=zstandard.DICT_TYPE_RAWCONTENT)}


class SealedOpening(NamedTuple):
    seq: int
    pointer: str
    salt: bytes
    digest: bytes
    length: int
    place: int | None
    damaged: bool = False


class NoFormError(Exception):
    """Bytes that are no openings."""


def _checked(label: str, run: str, first: int, stored: bytes) -> bool:
    about = f"edgetape/{label}/v1\n{run}\n{first}\n".encode(errors="surrogateescape")
    return sha256(about + stored[4:]).digest()[:4] == stored[:4]


def _content(frame: bytes) -> bytes | None:
    """Unpack one zstd frame, with a primer if one is named before it, to the very length that it states."""
    primer, content = PRIMERS.get(frame[:1]), b""
    frame = frame[1:] if primer else frame
    unpacker = zstandard.ZstdDecompressor(dict_data=primer, max_window_size=LARGEST).decompressobj()
    try:
        length = zstandard.frame_content_size(frame)
        if not 0 <= length <= LARGEST:
            return None
        for at in range(0, len(frame), SOME):
            content += unpacker.decompress(frame[at : at + SOME])
            if len(content) > length:
                return None
    except zstandard.ZstdError:
        return None
    return content if unpacker.eof and not unpacker.unused_data and len(content) == length else None


def _with_digits(content: bytes, digits: bytes) -> tuple[bytes, bool]:
    """Put hex digits in the place of marks; and say whether there were as many as marks."""
    marks = [match.start() for match in re.finditer(rb"[\1\2\3]", content)]
    wanted = sum(BYTES[content[at]] for at in marks)
    out, done, used = bytearray(), 0, 0
    for at in marks:
        size = BYTES[content[at]]
        if used + size > len(digits):
            break
        out += content[done:at] + digits[used : used + size].hex().encode()
        done, used = at + 1, used + size
    return bytes(out) + content[done:], wanted == len(digits)


def events_of(run: str, first: int, hashes: bytes, digits: bytes, text: bytes) -> list[tuple[int, bytes, bytes, bool]]:
    """Give the events of a block: seq, kept hash, bytes, and whether it is to be V201 for its block's sake."""
    count = len(hashes) // 32
    if not count:
        return [(first, hashes, b"", True)]
    sound, content = _checked("events", run, first, text), _content(text[4:])
    lines, fits = _with_digits(content or b"", digits)
    texts = lines.split(b"\n")
    damaged = not (sound and content is not None and fits and len(texts) == count + 1 and texts[-1] == b"")
    damaged = damaged or len(hashes) % 32 != 0
    found: list[tuple[int, bytes, bytes, bool]] = []
    kept_before = real_before = b""
    for index in range(count):
        kept = hashes[32 * index : 32 * index + 32]
        line = texts[index] if index < len(texts) else b""
        event = line.replace(b"\0", kept_before.hex().encode())
        other = line.replace(b"\0", real_before.hex().encode())
        if event_hash(event) != kept and event_hash(other) == kept:
            event = other
        found.append((first + index, kept, event, False))
        kept_before, real_before = kept, event_hash(event)
    if damaged and all(event_hash(event) == kept for _, kept, event, _ in found):
        found[0] = (*found[0][:3], True)
    return found


class _Numbers:
    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.bytes(1)[0]
            value |= (byte & 127) << shift
            if byte < 128:
                break
            shift += 7
        if (byte == 0 and shift) or shift >= 63:
            raise NoFormError
        return value

    def bytes(self, count: int) -> bytes:
        if self.at + count > len(self.content):
            raise NoFormError
        self.at += count
        return self.content[self.at - count : self.at]


def _openings(first: int, digests: bytes, numbers: _Numbers) -> list[SealedOpening]:
    count = len(digests) // 32
    if len(digests) % 32 or not count:
        raise NoFormError
    pointers = [numbers.bytes(numbers.number()).decode(errors="surrogateescape") for _ in range(numbers.number())]
    steps, which, lengths, moves = ([numbers.number() for _ in range(count)] for _ in range(4))
    salts = [numbers.bytes(numbers.number()) for _ in range(count)]
    if any(index >= len(pointers) for index in which):
        raise NoFormError
    found: list[SealedOpening] = []
    seq, place = first, 0
    for at in range(count):
        seq += steps[at]
        if moves[at]:
            folded = moves[at] - 1
            place += -(folded + 1) // 2 if folded % 2 else folded // 2
        here = place if moves[at] else None
        digest = digests[32 * at : 32 * at + 32]
        found.append(SealedOpening(seq, pointers[which[at]], salts[at], digest, lengths[at], here))
    return found


def openings_of(run: str, first: int, digests: bytes, rows: bytes) -> list[SealedOpening]:
    """Give the openings of a block; of one that is damaged, the first says so."""
    sound, numbers = _checked("openings", run, first, rows), _Numbers(_content(rows[4:]) or b"")
    try:
        found = _openings(first, digests, numbers)
    except NoFormError:
        return [SealedOpening(first, "", b"", b"", -1, None, damaged=True)]
    if not sound or numbers.at != len(numbers.content):
        found[0] = found[0]._replace(damaged=True)
    return found

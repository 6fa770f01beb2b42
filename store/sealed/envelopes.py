"""The events of a closed run in blocks: each comes back byte by byte, and is named when it does not (pure).

A block is three columns:

    hashes    the event_hash of each of its events, 32 bytes each
    text      a frame (frame.py): the events one after another, a line feed behind each. In an event, 0x00 stands where
              the hash of the event before it was (`prev`, as hex digits); other hex digits are marks (digits.py)
    digits    the bytes of those hex digits

Rules kept here:
- A block stands for itself: the first event of a block keeps its `prev`.
- It is read in bounded time: it has at most 512 events, and 512 KiB of text unless one event has more.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from store.core.digest import HASH_BYTES, event_hash
from store.core.errors import Malformed
from store.sealed import digits, frame, primer

EVENTS_MAX = 512
TEXT_BYTES_MAX = 1 << 19
_LABEL = b"edgetape/events/v1\n"
_PREVIOUS, _END = b"\x00", b"\n"


@dataclass(frozen=True, slots=True)
class EventBlock:
    """The events of a run from the seq `first` on, as they are stored."""

    run: str
    first: int
    hashes: bytes
    digits: bytes
    text: bytes

    @property
    def count(self) -> int:
        """How many events it holds, by its table of hashes."""
        return len(self.hashes) // HASH_BYTES

    def hash_at(self, index: int) -> bytes:
        """The hash kept with one of its events."""
        return self.hashes[index * HASH_BYTES :][:HASH_BYTES]

    @property
    def _place(self) -> bytes:
        return _LABEL + f"{self.run}\n{self.first}\n".encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Envelope:
    """One stored event: where it says it stands, the hash kept with it (32 bytes), its canonical bytes.

    `damage` says what is wrong with the block that it stands in, where that changes none of its events; `hashed` is
    the hash that its bytes give, where that was worked out.
    """

    run: str
    seq: int
    hash: bytes
    raw: bytes
    damage: str = ""
    hashed: bytes = field(default=b"", compare=False)


def pack(run: str, first: int, kept: Sequence[tuple[bytes, bytes]]) -> EventBlock:
    """Events from `first` on, each with the hash kept with it, as one block: at most as many as `fitting` says.

    Raises Malformed when they would not come back as they are.
    """
    texts: list[bytes] = []
    columns: list[bytes] = []
    before = b""
    for at, (hashed, raw) in enumerate(kept):
        if _PREVIOUS in raw or _END in raw:
            raise Malformed(f"event {first + at} has control characters in it")
        text, column = digits.taken(raw.replace(before, _PREVIOUS) if at else raw)
        texts += text, _END
        columns.append(column)
        before = hashed.hex().encode()
    made = EventBlock(run, first, b"".join(hashed for hashed, _ in kept), b"".join(columns), b"")
    made = replace(made, text=frame.pack(b"".join(texts), made._place, primer.NEWEST))
    if [(each.hash, each.raw) for each in restored(made)] != list(kept):
        raise Malformed(f"the events of run {run} from {first} on would not come back")
    return made


def fitting(lengths: Iterable[int]) -> int:
    """How many events of these lengths in bytes go into one block."""
    count = text_bytes = 0
    for length in lengths:
        text_bytes += length
        if count == EVENTS_MAX or (count and text_bytes > TEXT_BYTES_MAX):
            break
        count += 1
    return count


def restored(block: EventBlock) -> list[Envelope]:
    """The events of a block; one that cannot be read any more is there with what is left of it.

    A block without an event is one that cannot be read.
    """
    if not block.count:
        return [Envelope(block.run, block.first, block.hashes, b"", "its block has no event")]
    content, damage = frame.unpack(block.text, block._place)
    if digits.column_bytes(content) != len(block.digits):
        damage = damage or "its block has fewer or more digits than places for them"
    lines = digits.put_back(content, block.digits).split(_END)
    if len(lines) != block.count + 1 or lines[-1] or len(block.hashes) % HASH_BYTES:
        damage = damage or "its block has fewer or more events than hashes"
    lines = [*lines[: block.count], *[b""] * (block.count - len(lines))]
    found = _sound(block, lines) or _doubted(block, lines)
    if damage and all(each.hashed == each.hash for each in found):
        found[0] = replace(found[0], damage=damage)
    return found


def _sound(block: EventBlock, lines: Sequence[bytes]) -> list[Envelope]:
    """The events of a block in which each gives the hash that is kept with it, and nothing of another block."""
    spelled = block.hashes.hex().encode()
    previous = [b"", *(spelled[at : at + 2 * HASH_BYTES] for at in range(0, len(spelled), 2 * HASH_BYTES))]
    raws = [line.replace(_PREVIOUS, before) for line, before in zip(lines, previous, strict=False)]
    hashes = list(map(event_hash, raws))
    if b"".join(hashes) != block.hashes:
        return []
    return [
        Envelope(block.run, seq, hashed, raw, hashed=hashed)
        for seq, hashed, raw in zip(count(block.first), hashes, raws, strict=False)
    ]


def _doubted(block: EventBlock, lines: Sequence[bytes]) -> list[Envelope]:
    """The same of a block of which some event does not."""
    found: list[Envelope] = []
    before: list[bytes] = []  # the hash kept with the event before, and the one that it really gives if that is another
    for seq, line in enumerate(lines, start=block.first):
        kept = block.hash_at(seq - block.first)
        raw, hashed = _linked(line, before, kept)
        found.append(Envelope(block.run, seq, kept, raw, hashed=hashed))
        before = [kept] if hashed == kept else [kept, hashed]
    return found


def event(block: EventBlock, seq: int) -> bytes:
    """One event of a block that it has by its table, as `restored` gives it where nothing is damaged."""
    line, (begin, end) = _line(block, seq)
    text = digits.put_back(line, block.digits[begin:end])
    index = seq - block.first
    return text.replace(_PREVIOUS, block.hash_at(index - 1).hex().encode()) if index else text


def digits_of(block: EventBlock, seq: int) -> tuple[int, int]:
    """Where the digits of one event begin and end in their column."""
    return _line(block, seq)[1]


def _line(block: EventBlock, seq: int) -> tuple[bytes, tuple[int, int]]:
    content, _ = frame.unpack(block.text, block._place)
    index = seq - block.first
    lines = content.split(_END, index + 1)
    if index >= len(lines) - 1:
        return b"", (0, 0)
    begin = digits.column_bytes(_END.join(lines[:index]))
    return lines[index], (begin, begin + digits.column_bytes(lines[index]))


def _linked(line: bytes, before: Sequence[bytes], kept: bytes) -> tuple[bytes, bytes]:
    """An event and its hash: linked to the hash kept with the event before it, or to what that one really gives, should
    only then its own hash fit. So one damaged event, or one damaged hash, spoils no other event.
    """
    first = raw = line.replace(_PREVIOUS, before[0].hex().encode() if before else b"")
    hashed = event_hash(raw)
    if hashed == kept or len(before) < 2:
        return raw, hashed
    raw = line.replace(_PREVIOUS, before[1].hex().encode())
    return (raw, kept) if event_hash(raw) == kept else (first, hashed)

"""The openings of a closed run in blocks, with the places of the bodies (pure).

A block is two columns:

    digests   the stored digest of each opening, 32 bytes each
    rows      a frame (frame.py) of what else there is of them, in order of seq and pointer, all numbers varints:
                the count of different pointers, then each: its length, and its UTF-8 bytes;
                of each opening its seq, less that of the one before it (of the first: less the block's);
                of each which of the pointers it has; of each the length of the body;
                of each 0 where nothing is stored, else 1 + folded(place - the place before it, 0 before the first);
                of each the length of its salt, and the salt; no bytes where it is derived

All openings of one event stand in one block.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

import msgspec

from store.core.digest import HASH_BYTES
from store.core.errors import Malformed
from store.sealed import frame
from store.splices import varint

OPENINGS_MAX = 128
_LABEL = b"edgetape/openings/v1\n"


class Row(msgspec.Struct, frozen=True):
    """One opening as it is stored: of which event, where in it, where in the run's log its body stands; `place` is None
    when nothing is stored. `damage` says what is wrong with its block, where that changes none of its openings.
    """

    seq: int
    pointer: str
    salt: bytes
    sha256: bytes
    length: int
    place: int | None
    damage: str = ""


@dataclass(frozen=True, slots=True)
class OpeningBlock:
    """The openings of a run from those of the event `first` on, as they are stored."""

    run: str
    first: int
    digests: bytes
    rows: bytes

    @property
    def _place(self) -> bytes:
        return _LABEL + f"{self.run}\n{self.first}\n".encode("utf-8", "surrogateescape")


def packed(run: str, rows: Iterable[Row]) -> Iterator[OpeningBlock]:
    """Openings of a run, in order of seq, in blocks. Raises Malformed for one that would not come back."""
    group: list[Row] = []
    for _, of_event in groupby(rows, key=attrgetter("seq")):
        if len(group) >= OPENINGS_MAX:
            yield pack(run, group)
            group = []
        group += of_event
    if group:
        yield pack(run, group)


def pack(run: str, rows: Sequence[Row]) -> OpeningBlock:
    """These openings, in order of seq and pointer, as one block. Raises Malformed when they would not come back."""
    made = OpeningBlock(run, rows[0].seq, b"".join(row.sha256 for row in rows), b"")
    made = replace(made, rows=frame.pack(_encoded(made.first, rows), made._place))
    if restored(made) != [msgspec.structs.replace(row, damage="") for row in rows]:
        raise Malformed(f"the openings of run {run} from event {made.first} on would not come back")
    return made


def restored(block: OpeningBlock) -> list[Row]:
    """The openings of a block, in order of seq and pointer.

    Of one that cannot be read there is a single row, which opens nothing.
    """
    content, damage = frame.unpack(block.rows, block._place)
    try:
        rows, end = _decoded(content, block)
        if not rows:
            raise Malformed("its block has no opening")
    except Malformed:
        return [Row(block.first, "", b"", b"", -1, None, damage or "its block cannot be read")]
    if end != len(content):
        damage = damage or "its block holds more than its openings"
    if damage and rows:
        rows[0] = msgspec.structs.replace(rows[0], damage=damage)
    return rows


def _encoded(first: int, rows: Sequence[Row]) -> bytes:
    out = bytearray()
    pointers = list(dict.fromkeys(row.pointer for row in rows))
    varint.put(out, len(pointers))
    for pointer in pointers:
        spelled = pointer.encode("utf-8", "surrogateescape")
        varint.put(out, len(spelled))
        out += spelled
    seq, place = first, 0
    for row in rows:
        varint.put(out, _counted(row.seq - seq))
        seq = row.seq
    for row in rows:
        varint.put(out, pointers.index(row.pointer))
    for row in rows:
        varint.put(out, _counted(row.length))
    for row in rows:
        varint.put(out, 0 if row.place is None else 1 + varint.folded(row.place - place))
        place = place if row.place is None else row.place
    for row in rows:
        varint.put(out, len(row.salt))
        out += row.salt
    return bytes(out)


def _counted(number: int) -> int:
    if not 0 <= number < 1 << varint.BITS_MAX:
        raise Malformed("an opening has a number that is none")
    return number


def _decoded(content: bytes, block: OpeningBlock) -> tuple[list[Row], int]:
    count = len(block.digests) // HASH_BYTES
    if len(block.digests) % HASH_BYTES:
        raise Malformed("a digest is cut off")
    pointers, at = _texts(content)
    columns: list[list[int]] = []
    for _ in range(4):
        column, at = _numbers(content, at, count)
        columns.append(column)
    rows: list[Row] = []
    seq, place = block.first, 0
    for index, (step, which, length, moved) in enumerate(zip(*columns, strict=True)):
        seq += step
        place += varint.unfolded(moved - 1) if moved else 0
        salt, at = _bytes(content, at)
        if which >= len(pointers):
            raise Malformed("an opening has a pointer that is not there")
        digest = block.digests[index * HASH_BYTES :][:HASH_BYTES]
        rows.append(Row(seq, pointers[which], salt, digest, length, place if moved else None))
    return rows, at


def _texts(content: bytes) -> tuple[list[str], int]:
    count, at = varint.take(content, 0)
    texts: list[str] = []
    for _ in range(count):
        spelled, at = _bytes(content, at)
        texts.append(spelled.decode("utf-8", "surrogateescape"))
    return texts, at


def _numbers(content: bytes, at: int, count: int) -> tuple[list[int], int]:
    short = content[at : at + count]
    if len(short) == count and max(short, default=0) < 0x80:  # most columns are such: each number is its byte
        return list(short), at + count
    numbers: list[int] = []
    for _ in range(count):
        number, at = varint.take(content, at)
        numbers.append(number)
    return numbers, at


def _bytes(content: bytes, at: int) -> tuple[bytes, int]:
    length, at = varint.take(content, at)
    if at + length > len(content):
        raise Malformed("a text is cut off")
    return content[at : at + length], at + length

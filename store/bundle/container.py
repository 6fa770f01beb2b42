"""The one ZIP form of a bundle: which bytes a list of members becomes, and back; pure (APPNOTE.TXT 6.3, section 4.3).

Rules kept here:
- Every member is stored, never compressed: no bomb can be built, and the bytes depend on no version of zlib.
- Times, attributes and versions are fixed; no comments, no extra fields, no directory entries, no ZIP64.
- A file is a bundle only if it is, byte for byte, what `pack` makes of its members: nothing hides in it.
"""

import re
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from store.core.errors import EdgetapeError, Malformed
from store.labels.describe import plural

type Buffer = bytes | memoryview

MEMBERS_MAX = 65_534
FILE_BYTES_MAX = (1 << 32) - 2
NAME = re.compile(r"[A-Za-z][A-Za-z0-9.]*(?:/[a-z0-9][a-z0-9.-]*)?", re.ASCII)

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_LOCAL_MARK, _CENTRAL_MARK, _END_MARK = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_BEGINNINGS = (_LOCAL_MARK, _END_MARK)  # the latter of an empty one
_VERSION, _MADE_BY_UNIX = 20, 3 << 8 | 20
_FIRST_OF_1980 = 1 << 5 | 1
_PLAIN_FILE = 0o100644 << 16


@dataclass(frozen=True, slots=True)
class Member:
    """A member that is to be packed: its length in bytes is known before its content is loaded."""

    name: str
    length: int
    load: Callable[[], bytes]

    @classmethod
    def of(cls, name: str, content: bytes) -> "Member":
        """A member that is at hand."""
        return cls(name, len(content), lambda: content)


class Unsafe(Malformed):
    """A container with anything in it that `pack` would not have written (V105)."""


class TooMuch(Malformed):
    """A container above the limits of the format (V106)."""


class TooLargeToPack(EdgetapeError):
    """More members or bytes than one bundle holds."""


def pack(members: Sequence[Member]) -> Iterator[bytes]:
    """The file's bytes, piece by piece, of members in this order. Raises TooLargeToPack before the first piece."""
    total = sum(each.length + 2 * len(each.name) + _LOCAL.size + _CENTRAL.size for each in members)
    if len(members) > MEMBERS_MAX or total + _END.size > FILE_BYTES_MAX:
        raise TooLargeToPack(
            f"{plural(len(members), 'member')} of {total} bytes together are more than one bundle holds",
            hint="export fewer runs at once, or --without-bodies (65,534 members, 4 GiB)",
        )
    return _pieces(members)


def _pieces(members: Sequence[Member]) -> Iterator[bytes]:
    places: list[tuple[str, int, int, int]] = []
    offset = 0
    for each in members:
        content = each.load()
        checksum = zlib.crc32(content)
        header = _local(each.name, checksum, len(content))
        places.append((each.name, checksum, len(content), offset))
        offset += len(header) + len(content)
        yield header
        yield content
    yield _directory(places, offset)


def unpack(file: Buffer) -> Iterator[tuple[str, memoryview]]:
    """The members of a bundle, in their order; each is a view into `file`.

    Raises Unsafe or TooMuch, at the latest behind the last one: nothing may be believed before.
    """
    view = memoryview(file)
    if bytes(view[:4]) not in _BEGINNINGS:
        raise Unsafe("this is no ZIP file")
    if len(view) > FILE_BYTES_MAX:
        raise TooMuch(f"the file has {len(view)} bytes, the limit is 4 GiB")
    places: list[tuple[str, int, int, int]] = []
    seen: set[str] = set()
    at = 0
    while bytes(view[at : at + 4]) == _LOCAL_MARK:
        if len(places) >= MEMBERS_MAX:
            raise TooMuch(f"more than {MEMBERS_MAX} members")
        name, checksum, start, end = _member(view, at)
        if name in seen:
            raise Unsafe(f"the member {name} occurs twice")
        seen.add(name)
        places.append((name, checksum, end - start, at))
        yield name, view[start:end]
        at = end
    if view[at:] != _directory(places, at):
        raise Unsafe(f"at byte {at} stands another directory than these {len(places)} members have, or more behind it")


def _member(view: memoryview, at: int) -> tuple[str, int, int, int]:
    """Name, checksum, start and end of the member whose header stands at `at`."""
    raw = view[at : at + _LOCAL.size]
    if len(raw) < _LOCAL.size:
        raise Unsafe(f"the file ends inside the header at byte {at}")
    checksum, length, name_bytes = (_LOCAL.unpack(raw)[number] for number in (6, 8, 9))
    start = at + _LOCAL.size + name_bytes
    name = checked_name(bytes(view[at + _LOCAL.size : start]).decode("latin-1"))
    if bytes(view[at:start]) != _local(name, checksum, length):
        raise Unsafe(f"the header of {name} is not that of a stored member without extras")
    end = start + length
    if end > len(view):
        raise Unsafe(f"the member {name} ends beyond the file")
    if zlib.crc32(view[start:end]) != checksum:
        raise Unsafe(f"the member {name} has another checksum than its header says")
    return name, checksum, start, end


def checked_name(name: str) -> str:
    """The name itself. Raises Unsafe for one that no bundle has: absolute, with `..`, with a backslash and so on."""
    if not NAME.fullmatch(name) or ".." in name:
        raise Unsafe(f"{name[:80]!r} is no name of a member")
    return name


def _local(name: str, checksum: int, length: int) -> bytes:
    sizes = (checksum, length, length)
    return _LOCAL.pack(_LOCAL_MARK, _VERSION, 0, 0, 0, _FIRST_OF_1980, *sizes, len(name), 0) + name.encode("latin-1")


def _directory(places: Sequence[tuple[str, int, int, int]], offset: int) -> bytes:
    records = b"".join(
        _CENTRAL.pack(
            _CENTRAL_MARK, _MADE_BY_UNIX, _VERSION, 0, 0, 0, _FIRST_OF_1980, checksum, length, length,
            len(name), 0, 0, 0, 0, _PLAIN_FILE, start,
        ) + name.encode("latin-1")
        for name, checksum, length, start in places
    )  # fmt: skip
    return records + _END.pack(_END_MARK, 0, 0, len(places), len(places), len(records), offset, 0)

"""Undoes the content codings of a body that comes in pieces, as `coding` does for one that is whole."""

import zlib
from collections.abc import Generator, Iterable, Sequence

import brotli  # type: ignore[import-untyped, unused-ignore]  # ships no types
import zstandard

from store.core.coding import MEMBERS, Member, codings
from store.core.errors import Malformed

STEP_BYTES = 8 * 1024
CUT_OFF = "cut off"


class Unpacker:
    """All codings of one body. `limit` is in bytes and holds for each coding."""

    def __init__(self, content_encoding: str, limit: int) -> None:
        """Raises Malformed for a coding that we do not know."""
        self._stages = [_Stage(name, limit) for name in codings(content_encoding)]

    @property
    def whole(self) -> bool:
        """Whether nothing is missing: what came ends where the coding ends."""
        return all(stage.whole for stage in self._stages)

    def take(self, raw: bytes) -> bytes:
        """The content of the next bytes. Raises Malformed."""
        for stage in self._stages:
            raw = stage.take(raw)
        return raw


class _Stage:
    def __init__(self, name: str, limit: int) -> None:
        self._name = name
        self._start, self._members_left = MEMBERS[name]
        self._room = limit
        self._member: Member | None = None
        self._waiting = b""

    @property
    def whole(self) -> bool:
        return self._member is None and not self._waiting

    def take(self, raw: bytes) -> bytes:
        try:
            return b"".join(self._taken(raw))
        except (zlib.error, brotli.error, zstandard.ZstdError) as error:
            raise Malformed(f"malformed {self._name} body: {error}") from error

    def _taken(self, raw: bytes) -> Generator[bytes]:
        body, self._waiting = self._waiting + raw, b""
        at = 0
        while at < len(body):
            if self._member is None:
                if len(body) - at < 2:
                    self._waiting = body[at:]  # the first two bytes tell the dialects of deflate apart
                    return
                self._members_left -= 1
                if self._members_left < 0:
                    raise Malformed(f"malformed {self._name} body: bytes after its end, or too many members")
                self._member = self._start(body[at : at + 2])
            step = body[at : at + self._member.step_bytes]
            for piece in self._member.take(step):
                self._room -= len(piece)
                if self._room < 0:
                    raise Malformed(f"oversize {self._name} body: it unpacks to more than its limit")
                yield piece
            at += len(step) - self._member.left
            if self._member.ended:
                self._member = None


def lengths(body: Iterable[bytes], content_encoding: str, cuts: Sequence[int], limit: int) -> list[int]:
    """How much of the content there is when `body`, as it is read, has come up to each of `cuts` (ascending).

    Raises Malformed.
    """
    unpacker, found, at, size = Unpacker(content_encoding, limit), list[int](), 0, 0
    for piece in body:
        begin, at = at, at + len(piece)
        while begin < at and len(found) < len(cuts):
            step = min(at, cuts[len(found)], begin + STEP_BYTES)
            size += len(unpacker.take(piece[len(piece) - (at - begin) : len(piece) - (at - step)]))
            begin = step
            if begin == cuts[len(found)]:
                found.append(size)
    return found + [size] * (len(cuts) - len(found))


def steps(body: bytes, content_encoding: str, limit: int) -> Generator[None, None, tuple[bytes, str]]:
    """What can be read of `body`, a step at a time, and why that is not all: "" when it is, CUT_OFF, or a sentence."""
    content: list[bytes] = []
    try:
        unpacker = Unpacker(content_encoding, limit)
        for start in range(0, len(body), STEP_BYTES):
            content.append(unpacker.take(body[start : start + STEP_BYTES]))
            yield
    except Malformed as error:
        return b"".join(content), str(error)
    return b"".join(content), "" if unpacker.whole else CUT_OFF

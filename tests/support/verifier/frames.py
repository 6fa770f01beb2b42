"""RFC 8878: reads what a zstd frame declares, finds where it ends, and hashes its content."""

import io
from dataclasses import dataclass
from hashlib import sha256

import zstandard

MAGIC = b"\x28\xb5\x2f\xfd"
RESERVED = 0x08
PIECE = 65_536
LARGEST_WINDOW = 1 << 31


@dataclass(frozen=True)
class Frame:
    """A frame by its header: the bytes it stands in, the length it declares, and where its blocks begin."""

    data: bytes
    declared: int | None
    blocks: int
    checksum: bool

    @staticmethod
    def read(data: bytes) -> "Frame | None":
        """Read a frame's header; none when there is no whole one."""
        if data[:4] != MAGIC or len(data) < 5 or data[4] & RESERVED:
            return None
        descriptor = data[4]
        single, checksum = descriptor >> 5 & 1, bool(descriptor >> 2 & 1)
        width = (single, 2, 4, 8)[descriptor >> 6]
        at = 5 + (1 - single) + (0, 1, 2, 4)[descriptor & 3]
        if len(data) < at + width:
            return None
        declared = int.from_bytes(data[at : at + width], "little") + (256 if width == 2 else 0)
        return Frame(data, declared if width else None, at + width, checksum)

    def end(self) -> int | None:
        """Find the frame's end by the headers of its blocks; none when the bytes end before it."""
        at, last = self.blocks, False
        while not last:
            if len(self.data) < at + 3:
                return None
            header = int.from_bytes(self.data[at : at + 3], "little")
            last = bool(header & 1)
            at += 3 + (1 if header >> 1 & 3 == 1 else header >> 3)
        at += 4 if self.checksum else 0
        return at if at <= len(self.data) else None

    def content_digest(self) -> bytes | None:
        """Give the SHA-256 of the content; none when it cannot be read or has another length than declared."""
        digest, length = sha256(), 0
        unpacker = zstandard.ZstdDecompressor(max_window_size=LARGEST_WINDOW)
        try:
            with unpacker.stream_reader(io.BytesIO(self.data[: self.end()])) as reader:
                while piece := reader.read(PIECE):
                    digest.update(piece)
                    length += len(piece)
                    if self.declared is None or length > self.declared:
                        return None
        except zstandard.ZstdError:
            return None
        return digest.digest() if length == self.declared else None

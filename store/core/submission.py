"""A checkpoint with the proof that it extends an older one: what a witness is sent (C2SP tlog-witness); pure."""

import base64
import re
from dataclasses import dataclass

from store.core.errors import Malformed

_HASHES_MAX = 63
_OLD = re.compile(r"old (0|[1-9][0-9]{0,18})")


@dataclass(frozen=True, slots=True)
class Submission:
    """That the log of the signed checkpoint `note` only adds to its first `old` leaves: the proof (RFC 6962, 2.1.2)."""

    old: int
    path: tuple[bytes, ...]
    note: bytes

    @property
    def text(self) -> bytes:
        """The body of an `add-checkpoint` request."""
        lines = [f"old {self.old}", *(base64.b64encode(each).decode() for each in self.path), "", ""]
        return "\n".join(lines).encode() + self.note

    @classmethod
    def parse(cls, raw: bytes) -> "Submission":
        """Raises Malformed for anything but what `text` gives. The note is not looked at."""
        head, separator, note = raw.partition(b"\n\n")
        first, *lines = head.decode("latin-1").split("\n")
        old = _OLD.fullmatch(first)
        try:
            path = tuple(base64.b64decode(line) for line in lines)
        except ValueError:
            raise Malformed("malformed consistency proof: not base64") from None
        if old is None or not separator or len(path) > _HASHES_MAX or any(len(each) != 32 for each in path):
            raise Malformed("malformed consistency proof: no old size, or hashes that are not 32 bytes each")
        made = cls(int(old[1]), path, note)
        if made.text != raw:
            raise Malformed("malformed consistency proof: another spelling than the canonical one")
        return made

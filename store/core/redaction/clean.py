"""Which windows held no secret: each request repeats the conversation so far, which is looked through once.

Rules kept here:
- A window is told by all bytes that a rule may have looked at. One whose rules looked farther is always looked through.
- Of what is known, a window is clean of what was known then: of what was learned later it may hold some.
- Nothing of a window is kept but a hash of 64 bits, which is keyed anew in each process.
"""

import re

from store.core.redaction.stretches import OVER_BYTES, Window

WINDOWS_MAX = 1024  # of 16 KiB
_AROUND_BYTES = 640  # what tells chance looks so far around a token, names and blanks less far
SEEN_BYTES = OVER_BYTES + _AROUND_BYTES  # of what begins at the end of a window, so much is seen
# No token, no part of a URL, goes on behind one of these.
_END = re.compile(rb"[\s\"]")

type Key = int


class Clean:
    """Remembers the windows of one run that it saw last."""

    def __init__(self) -> None:
        self._versions: dict[Key, int] = {}

    def version(self, key: Key) -> int | None:
        """The version of what was known when a window was clean; None for one that was not, or is not remembered."""
        return self._versions.get(key)

    def note(self, key: Key, window: Window, version: int) -> None:
        """Remembers a window in which nothing was found, where that is sure."""
        if _is_closed(window):
            if len(self._versions) >= WINDOWS_MAX:
                del self._versions[next(iter(self._versions))]
            self._versions[key] = version


def key(content: bytes, start: int, stop: int) -> Key:
    """What tells a window from all others."""
    before = min(start, _AROUND_BYTES)
    return hash((stop - start, before, content[start - before : stop + SEEN_BYTES]))


def _is_closed(window: Window) -> bool:
    """Whether no rule has looked farther than `key` does."""
    content, most = window.content, window.stop + OVER_BYTES
    ends = len(content) <= most or _END.search(content, most - OVER_BYTES // 2, most) is not None
    return ends and window.reach <= most

"""A body that comes in pieces, redacted as it comes: what may be the beginning of a secret waits for what follows.

What is held back is no more than that; it is lost when the recorder dies, and never stored. The outcome of an exchange
does not depend on this: it is redacted as a whole.
"""

from store.core import unpacking
from store.core.errors import Malformed
from store.core.redaction import bodies, deltas
from store.core.redaction.bodies import Content
from store.core.redaction.known import Known
from store.core.redaction.marks import Redacted, stored
from store.core.redaction.spans import Span, drained, without

HELD_BYTES_MAX = 256 * 1024
CONTEXT_BYTES = 160


class Stream:
    """Takes pieces in, gives out what may be stored; content codings are undone. One that `is_closed` gives nothing
    out any more: what comes cannot be read, or not in pieces.
    """

    def __init__(self, about: Content, known: Known, *, readable: bool = True) -> None:
        self._about = Content(about.described, "", about.endpoint)
        self._known = known
        self._waiting = b""
        self.is_closed = about.is_framed or bool(about.endpoint) or (bool(about.coding) and not readable)
        self._unpacker: unpacking.Unpacker | None = None
        try:
            if about.coding:
                self._unpacker = unpacking.Unpacker(about.coding, bodies.INSPECTED_BYTES_MAX)
        except Malformed:
            self.is_closed = True

    @property
    def is_decoded(self) -> bool:
        """Whether content codings are undone."""
        return self._unpacker is not None

    def feed(self, piece: bytes) -> Redacted:
        """What of all that has come, and was not given out yet, can be stored now."""
        if self.is_closed:
            return stored(b"")
        try:
            self._waiting += self._unpacker.take(piece) if self._unpacker is not None else piece
        except Malformed:
            self.is_closed = True
            return stored(b"")
        return self._given(self._waiting)

    def finish(self) -> Redacted:
        """What was still waiting, once nothing follows."""
        content, self._waiting = self._waiting, b""
        if self.is_closed:
            return stored(b"")
        return without(content, drained(bodies.spans(content, self._about, self._known)), self._known, len(content))

    def _given(self, content: bytes) -> Redacted:
        size = content.rfind(b"\n") + 1 if self._about.is_stream else len(content)
        if len(content) - size > HELD_BYTES_MAX:
            size = len(content)
        elif size < 1:
            return stored(b"")
        ready = content[:size]
        found = sorted(drained(bodies.spans(ready, self._about, self._known)), key=lambda span: span.start)
        cut = self._cut(ready, found)
        self._waiting = content[cut:]
        return without(content[:cut], [span for span in found if span.end <= cut], self._known, cut)

    def _cut(self, content: bytes, found: list[Span]) -> int:
        """Up to where nothing waits for what may follow. Lines of events go out whole, and other text up to some bytes
        before its end: a name must not be parted from its value.
        """
        size, context = len(content), 0 if self._about.is_stream else CONTEXT_BYTES
        tail = content[-bodies.TAIL_BYTES :]
        if self._about.is_stream:
            cut = deltas.unfinished(content, self._known)
        else:
            cut = size - max(deltas.begun(tail[-512:]), self._known.begins(tail)) - context
        moved = True
        while moved and cut > 0:
            before, begins = cut, dict[bytes, int]()
            for span in found:
                begin = begins.get(span.secret, span.start) if span.rest else span.start
                begins[span.secret] = begin
                if span.end > cut or (context and span.end == size):
                    cut = min(cut, begin - context)
            if self._about.is_stream:
                cut = content.rfind(b"\n", 0, max(0, cut)) + 1
            moved = cut < before
        cut = max(0, cut)
        return size if size - cut > HELD_BYTES_MAX else cut

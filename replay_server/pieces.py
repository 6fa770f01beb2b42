"""The pieces that a recorded answer is served in. Pure.

A file that another tool wrote says nothing of pieces: an event stream of one is cut where its events end.
"""

import re

from replay_server.rewriting import media_type
from store.core import chunks
from store.core.chunks import Chunk
from store.core.coding import content_encoding
from store.core.errors import Malformed
from store.core.form import Pairs

_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")  # WHATWG HTML, section 9.2: a blank line ends an event


def pieces(table: bytes, headers: Pairs, body: bytes, *, imported: bool) -> tuple[Chunk, ...]:
    """Those of a recorded answer with this `table`; none where it came as a whole, or the table is none."""
    if imported and not table and media_type(headers) == b"text/event-stream" and not content_encoding(headers):
        ends = [found.end() for found in _EVENT_END.finditer(body)]
        ends += [len(body)] if body and (not ends or ends[-1] < len(body)) else []
        return tuple(Chunk(end - start, 0) for start, end in zip([0, *ends], ends, strict=False))
    try:
        return tuple(chunks.decode(table))
    except Malformed:
        return ()

"""The chunk table of a body that redaction changed: where the borders of its pieces are in what is stored."""

from collections.abc import Iterable, Sequence
from itertools import accumulate

from store.core import unpacking
from store.core.chunks import Chunk
from store.core.errors import Malformed
from store.core.redaction.bodies import INSPECTED_BYTES_MAX
from store.core.redaction.long import Long
from store.core.redaction.marks import Redacted, moved


def recut(
    chunks: Sequence[Chunk], raw: bytes | Iterable[bytes], coding: str, redacted: Redacted | Long
) -> Sequence[Chunk]:
    """The pieces of `redacted`, which came as `chunks` of `raw` (whole, or as it is read).

    A piece of which nothing is left adds its wait to the next one.
    """
    if redacted.exact or not chunks:
        return chunks
    cuts = list(accumulate(chunk.length for chunk in chunks))
    if redacted.decoded:
        try:
            cuts = unpacking.lengths([raw] if isinstance(raw, bytes) else raw, coding, cuts, INSPECTED_BYTES_MAX)
        except Malformed:
            cuts = [0] * len(cuts)
    places = moved(redacted.edits, cuts)
    places[-1] = redacted.length
    pieces: list[Chunk] = []
    at = wait_us = 0
    for chunk, place in zip(chunks, places, strict=True):
        wait_us += chunk.wait_us
        if place > at:
            pieces.append(Chunk(place - at, wait_us))
            at, wait_us = place, 0
    return pieces

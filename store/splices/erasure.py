"""A run's log without some of its bodies: the others are spliced anew, so that none copies from what is gone (pure).

Content that a kept body repeats stays: it is part of that body.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from store.splices import stream
from store.splices.resolver import Resolver
from store.splices.splicer import Splicer
from store.splices.stream import SLICE_BYTES, Block


@dataclass(slots=True)
class Respliced:
    """The log that holds only the bodies at the places `kept`, each with its shelf, in the order of their places.

    `blocks` gives it in its sealed form; then `places` tells where each body stands now, by where it stood.
    """

    resolver: Resolver
    kept: Iterable[tuple[int, str]]
    places: dict[int, int] = field(default_factory=dict)

    def blocks(self, level: int = stream.SEALED_LEVEL) -> Iterator[Block]:
        """The blocks of the new log, in order. Raises Malformed when a kept body cannot be read."""
        splicer = Splicer()
        packed = stream.tight(level=level)
        raw = bytearray()
        for place, shelf in self.kept:
            found = self.resolver.stored(place)
            self.places[place] = splicer.add(found.content, shelf, found.coding)
            raw += splicer.take()
            while len(raw) >= SLICE_BYTES:
                yield from packed.blocks(bytes(raw[:SLICE_BYTES]))
                del raw[:SLICE_BYTES]
        yield from packed.blocks(bytes(raw))

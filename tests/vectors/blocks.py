"""Blocks of a closed run as vectors; their frames are not compressed, so that they are the same bytes for ever."""

import hashlib
from collections.abc import Sequence

from store.core.digest import event_hash
from store.sealed import envelopes, frame, openings
from store.sealed.envelopes import EventBlock
from store.sealed.openings import OpeningBlock, Row
from tests.vectors import samples

_MAGIC = bytes.fromhex("28b52ffd")
_SINGLE_SEGMENT_LENGTH_OF_4_BYTES = b"\xa0"
_FIRST = 3
_ROWS = (
    Row(3, "/body", b"", bytes(range(32)), 1600, 0),
    Row(3, "/query", bytes(32), bytes(range(1, 33)), 5, 1603),
    Row(4, "/body", b"", bytes(range(2, 34)), 137_000, 1611),
    Row(7, "/body", b"", bytes(range(3, 35)), 0, None),
)


def event_block(raws: Sequence[bytes]) -> dict[str, object]:
    """Events from seq 3 on, as one block, and its content."""
    kept = [(event_hash(raw), raw) for raw in raws]
    made = envelopes.pack(samples.RUN, _FIRST, kept)
    content, _ = frame.unpack(made.text, _place("events"))
    text = _stored("events", content)
    assert envelopes.restored(EventBlock(made.run, _FIRST, made.hashes, made.digits, text)) == envelopes.restored(made)
    return {
        "run": samples.RUN,
        "first": _FIRST,
        "hashes": made.hashes.hex(),
        "digits": made.digits.hex(),
        "text": text.hex(),
        "content": content.hex(),
        "events": [raw.decode() for raw in raws],
    }


def opening_block() -> dict[str, object]:
    """Openings from event 3 on, as one block, and its content."""
    made = openings.pack(samples.RUN, _ROWS)
    content, _ = frame.unpack(made.rows, _place("openings"))
    rows = _stored("openings", content)
    assert openings.restored(OpeningBlock(made.run, _FIRST, made.digests, rows)) == list(_ROWS)
    return {
        "run": samples.RUN,
        "first": _FIRST,
        "digests": made.digests.hex(),
        "rows": rows.hex(),
        "content": content.hex(),
        "openings": [
            {"seq": row.seq, "pointer": row.pointer, "salt": row.salt.hex(), "sha256": row.sha256.hex()}
            | {"length": row.length, "place": row.place}
            for row in _ROWS
        ],
    }


def _place(label: str) -> bytes:
    return f"edgetape/{label}/v1\n{samples.RUN}\n{_FIRST}\n".encode()


def _stored(label: str, content: bytes) -> bytes:
    """A frame of one raw block (RFC 8878, section 3.1.1), behind its check."""
    header = _MAGIC + _SINGLE_SEGMENT_LENGTH_OF_4_BYTES + len(content).to_bytes(4, "little")
    packed = header + (len(content) << 3 | 1).to_bytes(3, "little") + content
    return hashlib.sha256(_place(label) + packed).digest()[:4] + packed

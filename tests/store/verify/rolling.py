"""The two forms of a closed run, one made into the other: its rows out of the blocks, and blocks made of any rows."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import groupby

from store.core.errors import Malformed
from store.sealed import envelopes, openings
from store.sealed.envelopes import EventBlock
from store.sealed.openings import OpeningBlock

_EVENTS = "INSERT INTO event_blocks (run, first, hashes, digits, text) VALUES (?, ?, ?, ?, ?)"
_OPENINGS = "INSERT INTO opening_blocks (run, first, digests, rows) VALUES (?, ?, ?, ?)"


def unrolled(db: sqlite3.Connection) -> set[str]:
    """Puts rows in the place of all blocks, where no trigger is in the way; the runs that had blocks."""
    blocks = [EventBlock(*row) for row in db.execute("SELECT run, first, hashes, digits, text FROM event_blocks")]
    db.execute("DELETE FROM event_blocks")
    for block in blocks:
        rows = [(block.run, each.seq, each.hash, each.raw) for each in envelopes.restored(block)]
        db.executemany("INSERT INTO events (run, seq, hash, event) VALUES (?, ?, ?, ?)", rows)
    for each in [OpeningBlock(*row) for row in db.execute("SELECT run, first, digests, rows FROM opening_blocks")]:
        for row in openings.restored(each):
            key = (each.run, row.seq, row.pointer)
            db.execute("INSERT INTO openings VALUES (?, ?, ?, ?, ?, ?)", (*key, row.salt, row.sha256, row.length))
            if row.place is not None:
                db.execute("INSERT INTO payloads VALUES (?, ?, ?, ?)", (*key, row.place))
    db.execute("DELETE FROM opening_blocks")
    return {block.run for block in blocks}


def roll(db: sqlite3.Connection, run: str) -> None:
    """Puts blocks in the place of the rows of a run, whatever they say, as far as there can be blocks of them."""
    _roll_events(db, run)
    query = (
        "SELECT o.seq, o.pointer, o.salt, o.sha256, o.length, p.place FROM openings o LEFT JOIN payloads p"
        " USING (run, seq, pointer) WHERE run = ? ORDER BY o.seq, o.pointer"
    )
    rows = [openings.Row(*row) for row in db.execute(query, (run,))]
    with suppress(Malformed, TypeError, AttributeError):
        blocks = list(openings.packed(run, rows))
        db.executemany(_OPENINGS, [(run, each.first, each.digests, each.rows) for each in blocks])
        keys = [(run, row.seq, row.pointer) for row in rows]
        for table in ("openings", "payloads"):
            db.executemany(f"DELETE FROM {table} WHERE run = ? AND seq = ? AND pointer = ?", keys)


@contextmanager
def formed(db: sqlite3.Connection, form: str) -> Iterator[None]:
    """What is done inside is done to rows; with the form `blocks` they are blocks again in the end, with `as they are`
    nothing is in another form.
    """
    rolled = set[str]() if form == "as they are" else unrolled(db)
    yield
    if form == "blocks":
        for run in sorted(rolled):
            roll(db, run)


def _roll_events(db: sqlite3.Connection, run: str) -> None:
    query = "SELECT seq, hash, event FROM events WHERE run = ? GROUP BY seq HAVING COUNT(*) = 1 ORDER BY seq"
    found = [
        (seq, hashed, raw)
        for seq, hashed, raw in db.execute(query, (run,))
        if isinstance(seq, int) and _packed(run, 0, [(hashed, raw)])
    ]
    for _, group in groupby(enumerate(found), key=lambda each: each[1][0] - each[0]):
        kept = [row for _, row in group]
        block = _packed(run, kept[0][0], [(hashed, raw) for _, hashed, raw in kept])
        if block is not None:
            db.execute(_EVENTS, (run, block.first, block.hashes, block.digits, block.text))
            db.executemany("DELETE FROM events WHERE run = ? AND seq = ?", [(run, seq) for seq, *_ in kept])


def _packed(run: str, first: int, kept: list[tuple[bytes, bytes]]) -> EventBlock | None:
    with suppress(Malformed, TypeError, AttributeError):
        return envelopes.pack(run, first, kept)
    return None

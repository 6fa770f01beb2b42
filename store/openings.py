"""The openings of the bodies, and where in the log of their run the bodies stand: the one room that asks for them.

docs/format.md, sections 5 and 8. Those of a run that is written stand one in a row; those of a closed run are moved
into blocks. What is read here is as it lies there, believed by nobody.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter

import msgspec

from store.additions import Additions
from store.cells import blob, exact, number, text
from store.core import digest
from store.core.draft import Opening
from store.core.errors import Malformed
from store.core.veil import Veil
from store.database.connection import Connection
from store.sealed import openings as sealed
from store.sealed.openings import OpeningBlock, Row
from store.sealed.order import ordered

_BLOCKS_KEPT = 8
_INSERT = "INSERT INTO openings (run, seq, pointer, salt, sha256, length) VALUES (?, ?, ?, ?, ?, ?)"
_INSERT_PLACE = "INSERT INTO payloads (run, seq, pointer, place) VALUES (?, ?, ?, ?)"
_OPENINGS = (
    f"SELECT {number('o.seq')}, {text('o.pointer')}, {blob('o.salt')}, {blob('o.sha256')},"
    f" {number('o.length')}, CAST(p.place AS INTEGER) FROM openings o"
    " LEFT JOIN payloads p ON p.run = o.run AND p.seq = o.seq AND p.pointer = o.pointer"
    " WHERE o.run = CAST(?1 AS TEXT)"
)


class OpeningRow(msgspec.Struct, frozen=True):
    """One opening, as it is stored or as it is `shown`, and where its body stands among those of the run; None when
    nothing is stored.

    `damage` says what is wrong with the block that it stands in.
    """

    pointer: str
    salt: bytes
    sha256: bytes
    length: int
    place: int | None
    damage: str = ""

    def shown(self, seq: int, veil: Veil) -> "OpeningRow":
        """The opening of the event `seq` that is stored so, with its salt and digest to be read."""
        salt, sha256 = veil.shown(seq, self.pointer, self.salt, self.sha256)
        return OpeningRow(self.pointer, salt, sha256, self.length, self.place, self.damage)

    @property
    def is_sound(self) -> bool:
        """Whether salt, digest and length are such as a commitment is made of."""
        sized = len(self.salt) == digest.SALT_BYTES and len(self.sha256) == digest.HASH_BYTES
        return sized and 0 <= self.length < 1 << 63


def of_run(connection: Connection, run: str) -> Iterator[tuple[int, OpeningRow]]:
    """(seq, opening) of all bodies of a run, in order of seq; one with several places comes as often."""
    in_rows = (Row(*row) for row in connection.execute(f"{_OPENINGS} ORDER BY o.seq, o.pointer", (exact(run),)))
    for row in heapq.merge(in_rows, _in_blocks(connection, run), key=attrgetter("seq")):
        yield row.seq, _shown(row)


def of_event(connection: Connection, run: str, seq: int) -> list[OpeningRow]:
    """The openings of the bodies of one event."""
    return around(connection, run, seq)[0]


def around(connection: Connection, run: str, seq: int) -> tuple[list[OpeningRow], Mapping[int, Sequence[OpeningRow]]]:
    """The openings of the bodies of one event, and by seq those that stand in the block where it has its own."""
    query = f"{_OPENINGS} AND o.seq = ?2"
    found = [_shown(Row(*row)) for row in connection.execute(query, (exact(run), seq))]
    block = next(_blocks(connection, run, "AND first <= ?2 ORDER BY first DESC LIMIT 1", seq), None)
    near: Mapping[int, Sequence[OpeningRow]] = {} if block is None else _restored(block)
    return [*found, *near.get(seq, ())], near


def place(connection: Connection, run: str, seq: int, pointer: str) -> int | None:
    """Where the body of one commitment begins in the log of its run; None when nothing is stored."""
    query = f"SELECT {number('place')} FROM payloads WHERE run = CAST(?1 AS TEXT) AND seq = ?2"
    row = connection.execute(f"{query} AND pointer = CAST(?3 AS TEXT)", (exact(run), seq, exact(pointer))).fetchone()
    if row is not None:
        return int(row[0])
    return next((each.place for each in of_event(connection, run, seq) if each.pointer == pointer), None)


def strays(connection: Connection, run: str) -> list[tuple[int, str]]:
    """(seq, pointer) of stored bodies that have no opening."""
    query = (
        f"SELECT {number('seq')}, {text('pointer')} FROM payloads WHERE run = CAST(?1 AS TEXT)"
        f" EXCEPT SELECT {number('seq')}, {text('pointer')} FROM openings WHERE run = CAST(?1 AS TEXT)"
    )
    return connection.execute(query, (exact(run),)).fetchall()


def runs(connection: Connection) -> set[str]:
    """The ids of the runs that have openings, or bodies."""
    tables = ("openings", "payloads", "opening_blocks")
    query = " UNION ".join(f"SELECT {text('run')} FROM {table}" for table in tables)
    return {run for (run,) in connection.execute(query)}


def add(
    additions: Additions, run: str, seq: int, opening: Opening, place: int | None, veil: Veil, *, derived: bool = False
) -> None:
    """Adds the opening of a body that stands at `place`, or in another run; `derived` when its salt is known to be the
    one that `veil` gives.
    """
    if derived:
        salt, sha256 = b"", veil.kept_digest(seq, opening.pointer, opening.sha256)
    else:
        salt, sha256 = veil.kept(seq, opening.pointer, opening.salt, opening.sha256)
    additions.add(_INSERT, run, seq, opening.pointer, salt, sha256, len(opening.content))
    if place is not None:
        additions.add(_INSERT_PLACE, run, seq, opening.pointer, place)


def delete(connection: Connection, run: str) -> None:
    """Deletes all openings and places of a run, in the caller's transaction."""
    for table in ("openings", "payloads", "opening_blocks"):
        connection.execute(f"DELETE FROM {table} WHERE run = ?", (run,))


def replace_all(connection: Connection, run: str, rows: Iterable[tuple[int, OpeningRow]], veil: Veil) -> None:
    """Writes the openings and places of a run anew, in order of seq, as they are shown, in the caller's transaction:
    in blocks, if there were blocks before.

    Raises Malformed for such as stood in a damaged block.
    """
    kept = [_hidden(seq, row, veil) for seq, row in rows]
    was_sealed = next(_blocks(connection, run), None) is not None
    delete(connection, run)
    if was_sealed:
        _put_blocks(connection, run, kept)
    else:
        for row in kept:
            _insert(connection, (run, row.seq, row.pointer), row.salt, row.sha256, row.length, row.place)


def unsealed(connection: Connection, run: str) -> list[Row]:
    """The openings of the first events of a run that stand in rows of their own: as many as one block takes."""
    query = f"{_OPENINGS} ORDER BY o.seq, o.pointer LIMIT ?2"
    found = [Row(*row) for row in connection.execute(query, (exact(run), sealed.OPENINGS_MAX))]
    if len(found) < sealed.OPENINGS_MAX:
        return found
    whole = [row for row in found if row.seq != found[-1].seq]
    return whole or [Row(*row) for row in connection.execute(f"{_OPENINGS} AND o.seq = ?2", (exact(run), found[0].seq))]


def seal(connection: Connection, block: OpeningBlock, rows: Sequence[Row]) -> bool:
    """Puts a block in the place of these openings, which `unsealed` gave, in the caller's transaction; whether they are
    still what the store has.
    """
    if unsealed(connection, block.run) != list(rows):
        return False
    _put_block(connection, block)
    for table in ("openings", "payloads"):
        query = f"DELETE FROM {table} WHERE run = ? AND seq BETWEEN ? AND ?"
        connection.execute(query, (block.run, rows[0].seq, rows[-1].seq))
    return True


@lru_cache(maxsize=_BLOCKS_KEPT)
def _restored(block: OpeningBlock) -> Mapping[int, Sequence[OpeningRow]]:
    """The openings of a block by seq: who reads a run in its order asks for event after event."""
    found: dict[int, list[OpeningRow]] = {}
    for row in sealed.restored(block):
        found.setdefault(row.seq, []).append(_shown(row))
    return found


def _blocks(connection: Connection, run: str, where: str = "ORDER BY first", *values: int) -> Iterator[OpeningBlock]:
    query = (
        f"SELECT {text('run')}, {number('first')}, {blob('digests')}, {blob('rows')} FROM opening_blocks"
        f" WHERE run = CAST(?1 AS TEXT) {where}"
    )
    for row in connection.execute(query, (exact(run), *values)):
        yield OpeningBlock(*row)


def _in_blocks(connection: Connection, run: str) -> Iterator[Row]:
    return ordered((block.first, sealed.restored(block)) for block in _blocks(connection, run))


def _hidden(seq: int, row: OpeningRow, veil: Veil) -> Row:
    if row.damage:
        raise Malformed(f"the openings of event {seq} stand in a damaged block")
    salt, sha256 = veil.kept(seq, row.pointer, row.salt, row.sha256)
    return Row(seq, row.pointer, salt, sha256, row.length, row.place)


def _put_blocks(connection: Connection, run: str, rows: Sequence[Row]) -> None:
    for block in sealed.packed(run, rows):
        _put_block(connection, block)


def _put_block(connection: Connection, block: OpeningBlock) -> None:
    connection.execute(
        "INSERT INTO opening_blocks (run, first, digests, rows) VALUES (?, ?, ?, ?)",
        (block.run, block.first, block.digests, block.rows),
    )


def _shown(row: Row) -> OpeningRow:
    return OpeningRow(row.pointer, row.salt, row.sha256, row.length, row.place, row.damage)


def _insert(
    connection: Connection,
    key: tuple[str, int, str],
    salt: bytes,
    sha256: bytes,
    length: int,
    place: int | None,
) -> None:
    connection.execute(_INSERT, (*key, salt, sha256, length))
    if place is not None:
        connection.execute(_INSERT_PLACE, (*key, place))

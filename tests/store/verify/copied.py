"""The records of a store in memory, any of which can be changed."""

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from store.core.inclusion import Proof
from store.database import FILE_NAME
from store.envelopes import Envelope
from store.openings import OpeningRow
from store.payloads import Bodies
from store.splices.guard import Check
from store.splices.stream import Span
from store.verify.records import CatalogueRow, Extent, Outside, SqliteRecords

BLOCKS = "SELECT run, number, start, length, frame, stored FROM blocks ORDER BY run, number"


@dataclass(slots=True)
class Copy:
    """The records of a store in memory, any of which can be changed."""

    leaf_rows: list[tuple[int, bytes]]
    node_rows: list[tuple[int, int, bytes]]
    checkpoint_rows: list[tuple[int, bytes]]
    event_rows: list[Envelope]
    opening_rows: list[tuple[str, int, OpeningRow]]
    block_rows: list[tuple[str, Span, bytes]]
    anchor_rows: list[tuple[int, bytes]]

    @classmethod
    def of(cls, folder: Path) -> "Copy":
        connection = sqlite3.connect(folder / FILE_NAME)
        records = SqliteRecords(connection)
        runs = records.runs()
        made = cls(
            list(records.leaves()),
            list(records.nodes()),
            records.checkpoints(),
            [row for run in runs for row in records.events(run)],
            [(run, seq, row) for run in runs for seq, row in records.openings(run)],
            [(run, Span(*numbers), stored) for run, *numbers, stored in connection.execute(BLOCKS)],
            list(records.outside().given.items()),
        )
        connection.close()
        return made

    @property
    def extent(self) -> Extent:
        return Extent()

    def proofs(self) -> Iterator[Proof]:
        return iter(())

    def leaves(self) -> Iterator[tuple[int, bytes]]:
        return iter(self.leaf_rows)

    def nodes(self) -> Iterator[tuple[int, int, bytes]]:
        return iter(self.node_rows)

    def checkpoints(self) -> list[tuple[int, bytes]]:
        return self.checkpoint_rows

    def runs(self) -> list[str]:
        return sorted({row.run for row in self.event_rows} | {run for run, _, _ in self.opening_rows})

    def events(self, run: str) -> Iterator[Envelope]:
        return (row for row in self.event_rows if row.run == run)

    def openings(self, run: str) -> Iterator[tuple[int, OpeningRow]]:
        found = [(seq, row) for owner, seq, row in self.opening_rows if owner == run]
        return iter(sorted(found, key=lambda each: -1 if each[1].place is None else each[1].place))

    def bodies(self, run: str, origin: str) -> Bodies:
        rows = [(span, stored) for owner, span, stored in self.block_rows if owner == run]

        def fetch(first: int, last: int) -> list[bytes]:
            return [stored for span, stored in rows if first <= span.number <= last]

        return Bodies([span for span, _ in rows], fetch, Check(origin, run))

    def strays(self, run: str) -> list[tuple[int, str]]:
        return []

    def outside(self) -> Outside:
        return Outside(dict(self.anchor_rows))

    def catalogue(self) -> Mapping[str, CatalogueRow] | None:
        return None

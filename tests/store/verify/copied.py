"""The records of a store in memory, any of which can be changed."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from store import annotations, openings, storekey
from store.core.annotation import Kept
from store.core.errors import EdgetapeError, KeyUnavailable
from store.core.inclusion import Proof
from store.database import FILE_NAME
from store.envelopes import Envelope
from store.openings import OpeningRow
from store.payloads import Bodies
from store.splices.guard import Guard, Shut
from store.splices.stream import Span
from store.vault import RunKeys, Vault, opened
from store.verify.records import CatalogueRow, Content, Extent, Outside, SqliteRecords

BLOCKS = "SELECT run, number, start, length, frame, stored FROM blocks ORDER BY run, number"


def opener(connection: sqlite3.Connection, keys: Path) -> Vault:
    """What opens the words of annotations."""
    ((raw,),) = connection.execute("SELECT leaf FROM leaves WHERE position = 0").fetchall()
    return Vault(keys, json.loads(raw)["origin"])


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
    key_rows: list[tuple[str, str, bytes]]
    said: dict[str, list[Kept]]
    keys: Path

    @classmethod
    def of(cls, folder: Path, keys: Path) -> "Copy":
        connection = sqlite3.connect(folder / FILE_NAME)
        records = SqliteRecords(connection, keys)
        runs = records.runs()
        made = cls(
            list(records.leaves()),
            list(records.nodes()),
            records.checkpoints(),
            [row for run in runs for row in records.events(run)],
            [(run, seq, row) for run in runs for seq, row in openings.of_run(connection, run)],
            [(run, Span(*numbers), stored) for run, *numbers, stored in connection.execute(BLOCKS)],
            list(records.outside().given.items()),
            connection.execute("SELECT run, kind, wrapped FROM keys ORDER BY run, kind").fetchall(),
            {run: list(annotations.of_run(connection, run, opener(connection, keys))) for run in runs},
            keys,
        )
        connection.close()
        return made

    @property
    def extent(self) -> Extent:
        return Extent(keys=True)

    def proofs(self) -> Iterator[Proof]:
        return iter(())

    def leaves(self) -> Iterator[tuple[int, bytes]]:
        return iter(self.leaf_rows)

    def nodes(self) -> Iterator[tuple[int, int, bytes]]:
        return iter(self.node_rows)

    def checkpoints(self) -> list[tuple[int, bytes]]:
        return self.checkpoint_rows

    def runs(self) -> list[str]:
        kept = {run for run, _, _ in self.opening_rows} | {run for run, _, _ in self.key_rows if run}
        return sorted({row.run for row in self.event_rows} | kept)

    def events(self, run: str) -> Iterator[Envelope]:
        return (row for row in self.event_rows if row.run == run)

    def content(self, run: str, origin: str | None) -> Content:
        rows = sorted(((seq, row) for owner, seq, row in self.opening_rows if owner == run), key=lambda each: each[0])
        keyed = any(owner == run for owner, _, _ in self.key_rows)
        try:
            keys = self.run_keys(run, origin)
        except EdgetapeError as error:
            return Content(iter(rows), self.bodies(run, Shut()), error, keyed)
        shown = ((seq, row.shown(seq, keys.veil)) for seq, row in rows)
        return Content(shown, self.bodies(run, keys.guard), None, keyed)

    def run_keys(self, run: str, origin: str | None) -> RunKeys:
        if origin is None:
            raise KeyUnavailable("leaf 0 cannot be read")
        wrapped = {(owner, kind): stored for owner, kind, stored in self.key_rows}
        key = storekey.find(self.keys, origin, wrapped.get(("", "store"), b""))
        return opened(key, origin, run, {kind: stored for (owner, kind), stored in wrapped.items() if owner == run})

    def bodies(self, run: str, guard: Guard) -> Bodies:
        rows = [(span, stored) for owner, span, stored in self.block_rows if owner == run]

        def fetch(first: int, last: int) -> list[bytes]:
            return [stored for span, stored in rows if first <= span.number <= last]

        return Bodies([span for span, _ in rows], fetch, guard)

    def strays(self, run: str) -> list[tuple[int, str]]:
        return []

    def outside(self) -> Outside:
        return Outside(dict(self.anchor_rows))

    def annotations(self, run: str, origin: str | None) -> list[Kept]:
        return self.said.get(run, [])

    def annotated(self) -> set[str]:
        return {run for run, said in self.said.items() if said}

    def catalogue(self) -> Mapping[str, CatalogueRow] | None:
        return None

"""Reads out of a store what a bundle of some runs holds (docs/format.md, section 9).

Rules kept here:
- A bundle is a function of its runs and a checkpoint: the first one that covers all that the log says of the ends of
  these runs and the first anchor of each kind that covers these; where one of them is open, the newest.
- Everything is read in one moment; what no checkpoint covers is left out.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from store import database
from store.bundle import anchors, contents, manifest
from store.bundle.anchors import Belonging
from store.bundle.container import Member
from store.core import canonical, draft, event, inclusion, proof
from store.core.annotation import Kept
from store.core.errors import KeyUnavailable, Malformed, StoreUnusable
from store.core.event import Event
from store.core.inclusion import Proof
from store.core.submission import Submission
from store.core.text import Body
from store.database.connection import Connection
from store.labels.describe import plural
from store.openings import OpeningRow
from store.reader import Reader
from store.verify.annotations import Annotated
from store.verify.records import SqliteRecords

_NO_CHECKPOINT = "no checkpoint covers the run yet"
# What ends a run, or changes what can be shown of it; who looked at it, or exported it, does not.
_DECISIVE = frozenset(("run.open", "run.head", "run.close", "payload.erased", "annotation.head"))


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What a bundle is made of: the log up to `size`, signed by `note`, and the events of `runs` that it covers."""

    origin: str
    vkey: str
    size: int
    note: bytes
    leaves: tuple[bytes, ...]
    runs: Mapping[str, tuple[bytes, ...]]
    anchored: Belonging
    annotations: Mapping[str, tuple[Kept, ...]]
    reader: Reader
    _records: SqliteRecords
    _nodes: Mapping[tuple[int, int], bytes]

    def events(self, run: str) -> list[Event]:
        """The events of a run as values."""
        return [event.decode(raw) for raw in self.runs[run]]

    def log_members(self, *, proofs: bool) -> list[Member]:
        """The log: all leaves up to the checkpoint, or a proof for each that these runs need."""
        if not proofs:
            return [Member.of(manifest.LOG, contents.joined(self.leaves))]
        needed = (at for at, raw in enumerate(self.leaves) if _run_of(raw) in self.runs or contents.new_key(raw))
        shown = sorted({0, self.size - 1, *needed, *self.anchored.anchors})
        return [Member.of(f"proofs/{at}.tlog-proof", self._proof(at)) for at in shown]

    def annotation_members(self, *, bodies: bool) -> list[Member]:
        """What people said about these runs, without their words where bodies are left out. Raises KeyUnavailable."""
        lines = []
        for _, said in sorted(self.annotations.items()):
            for kept in said:
                if bodies and isinstance(kept.words, KeyUnavailable):
                    raise kept.words
                with contextlib.suppress(Malformed):  # what is no record is missed, and named by who verifies
                    lines.append(contents.annotation_line(kept if bodies else kept.silent))
        return [Member.of(manifest.ANNOTATIONS, contents.joined(lines))] if lines else []

    def anchor_members(self, *, proofs: bool) -> list[Member]:
        """What those outside gave about these runs, and the older checkpoints that it is of."""
        kept, notes = self._records.outside().given, dict(self._records.checkpoints())
        made = {anchors.given(at, each): kept[at] for at, each in self.anchored.anchors.items()}
        made |= {f"anchors/{size}.checkpoint": notes[size] for size in self.anchored.notes}
        for size in self.anchored.proven if proofs else ():
            path = proof.consistency(size, self.size, self._node)
            made[f"anchors/{size}.consistency"] = Submission(size, tuple(path), self.note).text
        return [Member.of(name, made[name]) for name in sorted(made)]

    def _openings(self, run: str) -> list[tuple[int, OpeningRow]]:
        kept = self._records.content(run, self.origin)
        rows = sorted(kept.openings, key=_by_event)
        if rows and kept.failure is not None:
            raise kept.failure
        return rows

    def body_members(self) -> list[Member]:
        """The openings of all events, and each body once. Raises KeyUnavailable."""
        lines: list[bytes] = []
        blobs: dict[str, Member] = {}
        for run, raws in sorted(self.runs.items()):
            named = [draft.commitments(event.decode(raw).facts) for raw in raws]
            for seq, row in self._openings(run):
                if seq >= len(raws):
                    continue
                lines.append(_opening(run, seq, row))
                body = Body(body=named[seq].get(row.pointer, ""))
                load = partial(self.reader.body, event.decode(raws[seq]), body)
                name = f"blobs/{row.sha256.hex()}"
                blobs.setdefault(name, Member(name, row.length, load))
        return [Member.of(manifest.OPENINGS, contents.joined(lines)), *(blobs[name] for name in sorted(blobs))]

    def _node(self, level: int, position: int) -> bytes:
        return self._nodes[level, position]

    def _proof(self, at: int) -> bytes:
        hashes = proof.inclusion(at, self.size, self._node)
        return inclusion.encode(Proof(at, self.leaves[at], tuple(hashes), self.note))


def _by_event(placed: tuple[int, OpeningRow]) -> tuple[int, str]:
    return placed[0], placed[1].pointer


@contextmanager
def excerpt(folder: Path, keys: Path, words: Sequence[str], size: int | None = None) -> Iterator[Excerpt]:
    """What a bundle of the runs that `words` mean is made of, at the checkpoint over `size` leaves if one is named;
    `keys` is the folder of the store key.

    Raises StoreUnusable, UnknownRun.
    """
    with Reader.open(folder, keys) as reader:
        connection = database.open_for_reading(folder)
        try:
            with database.explained(folder):
                connection.execute("BEGIN")
                own = Reader(folder, connection, reader.vault)
                yield _taken(own, connection, sorted({own.identify(word) for word in words}), size)
        finally:
            connection.close()


def _taken(reader: Reader, connection: Connection, runs: Sequence[str], wanted: int | None) -> Excerpt:
    records = SqliteRecords(connection, reader.vault.folder)
    leaves = [raw for _, raw in records.leaves()]
    notes = records.checkpoints()
    ends = [_end(leaves, run, reader.origin) for run in runs]
    fitting = [note for note in notes if all(end is not None and note[0] > end for end in ends)]
    if not notes or (not fitting and None not in ends):
        raise StoreUnusable(_NO_CHECKPOINT, hint="one is made when a run closes, and when its recorder stops")
    if wanted is not None:
        size, note = _named(wanted, notes if None in ends else fitting)
    else:
        size, note = _chosen(leaves, fitting, ends) if fitting else notes[-1]
    kept = {run: _covered(records, leaves[:size], run) for run in runs}
    vkey = next(filter(None, map(contents.new_key, reversed(leaves[:size]))))
    points = {run: contents.point(raws[0]) for run, raws in kept.items()}
    log = anchors.gathered(enumerate(leaves[:size]))
    anchored = anchors.belonging(log, points)
    counts = {run: log.annotated.get(run, Annotated()).count for run in kept}
    said = {
        run: tuple(each for each in records.annotations(run, reader.origin) if each.number < count)
        for run, count in counts.items()
    }
    nodes = {(level, at): node for level, at, node in records.nodes()}
    return Excerpt(reader.origin, vkey, size, note, tuple(leaves[:size]), kept, anchored, said, reader, records, nodes)


def _named(size: int, notes: Sequence[tuple[int, bytes]]) -> tuple[int, bytes]:
    found = next((each for each in notes if each[0] == size), None)
    if found is None:
        raise StoreUnusable(
            f"no checkpoint over {plural(size, 'leaf', 'leaves')} shows all that is to be shown of these runs",
            hint=f"there are some over {', '.join(str(each) for each, _ in notes[:5])}" if notes else "",
        )
    return found


def _chosen(
    leaves: Sequence[bytes], fitting: Sequence[tuple[int, bytes]], ends: Sequence[int | None]
) -> tuple[int, bytes]:
    """The first checkpoint that shows the anchors of these ends too; where none is signed yet, the first at all."""
    size = anchors.reach(anchors.gathered(enumerate(leaves)), max(end or 0 for end in ends))
    return next((note for note in fitting if note[0] >= size), fitting[0])


def _end(leaves: Sequence[bytes], run: str, origin: str) -> int | None:
    """The position of the last leaf that decides what is shown of a run; None while it is open."""
    said = [(at, json.loads(raw)) for at, raw in enumerate(leaves) if _run_of(raw) == run]
    if any(record["type"] == "run.import" for _, record in said):
        raise StoreUnusable(
            f"run {run} was imported: its evidence is the bundle that it came in, not the log of {origin}",
            hint="hand on that bundle",
        )
    closed = any(record["type"] == "run.close" for _, record in said)
    return max(at for at, record in said if record["type"] in _DECISIVE) if closed else None


def _covered(records: SqliteRecords, leaves: Sequence[bytes], run: str) -> tuple[bytes, ...]:
    """The events of a run that a log of these leaves commits to."""
    said = [json.loads(raw) for raw in leaves if _run_of(raw) == run]
    count = max((record.get("n", 1) for record in said if record["type"].startswith("run.")), default=0)
    if not count:
        raise StoreUnusable(_NO_CHECKPOINT, hint="one is made when a run closes, and when its recorder stops")
    return tuple(row.raw for row in records.events(run) if row.seq < count)


def _run_of(raw: bytes) -> str | None:
    record = json.loads(raw)
    return record.get("run") if isinstance(record, dict) else None


def _opening(run: str, seq: int, row: OpeningRow) -> bytes:
    return canonical.encode(
        {
            "run": run,
            "seq": seq,
            "pointer": row.pointer,
            "salt": contents.spelled(row.salt),
            "sha256": row.sha256.hex(),
            "length": row.length,
        }
    )

"""Every byte of every stored record, and every row: none can be changed or taken out of a sealed store unseen."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from msgspec import structs

from store.core.errors import EdgetapeError
from store.database import FILE_NAME
from store.exchange import steps
from store.openings import OpeningRow
from store.reader import BodyUnavailable, Reader
from store.splices.stream import Span
from store.verify import verify, verify_records
from tests.store.verify import test_sealed
from tests.store.verify.attacker import Attacker
from tests.store.verify.copied import Copy
from tests.support.anchored import cosign, stamp
from tests.support.sample import Sample
from tests.support.tape import Call, tape
from tests.support.time_authority import TimeAuthority
from tests.support.witness import Witness


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small sealed store with a closed run."""
    base = tmp_path_factory.mktemp("exhaustive")
    with tape(base) as made:
        run = made.run([Call(b"/\xff", body=b'{"q":1}', answer=b"answer", query=b"n=1")], "small")
        made.annotate(run, 1, "said about it")
        stamp(made.folder, made.keys, TimeAuthority(base / "tsa"))
        cosign(made.folder, made.keys, Witness({}))
    return base / "store"


@pytest.fixture(scope="module")
def records(folder: Path) -> Copy:
    made = Copy.of(folder, folder.parent / "keys")
    assert verify_records(made).exit_code == 0
    return made


def changes(raw: bytes, source: Random) -> Iterator[bytes]:
    """Each byte changed, once."""
    for at in range(len(raw)):
        yield raw[:at] + bytes([raw[at] ^ source.randrange(1, 256)]) + raw[at + 1 :]


def changed_rows(records: Copy, source: Random) -> Iterator[Copy]:
    """Every stored record with each of its bytes changed."""
    for at, event in enumerate(records.event_rows):
        for raw in changes(event.raw, source):
            yield replace(records, event_rows=put(records.event_rows, at, replace(event, raw=raw)))
        for hashed in changes(event.hash, source):
            yield replace(records, event_rows=put(records.event_rows, at, replace(event, hash=hashed)))
    yield from changed_bodies(records, source)
    yield from changed_keys(records, source)
    for at, (position, leaf) in enumerate(records.leaf_rows):
        for raw in changes(leaf, source):
            yield replace(records, leaf_rows=put(records.leaf_rows, at, (position, raw)))
    for at, (size, note) in enumerate(records.checkpoint_rows):
        for raw in changes(note, source):
            yield replace(records, checkpoint_rows=put(records.checkpoint_rows, at, (size, raw)))
    for at, (level, position, node) in enumerate(records.node_rows):
        for raw in changes(node, source):
            yield replace(records, node_rows=put(records.node_rows, at, (level, position, raw)))
    for at, (position, content) in enumerate(records.anchor_rows):
        for raw in changes(content, source):
            yield replace(records, anchor_rows=put(records.anchor_rows, at, (position, raw)))


def changed_bodies(records: Copy, source: Random) -> Iterator[Copy]:
    for at, (run, seq, opening) in enumerate(records.opening_rows):
        for row in changed_openings(opening, source):
            yield replace(records, opening_rows=put(records.opening_rows, at, (run, seq, row)))
    for at, (run, span, stored) in enumerate(records.block_rows):
        for raw in changes(stored, source):
            yield replace(records, block_rows=put(records.block_rows, at, (run, span, raw)))
        for other_span in changed_spans(span):
            yield replace(records, block_rows=put(records.block_rows, at, (run, other_span, stored)))


def changed_keys(records: Copy, source: Random) -> Iterator[Copy]:
    for at, (run, kind, wrapped) in enumerate(records.key_rows):
        for raw in changes(wrapped, source):
            yield replace(records, key_rows=put(records.key_rows, at, (run, kind, raw)))
        for raw in changes(run.encode(), source):
            yield replace(records, key_rows=put(records.key_rows, at, (raw.decode("latin-1"), kind, wrapped)))
        for raw in changes(kind.encode(), source):
            yield replace(records, key_rows=put(records.key_rows, at, (run, raw.decode("latin-1"), wrapped)))


def changed_openings(row: OpeningRow, source: Random) -> Iterator[OpeningRow]:
    assert row.place is not None
    yield structs.replace(row, salt=source.randbytes(32))
    yield from (structs.replace(row, salt=raw) for raw in changes(row.salt, source))
    yield from (structs.replace(row, sha256=raw) for raw in changes(row.sha256, source))
    yield from (structs.replace(row, place=row.place ^ 1 << bit) for bit in range(62))
    yield from (structs.replace(row, pointer=raw.decode("latin-1")) for raw in changes(row.pointer.encode(), source))
    yield from (structs.replace(row, length=row.length ^ 1 << bit) for bit in range(62))


def changed_spans(span: Span) -> Iterator[Span]:
    for bit in range(62):
        yield replace(span, number=span.number ^ 1 << bit)
        yield replace(span, start=span.start ^ 1 << bit)
        yield replace(span, length=span.length ^ 1 << bit)
        yield replace(span, frame=span.frame ^ 1 << bit)


def put[R](rows: list[R], at: int, row: R) -> list[R]:
    return [*rows[:at], row, *rows[at + 1 :]]


@pytest.mark.timeout(3000)
def test_no_byte_of_a_stored_record_can_be_changed(records: Copy, sample: Sample) -> None:
    source = sample.source()
    count = 0
    for _ in range(sample.count(1, 20)):
        for changed in changed_rows(records, source):
            count += 1
            verdict = verify_records(changed)
            assert verdict.exit_code == 20 or (verdict.exit_code == 30 and (verdict.newer or verdict.locked)), changed
    sample.measured(f"{count} changed bytes, each found")


def test_no_row_can_be_taken_out(records: Copy) -> None:
    for at in range(len(records.event_rows)):
        assert verify_records(replace(records, event_rows=without(records.event_rows, at))).exit_code == 20
    for at in range(len(records.opening_rows)):
        assert verify_records(replace(records, opening_rows=without(records.opening_rows, at))).exit_code == 20
    for at, (run, seq, row) in enumerate(records.opening_rows):
        erased = put(records.opening_rows, at, (run, seq, structs.replace(row, place=None)))
        assert verify_records(replace(records, opening_rows=erased)).exit_code == 20
    for at in range(len(records.block_rows)):
        assert verify_records(replace(records, block_rows=without(records.block_rows, at))).exit_code == 20
    for at, (run, _, _) in enumerate(records.key_rows):
        verdict = verify_records(replace(records, key_rows=without(records.key_rows, at)))
        assert verdict.exit_code == (20 if run else 30)
    for at in range(len(records.leaf_rows)):
        assert verify_records(replace(records, leaf_rows=without(records.leaf_rows, at))).exit_code == 20
    for at in range(len(records.node_rows)):
        assert verify_records(replace(records, node_rows=without(records.node_rows, at))).exit_code == 20
    for at in range(len(records.anchor_rows)):
        assert verify_records(replace(records, anchor_rows=without(records.anchor_rows, at))).exit_code == 20


def without[R](rows: list[R], at: int) -> list[R]:
    return rows[:at] + rows[at + 1 :]


@pytest.fixture
def bare(tmp_path: Path) -> Copy:
    """A store without anchors: a checkpoint that has one is missed."""
    with tape(tmp_path) as made:
        made.run([Call()])
    return Copy.of(made.folder, made.keys)


def test_a_store_without_a_checkpoint_is_never_verified(bare: Copy) -> None:
    verdict = verify_records(replace(bare, checkpoint_rows=[]))
    assert (verdict.exit_code, [each.code for each in verdict.findings]) == (30, ["V001"])


def test_taking_out_newer_checkpoints_shows_as_an_unsealed_tail(bare: Copy) -> None:
    """The documented limit: it is what a crash before them leaves, and what an older one covers stays proved."""
    for kept in range(1, len(bare.checkpoint_rows)):
        verdict = verify_records(replace(bare, checkpoint_rows=bare.checkpoint_rows[:kept]))
        size = bare.checkpoint_rows[kept - 1][0]
        assert verdict.exit_code == 0
        assert verdict.checkpoint is not None
        assert verdict.checkpoint[0] == size
        assert ("UNSEALED_TAIL" in dict(verdict.flags)) == (size < 4)


TABLES = (
    "events", "openings", "payloads", "blocks", "keys", "leaves", "nodes", "checkpoints", "anchors",
    "annotations", "annotation_texts",
)  # fmt: skip

# What says nothing that is proved: the catalogue, which the events give again; what is open; which migrations ran.
UNPROVED = {"runs", "leases", "pending", "_sqlite_migrations"}


def test_every_table_of_a_store_is_tried(folder: Path) -> None:
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        kept = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {*TABLES, *test_sealed.COLUMNS, "loans", *UNPROVED} == kept  # of loans tests/store/test_loans.py


@pytest.mark.timeout(3000)
def test_no_value_of_a_row_can_be_changed_in_the_database(folder: Path, tmp_path: Path, sample: Sample) -> None:
    source = sample.source()
    for number in range(sample.count(60, 5000)):
        copy = tmp_path / str(number)
        shutil.copytree(folder, copy)
        attacker = Attacker(copy)
        table = source.choice(TABLES)
        columns = [name for _, name, *_ in attacker.db.execute(f"PRAGMA table_info({table})")]
        column = source.choice(columns)
        query = f"SELECT rowid, {column} FROM {table} ORDER BY random() LIMIT 1"
        ((rowid, value),) = attacker.db.execute(query).fetchall()
        done = 0
        with suppress(sqlite3.IntegrityError):
            statement = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"
            done = attacker.db.execute(statement, (other(value, source), rowid)).rowcount
        attacker.close()
        assert not done or unlike(copy, folder.parent / "keys"), (table, column, rowid)
        shutil.rmtree(copy)


def other(value: object, source: Random) -> object:
    match value:
        case int():
            return value ^ 1 << source.randrange(40)
        case str():
            at = source.randrange(len(value)) if value else 0
            return value[:at] + chr(source.randrange(1, 0xD000)) + value[at + 1 :]
        case b"":
            return source.randbytes(32)
        case bytes():
            raw = bytearray(value)
            raw[source.randrange(len(raw))] ^= source.randrange(1, 256)
            return bytes(raw)
    raise AssertionError(value)


def unlike(folder: Path, keys: Path) -> bool:
    """Whether a store is not verified."""
    try:
        return verify(folder, keys).exit_code != 0
    except EdgetapeError:
        return True


def answers(folder: Path, keys: Path) -> list[object]:
    """All that a reader tells of a store."""
    told: list[object] = []
    with Reader.open(folder, keys) as reader:
        for run in reader.runs():
            told += [run, *reader.annotations(run.id)]
            events = list(reader.events(run.id))
            told += [reader.find(run.name).id, *events, len(steps(events))]
            for event in events:
                for name in ("body", "query", "chunks"):
                    with suppress(BodyUnavailable):
                        told.append((name, reader.body(event, getattr(event.facts, name, None))))
                told.append(reader.pairs(event, getattr(event.facts, "headers", None)))
    return told


@pytest.mark.timeout(3000)
def test_a_changed_byte_of_the_file_is_found_or_changes_no_answer(folder: Path, tmp_path: Path, sample: Sample) -> None:
    image = (folder / FILE_NAME).read_bytes()
    keys = folder.parent / "keys"
    before = answers(folder, keys)
    used = [at for at in range(len(image)) if image[at]]
    places = used if sample.full else sorted(sample.source("places").sample(used, 400))
    found = 0
    for at in places:
        raw = bytearray(image)
        raw[at] ^= sample.source(str(at)).randrange(1, 256)
        (tmp_path / FILE_NAME).write_bytes(raw)
        for beside in ("-wal", "-shm"):
            (tmp_path / f"{FILE_NAME}{beside}").unlink(missing_ok=True)
        if unlike(tmp_path, keys) or "STALE_CATALOGUE" in dict(verify(tmp_path, keys).flags):
            found += 1
        else:
            assert answers(tmp_path, keys) == before, at
    sample.measured(f"{found} of {len(places)} changed bytes of the file are found, the others change no answer")
